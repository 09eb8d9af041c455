// RUN: glow-opt %s --build-nests="threads=2" --divide-nests="threads=2" --generate-loops --split-input-file | filecheck %s
// RUN: glow-opt %s --build-nests="threads=3" --divide-nests="threads=3" --generate-loops --split-input-file | filecheck %s --check-prefix=THREE
// RUN: glow-opt %s --build-nests="threads=2" --divide-nests="threads=2" --generate-loops --convert-to-llvm --split-input-file | filecheck %s --check-prefix=LLVM

// Each thread does a part of each kernel; between them, threads wait for each other. A third kernel
// that does not need what the second one computes does not wait.

func.func @main(%x: memref<64x1024xf32> {glow.name = "x", glow.qualifier = "in"}, %y: memref<64x1024xf32> {glow.name = "y", glow.qualifier = "out"},
    %z: memref<64x1024xf32> {glow.name = "z", glow.qualifier = "out"}) attributes {glow.arena_size = 262144 : i64, glow.weights_size = 0 : i64} {
  %a = glow_inst.alloc_activation {offset = 0 : i64} : memref<64x1024xf32>
  glow_inst.copy @out %a, @in %x : memref<64x1024xf32>, memref<64x1024xf32>
  glow_inst.relu @out %y, @in %a : memref<64x1024xf32>, memref<64x1024xf32>
  glow_inst.abs @out %z, @in %a : memref<64x1024xf32>, memref<64x1024xf32>
  glow_inst.dealloc_activation %a : memref<64x1024xf32>
  func.return
}

// CHECK:      func.func private @glow_barrier(!llvm.ptr, index) -> ()
// CHECK:      func.func private @[[COPY:k_copy_[0-9a-f]+]](%thread: index, %{{.*}}: memref<64x1024xf32>, %{{.*}}: memref<64x1024xf32>) attributes {glow_nest.interface = {has_thread, is_shared}} {
// CHECK:        %[[HALF:.*]] = arith.constant 2048 : index
// CHECK:        %[[FIRST:.*]] = arith.muli %thread, %[[HALF]] : index
// CHECK-NEXT:   %[[END:.*]] = arith.addi %[[FIRST]], %[[HALF]] : index
// CHECK-NEXT:   scf.for %{{.*}} = %[[FIRST]] to %[[END]] step
// CHECK:      func.func @main(%thread: index, %team: !llvm.ptr, %weights: memref<0xi8>, %x: memref<64x1024xf32> {glow.name = "x", glow.qualifier = "in"}, %y:
// CHECK-SAME:   %arena: memref<262144xi8>)
// CHECK:        func.call @[[COPY]](%thread, %{{.*}}, %x)
// CHECK-NEXT:   func.call @glow_barrier(%team, %thread)
// CHECK-NEXT:   func.call @k_relu_{{.*}}(%thread, %y, %{{.*}})
// CHECK-NEXT:   func.call @k_abs_{{.*}}(%thread, %z, %{{.*}})
// CHECK-NEXT:   func.return

// The parts are as equal as possible.
// THREE-LABEL: func.func private @k_copy_
// THREE:         %[[A:.*]] = arith.muli %thread, %[[ALL:.*]] : index
// THREE-NEXT:    %[[FIRST:.*]] = arith.divui %[[A]], %[[N:.*]] : index
// THREE-NEXT:    %[[AFTER:.*]] = arith.addi %thread, %{{.*}} : index
// THREE-NEXT:    %[[B:.*]] = arith.muli %[[AFTER]], %[[ALL]] : index
// THREE-NEXT:    %[[END:.*]] = arith.divui %[[B]], %[[N]] : index
// THREE-NEXT:    scf.for %{{.*}} = %[[FIRST]] to %[[END]] step

