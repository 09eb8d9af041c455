// RUN: glow-opt %s --instrument-kernels="threads=2" --split-input-file | filecheck %s
// RUN: glow-opt %s --instrument-kernels="threads=2" --convert-to-llvm --split-input-file | filecheck %s --check-prefix=LLVM

// The counter is read around each call of a kernel, not of a barrier, and stored in the lines of the
// thread behind the arena, which grows: three pairs are rounded up to four, and 100 bytes to 128.

func.func private @glow_barrier(!llvm.ptr, index) -> ()
func.func private @k_first(%thread: index, %y: memref<4xf32>) {
  func.return
}
func.func private @k_second(%y: memref<4xf32>) {
  func.return
}
func.func @main(%thread: index, %team: !llvm.ptr, %weights: memref<0xi8>, %y: memref<4xf32> {glow.name = "y"}, %arena: memref<100xi8>) attributes {glow.arena_size = 100 : i64} {
  %zero = arith.constant 0 : index
  %a = memref.view %arena[%zero][] : memref<100xi8> to memref<4xf32>
  func.call @k_first(%thread, %a) : (index, memref<4xf32>) -> ()
  func.call @glow_barrier(%team, %thread) : (!llvm.ptr, index) -> ()
  func.call @k_second(%y) : (memref<4xf32>) -> ()
  func.call @k_second(%y) : (memref<4xf32>) -> ()
  func.return
}

// CHECK:      func.func private @k_first(%thread: index, %y: memref<4xf32>) {
// CHECK-NEXT:   func.return
// CHECK:      func.func @main(%thread: index, %team: !llvm.ptr, %weights: memref<0xi8>, %y: memref<4xf32> {glow.name = "y"}, %arena: memref<256xi8>) attributes {glow.arena_size = 256 : i64} {
// CHECK-NEXT:   %[[START:.*]] = arith.constant 128 : index
// CHECK-NEXT:   %[[ZERO:.*]] = arith.constant 0 : index
// CHECK-NEXT:   %[[ONE:.*]] = arith.constant 1 : index
// CHECK-NEXT:   %[[TWO:.*]] = arith.constant 2 : index
// CHECK-NEXT:   %records = memref.view %arena[%[[START]]][] : memref<256xi8> to memref<2x4x2xi64>
// CHECK:        %a = memref.view %arena[%{{.*}}][] : memref<256xi8> to memref<4xf32>
// CHECK-NEXT:   %[[A:.*]] = llvm.call_intrinsic "llvm.readcyclecounter"() : () -> i64
// CHECK-NEXT:   memref.store %[[A]], %records[%thread, %[[ZERO]], %[[ZERO]]] : memref<2x4x2xi64>
// CHECK-NEXT:   func.call @k_first(%thread, %a)
// CHECK-NEXT:   %[[B:.*]] = llvm.call_intrinsic "llvm.readcyclecounter"() : () -> i64
// CHECK-NEXT:   memref.store %[[B]], %records[%thread, %[[ZERO]], %[[ONE]]]
// CHECK-NEXT:   func.call @glow_barrier(%team, %thread)
// CHECK-NEXT:   %[[C:.*]] = llvm.call_intrinsic
// CHECK-NEXT:   memref.store %[[C]], %records[%thread, %[[ONE]], %[[ZERO]]]
// CHECK-NEXT:   func.call @k_second(%y)
// CHECK-NEXT:   %[[D:.*]] = llvm.call_intrinsic
// CHECK-NEXT:   memref.store %[[D]], %records[%thread, %[[ONE]], %[[ONE]]]
// CHECK-NEXT:   %[[E:.*]] = llvm.call_intrinsic
// CHECK-NEXT:   memref.store %[[E]], %records[%thread, %[[TWO]], %[[ZERO]]]
// CHECK-NEXT:   func.call @k_second(%y)
// CHECK-NEXT:   %[[F:.*]] = llvm.call_intrinsic
// CHECK-NEXT:   memref.store %[[F]], %records[%thread, %[[TWO]], %[[ONE]]]
// CHECK-NEXT:   func.return

// LLVM-LABEL: llvm.func @glow_program
// LLVM-SAME:    !llvm.ptr {llvm.dereferenceable = 256 : i64})
// LLVM:         %[[A:.*]] = llvm.call_intrinsic "llvm.readcyclecounter"() : () -> i64
// LLVM:         llvm.store %[[A]], %{{.*}} : i64, !llvm.ptr
// LLVM-NEXT:    llvm.call @k_first

// -----

// A program without kernels has nothing to record.

func.func private @glow_barrier(!llvm.ptr, index) -> ()
func.func @main(%thread: index, %team: !llvm.ptr, %weights: memref<0xi8>, %arena: memref<0xi8>) attributes {glow.arena_size = 0 : i64} {
  func.call @glow_barrier(%team, %thread) : (!llvm.ptr, index) -> ()
  func.return
}

// CHECK:      func.func @main(%thread: index, %team: !llvm.ptr, %weights: memref<0xi8>, %arena: memref<0xi8>) attributes {glow.arena_size = 0 : i64} {
// CHECK-NEXT:   func.call @glow_barrier(%team, %thread)
// CHECK-NEXT:   func.return

// LLVM-LABEL: llvm.func @glow_program
// LLVM-NOT:     readcyclecounter
// LLVM:         llvm.return
