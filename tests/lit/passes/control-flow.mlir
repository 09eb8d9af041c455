// RUN: glow-opt %s --irgen --eliminate-copies --stack-ops --share-buffers --eliminate-dead-stores --allocate --verify-memory --split-input-file | filecheck %s
// RUN: glow-opt %s --irgen --eliminate-copies --stack-ops --share-buffers --eliminate-dead-stores --allocate --generate-loops --split-input-file | filecheck %s --check-prefix=CODE
// RUN: glow-opt %s --irgen --eliminate-copies --stack-ops \
// RUN:   --share-buffers --eliminate-dead-stores --allocate --build-nests="threads=2" --divide-nests="threads=2" --generate-loops --split-input-file | filecheck %s --check-prefix=TWO

// Buffers of both branches share memory; operators inside of bodies are stacked.

func.func @main(%c: tensor<i1> {glow.name = "c"}, %x: tensor<16xf32> {glow.name = "x"}) -> (tensor<16xf32> {glow.name = "y"}) {
  %y = glow.if %c, %x : (tensor<i1>, tensor<16xf32>) -> tensor<16xf32> then {
  ^bb0(%0: tensor<16xf32>):
    %1 = glow.softmax %0 axis 0 : (tensor<16xf32>) -> tensor<16xf32>
    %2 = glow.softmax %1 axis 0 : (tensor<16xf32>) -> tensor<16xf32>
    glow.yield %2 : tensor<16xf32>
  } else {
  ^bb1(%3: tensor<16xf32>):
    %4 = glow.softmax %3 axis 0 : (tensor<16xf32>) -> tensor<16xf32>
    %5 = glow.relu %4 : (tensor<16xf32>) -> tensor<16xf32>
    %6 = glow.add %5, %3 : (tensor<16xf32>, tensor<16xf32>) -> tensor<16xf32>
    %7 = glow.softmax %6 axis 0 : (tensor<16xf32>) -> tensor<16xf32>
    glow.yield %7 : tensor<16xf32>
  }
  func.return %y : tensor<16xf32>
}

// CHECK: glow.arena_size = 64 : i64
// CHECK-NEXT: glow_inst.if @in %c, @out %y, @in %x : memref<i1>, memref<16xf32>, memref<16xf32> then {
// CHECK-NEXT: ^bb{{.*}}(%0: memref<16xf32>, %1: memref<16xf32>):
// CHECK-NEXT:   %2 = glow_inst.alloc_activation {offset = 0 : i64} : memref<16xf32>
// CHECK-NEXT:   glow_inst.softmax @out %2, @in %1 axis 0
// CHECK-NEXT:   glow_inst.softmax @out %0, @in %2 axis 0
// CHECK:      } else {
// CHECK:        %5 = glow_inst.alloc_activation {offset = 0 : i64} : memref<16xf32>
// CHECK-NEXT:   glow_inst.softmax @out %5, @in %4 axis 0 : memref<16xf32>, memref<16xf32> epilogue @in %4 : memref<16xf32> {
// CHECK:        glow_inst.softmax @out %3, @in %5 axis 0

// All threads read the condition; the kernels of one branch run.

// TWO:      %[[c:.*]] = memref.load %c[] : memref<i8>
// TWO-NEXT: %[[true:.*]] = arith.cmpi ne, %[[c]], %{{.*}} : i8
// TWO-NEXT: scf.if %[[true]] {
// TWO:        func.call @k_softmax
// TWO-NEXT:   func.call @k_softmax
// TWO-NEXT: } else {

// -----

// A carried value is updated in place, and rows of a stacked result are written where they belong.

func.func @main(%n: tensor<i64> {glow.name = "n"}, %x: tensor<4xf32> {glow.name = "x"}, %w: tensor<4xf32> {glow.name = "w"}) -> (tensor<4xf32> {glow.name = "y"}, tensor<8x4xf32> {glow.name = "all"}) {
  %last, %all, %count = glow.loop trips(%n) carries(%x) reads(%w) steps 8 : (tensor<i64>, tensor<4xf32>, tensor<4xf32>) -> (tensor<4xf32>, tensor<8x4xf32>, tensor<i32>) {
  ^bb0(%i: tensor<i64>, %0: tensor<4xf32>, %1: tensor<4xf32>):
    %2 = glow.mul %0, %1 : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    %3 = glow.exp %0 : (tensor<4xf32>) -> tensor<4xf32>
    glow.yield %2, %3 : tensor<4xf32>, tensor<4xf32>
  }
  func.return %last, %all : tensor<4xf32>, tensor<8x4xf32>
}