// LLVM:      llvm.func @k_copy_{{[0-9a-f]+}}(%{{.*}}: i64, %{{.*}}: !llvm.ptr {llvm.noalias}, %{{.*}}: !llvm.ptr {llvm.noalias})
// LLVM:      llvm.func @glow_program(%[[THREAD:[^:]+]]: i64, %[[TEAM:[^:]+]]: !llvm.ptr, %[[WEIGHTS:[^:]+]]: !llvm.ptr, %{{[^:]+}}: !llvm.ptr,
// LLVM-SAME: %{{[^:]+}}: !llvm.ptr, %{{[^:]+}}: !llvm.ptr, %{{[^:]+}}: !llvm.ptr {llvm.dereferenceable = 262144 : i64})
// LLVM:        llvm.call @glow_barrier(%[[TEAM]], %[[THREAD]]) : (!llvm.ptr, i64) -> ()
// LLVM:      llvm.func @glow_main(%[[W:[^:]+]]: !llvm.ptr, %{{[^:]+}}: !llvm.ptr, %[[A:[^:]+]]: !llvm.ptr, %[[TEAM2:[^:]+]]: !llvm.ptr, %[[THREAD2:[^:]+]]: i64)
// LLVM:        llvm.call @glow_program(%[[THREAD2]], %[[TEAM2]], %[[W]], %{{.*}}, %[[A]])

// -----

// Little work is for thread 0, which need not wait for itself.

func.func @main(%x: memref<40xf32> {glow.name = "x", glow.qualifier = "in"}, %y: memref<40xf32> {glow.name = "y", glow.qualifier = "out"})
    attributes {glow.arena_size = 192 : i64, glow.weights_size = 0 : i64} {
  %a = glow_inst.alloc_activation {offset = 0 : i64} : memref<40xf32>
  glow_inst.neg @out %a, @in %x : memref<40xf32>, memref<40xf32>
  glow_inst.relu @out %y, @in %a : memref<40xf32>, memref<40xf32>
  glow_inst.dealloc_activation %a : memref<40xf32>
  func.return
}

// CHECK-LABEL: func.func private @k_neg_
// CHECK:         %[[FIRST:.*]] = arith.cmpi eq, %thread, %{{.*}} : index
// CHECK-NEXT:    scf.if %[[FIRST]] {
// CHECK:         func.return
// CHECK:       func.func @main
// CHECK-NOT:     glow_barrier
// CHECK:         func.return

// -----

// Rows of a softmax are visited a few at a time; threads divide the visits, and each has scratch
// of its own: there is no barrier.

func.func @main(%x: memref<64x3000xf32> {glow.name = "x", glow.qualifier = "in"}, %y: memref<64x3000xf32> {glow.name = "y", glow.qualifier = "out"})
    attributes {glow.arena_size = 0 : i64, glow.weights_size = 0 : i64} {
  glow_inst.softmax @out %y, @in %x axis 1 : memref<64x3000xf32>, memref<64x3000xf32>
  func.return
}

// CHECK-LABEL: func.func private @k_softmax_
// CHECK-SAME:    %thread: index, %{{.*}}: memref<64x3000xf32>, %{{.*}}: memref<64x3000xf32>, %[[SCRATCH:.*]]: memref<{{[0-9]+}}xi8>)
// CHECK:         %[[OWN:.*]] = arith.muli %thread, %{{.*}} : index
// CHECK:         memref.view %[[SCRATCH]][%[[OWN]]][]
// CHECK-NOT:     glow_barrier
// CHECK:         scf.for
// CHECK:       func.func @main

// -----

// What is small lies on the stack of each thread.

func.func @main(%x: memref<64x100xf32> {glow.name = "x", glow.qualifier = "in"}, %y: memref<64x100xf32> {glow.name = "y", glow.qualifier = "out"})
    attributes {glow.arena_size = 0 : i64, glow.weights_size = 0 : i64} {
  glow_inst.softmax @out %y, @in %x axis 1 : memref<64x100xf32>, memref<64x100xf32>
  func.return
}

// CHECK-LABEL: func.func private @k_softmax_
// CHECK-SAME:    %thread: index, %{{.*}}: memref<64x100xf32>, %{{.*}}: memref<64x100xf32>)
// CHECK:         memref.alloca()
// CHECK-NOT:     glow_barrier
// CHECK:         scf.for
// CHECK:       func.func @main

// -----

// A scratch buffer that all threads write and read needs barriers inside the kernel, which then
// does not promise that its memory is nobody else's.

