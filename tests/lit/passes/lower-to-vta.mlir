// RUN: glow-opt %s --lower-to-vta --verify-vta-tokens --split-input-file --verify-diagnostics | filecheck %s

// Two blocks of outputs of one block of inputs. Padding comes from the load, the half of the rounding and
// the bias from one addition, and the relu from the lower limit.

!x = memref<1x16x6x6x!quant.uniform<i8:f32, 0.5>>
!q = !quant.uniform<i8:f32, 1.0>
!y = memref<1x32x3x3x!quant.uniform<i8:f32, 1.0>>
func.func @main(%x: !x {glow.name = "x", glow.qualifier = "in"}, %y: !y {glow.name = "y", glow.qualifier = "out"}) {
  %w = glow_inst.alloc_activation : memref<32x16x3x3xi8>
  glow_inst.splat @out %w value 3 : memref<32x16x3x3xi8>
  %b = glow_inst.weight dense<5> : tensor<32xi32> : memref<32xi32>
  glow_inst.convolution @out %y, @in %x, @in %w, @in %b strides [2, 2] pads [1, 1, 1, 1]
    : !y, !x, memref<32x16x3x3xi8>, memref<32xi32> epilogue {
  ^bb0(%acc: i32):
    %m = glow.splat value 1 : i32
    %s = glow.splat value 4 : i32
    %r = glow.rescale %acc, %m, %s : (i32, i32, i32) -> !q
    %i = glow.storage_cast %r : (!q) -> i8
    %p = glow.relu %i : (i8) -> i8
    %o = glow.storage_cast %p : (i8) -> !q
    glow_inst.yield %o : !q
  }
  glow_inst.dealloc_activation %w : memref<32x16x3x3xi8>
  func.return
}

// CHECK:      func.func @main() attributes {vta.config = #vta.config<batch = 1, block_in = 16, block_out = 16>} {
// CHECK-NEXT:   %x = vta.region input "x" at 0 bytes 576 as tensor<1x16x6x6xi8> tiles [1, 16, 1, 1]
// CHECK-NEXT:   %y = vta.region output "y" {{.*}} as tensor<1x32x3x3xi8> tiles [1, 16, 1, 1]
// CHECK-NEXT:   vta.region constant "{{.*}}.weights" at {{.*}} bytes 4608
// CHECK:        vta.gemm reset
// CHECK:        vta.load wgt[0]
// CHECK-NEXT:   vta.load inp[0] from %x[0] size [6, 6] pad [1, 0, 1, 0] push(compute)
// CHECK:        vta.gemm uops [{{.*}}] loop [3, 3] dst [3, 1] src [14, 2] pop(load)
// CHECK:        vta.alu add {{.*}} imm 13
// CHECK-NEXT:   vta.alu shr {{.*}} imm 4
// CHECK-NEXT:   vta.alu min {{.*}} imm 127
// CHECK-NEXT:   vta.alu max {{.*}} imm 0 push(store)
// CHECK-NEXT:   vta.store out[0] to %y[0] size [1, {{.*}}] pop(compute)
// CHECK-NOT:    vta.load inp
// CHECK:        vta.finish pop(store)

// -----

// A largest number of windows starts with the least that occurs. Windows at the border see less of the image.

!x = memref<1x16x4x4x!quant.uniform<i8:f32, 0.5>>
!y = memref<1x16x2x2x!quant.uniform<i8:f32, 0.5>>
func.func @main(%x: !x {glow.name = "x", glow.qualifier = "in"}, %y: !y {glow.name = "y", glow.qualifier = "out"}) {
  glow_inst.max_pool @out %y, @in %x kernel [1, 2] strides [2, 2] pads [0, 1, 0, 0] : !y, !x
  func.return
}

// CHECK:      vta.load acc8[{{.*}}] from %x[0]
// CHECK:      vta.gemm reset
// CHECK:      vta.alu add {{.*}} imm -128
// CHECK:      vta.alu max {{.*}} loop [1, 2]
// CHECK:      vta.alu max {{.*}} loop [2, 2]
// CHECK:      vta.store

// -----

// The sum of two tensors with different scales: one is shifted to the left.