// CHECK: glow_inst.loop trips @in %n count @out %0 step @out %1 carries @inout %last stacks @inout %all_1 reads @in %w steps 8
// CHECK-NEXT: ^bb{{.*}}(%i: memref<i64>, %2: memref<4xf32>, %3: memref<4xf32>, %4: memref<4xf32>):
// CHECK-NEXT:   glow_inst.exp @out %3, @in %2 : memref<4xf32>, memref<4xf32>
// CHECK-NEXT:   glow_inst.stacked @inout %2, @in %4 : memref<4xf32>, memref<4xf32> {

// CODE:      scf.while
// CODE-NEXT:   memref.load %n[] : memref<i64>
// CODE-NEXT:   arith.index_cast
// CODE-NEXT:   arith.cmpi slt
// CODE-NEXT:   arith.cmpi slt
// CODE-NEXT:   arith.andi
// CODE-NEXT:   scf.condition
// CODE:        memref.store %{{.*}} : memref<i64>
// CODE-NEXT:   func.call @k_exp
// CODE-NEXT:   func.call @k_stacked
// CODE-NEXT:   arith.addi
// CODE-NEXT:   scf.yield

// No kernel has work for a second thread, so the program is for one, and nobody waits.

// TWO:      func.func @main(%weights: memref<0xi8>,
// TWO:      scf.while
// TWO-NEXT:   memref.load %n[] : memref<i64>

// -----

// Values that a body carries in another order are copied before they are overwritten.

func.func @main(%n: tensor<i64> {glow.name = "n"}, %x: tensor<4xf32> {glow.name = "x"}, %w: tensor<4xf32> {glow.name = "w"}) -> (tensor<4xf32> {glow.name = "y"}, tensor<4xf32> {glow.name = "z"}) {
  %a, %b, %count = glow.loop trips(%n) carries(%x, %w) steps 8 : (tensor<i64>, tensor<4xf32>, tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<i32>) {
  ^bb0(%i: tensor<i64>, %0: tensor<4xf32>, %1: tensor<4xf32>):
    glow.yield %1, %0 : tensor<4xf32>, tensor<4xf32>
  }
  func.return %a, %b : tensor<4xf32>, tensor<4xf32>
}

// CHECK: glow_inst.loop trips @in %n count @out %0 step @out %1 carries @inout %a, @inout %b steps 8
// CHECK-NEXT: ^bb{{.*}}(%i: memref<i64>, %2: memref<4xf32>, %3: memref<4xf32>):
// CHECK-NEXT:   %4 = glow_inst.alloc_activation {offset = 128 : i64} : memref<4xf32>
// CHECK-NEXT:   glow_inst.copy @out %4, @in %3 : memref<4xf32>, memref<4xf32>
// CHECK-NEXT:   glow_inst.copy @out %3, @in %2 : memref<4xf32>, memref<4xf32>
// CHECK-NEXT:   glow_inst.copy @out %2, @in %4 : memref<4xf32>, memref<4xf32>

// -----

// With several threads, all meet before they decide whether there is another step.

func.func @main(%n: tensor<i64> {glow.name = "n"}, %x: tensor<65536xf32> {glow.name = "x"}) -> (tensor<65536xf32> {glow.name = "y"}) {
  %y, %count = glow.loop trips(%n) carries(%x) steps 8 : (tensor<i64>, tensor<65536xf32>) -> (tensor<65536xf32>, tensor<i32>) {
  ^bb0(%i: tensor<i64>, %0: tensor<65536xf32>):
    %1 = glow.exp %0 : (tensor<65536xf32>) -> tensor<65536xf32>
    glow.yield %1 : tensor<65536xf32>
  }
  func.return %y : tensor<65536xf32>
}

// TWO:      func.func @main(%thread: index, %team: !llvm.ptr, %weights: memref<0xi8>,
// TWO:      scf.while
// TWO-NEXT:   func.call @glow_barrier(%team, %thread) : (!llvm.ptr, index) -> ()
// TWO-NEXT:   memref.load %n[] : memref<i64>