func.func @main(%x: memref<100x640xf32> {glow.name = "x", glow.qualifier = "in"},
    %y: memref<100x640xf32> {glow.name = "y", glow.qualifier = "out"}) attributes {glow.arena_size = 0 : i64, glow.weights_size = 0 : i64} {
  glow_inst.log_softmax @out %y, @in %x axis 0 : memref<100x640xf32>, memref<100x640xf32>
  func.return
}

// CHECK-LABEL: func.func private @k_log_softmax_
// CHECK-SAME:    %thread: index, %team: !llvm.ptr, %{{.*}}: memref<100x640xf32>
// CHECK:         scf.for
// CHECK:         func.call @glow_barrier(%team, %thread)
// CHECK:         scf.for
// CHECK:       func.func @main
// CHECK:         func.call @k_log_softmax_{{.*}}(%thread, %team, %y, %x, %{{.*}})

// LLVM-LABEL: llvm.func @k_log_softmax_
// LLVM-NOT:     llvm.noalias
// LLVM:       llvm.func @glow_program

// -----

// Much work is done in portions: each thread does a large one, the start of its part, which has the
// thread's number, then small ones, the rest of any part, for which it draws tickets until none is
// left.

func.func @main(%x: memref<1024x1024xf32> {glow.name = "x", glow.qualifier = "in"},
    %y: memref<1024x1024xf32> {glow.name = "y", glow.qualifier = "out"}) attributes {glow.arena_size = 0 : i64, glow.weights_size = 0 : i64} {
  glow_inst.relu @out %y, @in %x : memref<1024x1024xf32>, memref<1024x1024xf32>
  func.return
}

// CHECK:       func.func private @glow_next(!llvm.ptr, index, index) -> index
// CHECK-LABEL: func.func private @k_relu_
// CHECK-SAME:    %thread: index, %team: !llvm.ptr,
// CHECK:         %[[PORTIONS:.*]] = arith.constant 18 : index
// CHECK-NEXT:    %[[THREADS:.*]] = arith.constant 2 : index
// CHECK-NEXT:    %[[PART:.*]] = arith.constant 32768 : index
// CHECK-NEXT:    %[[LARGE:.*]] = arith.constant 16384 : index
// CHECK:         %[[SMALL:.*]] = arith.constant 16 : index
// CHECK:         scf.for %{{.*}} iter_args(%[[NUMBER:.*]] = %thread) -> (index) {
// CHECK-NEXT:      %[[MORE:.*]] = arith.cmpi ult, %[[NUMBER]], %[[PORTIONS]] : index
// CHECK-NEXT:      scf.if %[[MORE]] -> (index) {
// CHECK:             %[[IS_LARGE:.*]] = arith.cmpi ult, %[[NUMBER]], %[[THREADS]] : index
// CHECK-NEXT:        %[[OWNER:.*]] = arith.select %[[IS_LARGE]], %[[NUMBER]], %{{.*}} : index
// CHECK-NEXT:        %[[START:.*]] = arith.muli %[[OWNER]], %[[PART]] : index
// CHECK-NEXT:        arith.addi %[[START]], %[[PART]] : index
// CHECK-NEXT:        %[[REST:.*]] = arith.addi %[[START]], %[[LARGE]] : index
// CHECK:             %[[FROM:.*]] = arith.select %[[IS_LARGE]], %[[START]], %{{.*}} : index
// CHECK:             %[[TO:.*]] = arith.select %[[IS_LARGE]], %[[REST]], %{{.*}} : index
// CHECK-NEXT:        scf.for %{{.*}} = %[[FROM]] to %[[TO]] step
// CHECK:             %[[TICKET:.*]] = func.call @glow_next(%team, %thread, %[[SMALL]])
// CHECK-NEXT:        %[[NEXT:.*]] = arith.addi %[[TICKET]], %[[THREADS]] : index
// CHECK-NEXT:        scf.yield %[[NEXT]] : index
// CHECK-NEXT:      } else {
// CHECK-NEXT:        scf.yield %[[NUMBER]] : index
// CHECK:       func.func @main
// CHECK:         func.call @k_relu_{{.*}}(%thread, %team,