!e = !quant.uniform<i8:f32, 0.5>
!q = !quant.uniform<i8:f32, 2.0>
!x = memref<3x20x!quant.uniform<i8:f32, 0.5>>
!y = memref<3x20x!quant.uniform<i8:f32, 2.0>>
func.func @main(%x: !x {glow.name = "x", glow.qualifier = "in"}, %z: !y {glow.name = "z", glow.qualifier = "in"}, %y: !y {glow.name = "y", glow.qualifier = "out"}) {
  glow_inst.stacked @out %y, @in %x, @in %z : !y, !x, !y {
  ^bb0(%0: !e, %1: !q):
    %a = glow.storage_cast %0 : (!e) -> i8
    %b = glow.storage_cast %1 : (!q) -> i8
    %c = glow.cast %a : (i8) -> i32
    %d = glow.cast %b : (i8) -> i32
    %four = glow.splat value 4 : i32
    %e = glow.mul %d, %four : (i32, i32) -> i32
    %f = glow.add %c, %e : (i32, i32) -> i32
    %m = glow.splat value 1 : i32
    %s = glow.splat value 2 : i32
    %r = glow.rescale %f, %m, %s : (i32, i32, i32) -> !q
    glow_inst.yield %r : !q
  }
  func.return
}

// CHECK-COUNT-2: vta.load acc8
// CHECK:         vta.alu shr {{.*}} imm -2
// CHECK:         vta.alu add {{.*}} src
// CHECK:         vta.alu add {{.*}} imm 2
// CHECK:         vta.alu shr {{.*}} imm 2
// CHECK:         vta.store

// -----

// Accumulators leave as four bytes.

func.func @main(%x: memref<1x16xi8> {glow.name = "x", glow.qualifier = "in"}, %y: memref<1x16xi32> {glow.name = "y", glow.qualifier = "out"}) {
  %w = glow_inst.weight dense<3> : tensor<16x16xi8> : memref<16x16xi8>
  %b = glow_inst.weight dense<0> : tensor<16xi32> : memref<16xi32>
  glow_inst.fully_connected @out %y, @in %x, @in %w, @in %b : memref<1x16xi32>, memref<1x16xi8>, memref<16x16xi8>, memref<16xi32>
  func.return
}

// CHECK:      vta.region output "y.0"
// CHECK:      vta.region output "y.3"
// CHECK:      vta.store out[0] to %y.0[0]
// CHECK:      vta.alu shr {{.*}} imm 8 pop(store) push(store)
// CHECK-NEXT: vta.store out[0] to %y.1[0]

// -----

// Buffers of 32 bits, and those of 8 bits that one instruction reads element by element, are accumulators: one
// layer, no scratch. What both operands of the product have in common is computed once, and copied.

func.func @main(%x: memref<1x16xi8> {glow.name = "x", glow.qualifier = "in"}, %y: memref<1x16xi8> {glow.name = "y", glow.qualifier = "out"}) {
  %w = glow_inst.weight dense<1> : tensor<16x16xi8> : memref<16x16xi8>
  %b = glow_inst.weight dense<0> : tensor<16xi32> : memref<16xi32>
  %acc = glow_inst.alloc_activation : memref<1x16xi32>
  glow_inst.fully_connected @out %acc, @in %x, @in %w, @in %b : memref<1x16xi32>, memref<1x16xi8>, memref<16x16xi8>, memref<16xi32>
  %c = glow_inst.alloc_activation : memref<1x16xi8>
  glow_inst.stacked @out %c, @in %acc : memref<1x16xi8>, memref<1x16xi32> {
  ^bb0(%0: i32):
    %1 = glow.clip %0 min -9 max 9 : (i32) -> i32
    %2 = glow.cast %1 : (i32) -> i8
    glow_inst.yield %2 : i8
  }
  glow_inst.dealloc_activation %acc : memref<1x16xi32>
  glow_inst.mul @out %y, @in %c, @in %c : memref<1x16xi8>, memref<1x16xi8>, memref<1x16xi8>
  glow_inst.dealloc_activation %c : memref<1x16xi8>
  func.return
}

// CHECK:       vta.region output "y"
// CHECK-NOT:   scratch
// CHECK:       vta.gemm uops
// CHECK-NEXT:  vta.alu max {{.*}} imm -9
// CHECK-NEXT:  vta.alu min {{.*}} imm 9
// CHECK:       vta.gemm reset
// CHECK-NEXT:  vta.alu add uops [1, 2]
// CHECK-NEXT:  vta.alu mul uops [1, 2]
// CHECK-NOT:   vta.gemm uops
// CHECK:       vta.store out[1] to %y[0]

// -----

// Three layers behind each other: the third one writes where the first one wrote. It waits for the loads of the second,
// although nothing that it reads depends on them but what it reads itself.

func.func @main(%x: memref<1x16x8x8xi8> {glow.name = "x", glow.qualifier = "in"}, %y: memref<1x16x8x8xi8> {glow.name = "y", glow.qualifier = "out"}) {
  %a = glow_inst.alloc_activation : memref<1x16x8x8xi8>
  glow_inst.max_pool @out %a, @in %x kernel [1, 1] : memref<1x16x8x8xi8>, memref<1x16x8x8xi8>
  %b = glow_inst.alloc_activation : memref<1x16x8x8xi8>
  glow_inst.max_pool @out %b, @in %a kernel [3, 1] pads [1, 0, 1, 0] : memref<1x16x8x8xi8>, memref<1x16x8x8xi8>
  glow_inst.dealloc_activation %a : memref<1x16x8x8xi8>
  %c = glow_inst.alloc_activation : memref<1x16x8x8xi8>
  glow_inst.max_pool @out %c, @in %b kernel [1, 3] pads [0, 1, 0, 1] : memref<1x16x8x8xi8>, memref<1x16x8x8xi8>
  glow_inst.dealloc_activation %b : memref<1x16x8x8xi8>
  glow_inst.max_pool @out %y, @in %c kernel [3, 3] pads [1, 1, 1, 1] : memref<1x16x8x8xi8>, memref<1x16x8x8xi8>
  glow_inst.dealloc_activation %c : memref<1x16x8x8xi8>
  func.return
}

// CHECK:      glow.arena_size = 2048 : i64, glow.arena_lower_bound = 2048 : i64
// CHECK:      %a = vta.region scratch "a" at [[FIRST:[0-9]+]] bytes 1024
// CHECK-NEXT: %b = vta.region scratch "b" at {{[0-9]+}} bytes 1024
// CHECK-NEXT: %c = vta.region scratch "c" at [[FIRST]] bytes 1024

// -----

// A network of floats.

// expected-error@+1 {{input x: expected 8-bit integers with sign for VTA, found memref<1x16xf32>}}
func.func @main(%x: memref<1x16xf32> {glow.name = "x", glow.qualifier = "in"}, %y: memref<1x16xf32> {glow.qualifier = "out"}) {
  glow_inst.relu @out %y, @in %x : memref<1x16xf32>, memref<1x16xf32>
  func.return
}

// -----

// An operator that there is no rule for.

func.func @main(%x: memref<1x16xi8> {glow.name = "x", glow.qualifier = "in"}, %y: memref<1x16xi8> {glow.qualifier = "out"}) {
  // expected-error@+1 {{VTA cannot compute this: there is no rule for it}}
  glow_inst.transpose @out %y, @in %x permutation [0, 1] : memref<1x16xi8>, memref<1x16xi8>
  func.return
}

// -----

// Two parts of a concatenation.

func.func @main(%x: memref<1x16xi8> {glow.name = "x", glow.qualifier = "in"}, %y: memref<1x32xi8> {glow.name = "y", glow.qualifier = "out"}) {
  %v = glow_inst.tensor_view %y : memref<1x32xi8> to memref<1x16xi8, strided<[16, 1]>>
  %u = glow_inst.tensor_view %y : memref<1x32xi8> to memref<1x16xi8, strided<[16, 1], offset: 16>>
  // expected-error@+1 {{VTA cannot compute this: it writes a part of y}}
  glow_inst.copy @out %v, @in %x : memref<1x16xi8, strided<[16, 1]>>, memref<1x16xi8>
  glow_inst.copy @out %u, @in %x : memref<1x16xi8, strided<[16, 1], offset: 16>>, memref<1x16xi8>
  func.return
}

// -----

// Buffers that are shared.

func.func @main(%x: memref<1x16xi8> {glow.name = "x", glow.qualifier = "in"}, %y: memref<1x16xi8> {glow.name = "y", glow.qualifier = "out"}) {
  glow_inst.relu @out %y, @in %x : memref<1x16xi8>, memref<1x16xi8>
  // expected-error@+1 {{it writes y again (leave out glow-share-buffers for VTA)}}
  glow_inst.stacked @inout %y : memref<1x16xi8> {
  ^bb0(%0: i8):
    %1 = glow.clip %0 min 0 max 9 : (i8) -> i8
    glow_inst.yield %1 : i8
  }
  func.return
}

// -----

// Channels and pixels in another order.

func.func @main(%x: memref<1x4x2x2xi8> {glow.name = "x", glow.qualifier = "in"}, %y: memref<1x16xi8> {glow.name = "y", glow.qualifier = "out"}) {
  %v = glow_inst.tensor_view %x : memref<1x4x2x2xi8> to memref<1x16xi8>
  // expected-error@+1 {{it reads x in another order}}
  glow_inst.relu @out %y, @in %v : memref<1x16xi8>, memref<1x16xi8>
  func.return
}

// -----

// A graph.

// expected-error@+1 {{expected a function @main of instructions on buffers (glow-irgen makes it)}}
func.func @main(%x: tensor<1x16xi8>) -> tensor<1x16xi8> {
  %y = glow.relu %x : (tensor<1x16xi8>) -> tensor<1x16xi8>
  func.return %y : tensor<1x16xi8>
}
