// RUN: glow-opt %s --lower-to-vta --verify-vta-tokens --split-input-file --verify-diagnostics | filecheck %s

// Two blocks of outputs of one block of inputs. Padding comes from the load, the half of the rounding and
// the bias from one addition, and the relu from the lower limit. The host quantizes the input.

!x = tensor<1x16x6x6x!quant.uniform<i8:f32, 0.5>>
!y = tensor<1x32x3x3x!quant.uniform<i8:f32, 1.0>>
func.func @main(%x: tensor<1x16x6x6xf32> {glow.name = "x"}) -> (!y {glow.name = "y"}) {
  %q = glow.quantize %x : (tensor<1x16x6x6xf32>) -> !x
  %w = glow.splat {value = 3 : i64} : tensor<32x16x3x3xi8>
  %b = glow.splat {value = 5 : i64} : tensor<32xi32>
  %acc = glow.convolution %q, %w, %b {dilations = array<i64: 1, 1>, pads = array<i64: 1, 1, 1, 1>, strides = array<i64: 2, 2>}
    : (!x, tensor<32x16x3x3xi8>, tensor<32xi32>) -> tensor<1x32x3x3xi32>
  %m = glow.splat {value = 1 : i64} : tensor<1x32x3x3xi32>
  %s = glow.splat {value = 4 : i64} : tensor<1x32x3x3xi32>
  %r = glow.rescale %acc, %m, %s : (tensor<1x32x3x3xi32>, tensor<1x32x3x3xi32>, tensor<1x32x3x3xi32>) -> !y
  %i = glow.storage_cast %r : (!y) -> tensor<1x32x3x3xi8>
  %p = glow.relu %i : (tensor<1x32x3x3xi8>) -> tensor<1x32x3x3xi8>
  %y = glow.storage_cast %p : (tensor<1x32x3x3xi8>) -> !y
  func.return %y : !y
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

!x = tensor<1x16x4x4x!quant.uniform<i8:f32, 0.5>>
!y = tensor<1x16x2x2x!quant.uniform<i8:f32, 0.5>>
func.func @main(%x: !x {glow.name = "x"}) -> (!y {glow.name = "y"}) {
  %y = glow.max_pool %x {ceil_mode = false, dilations = array<i64: 1, 1>, kernel = array<i64: 1, 2>,
      pads = array<i64: 0, 1, 0, 0>, strides = array<i64: 2, 2>} : (!x) -> !y
  func.return %y : !y
}

// CHECK:      vta.load acc8[{{.*}}] from %x[0]
// CHECK:      vta.gemm reset
// CHECK:      vta.alu add {{.*}} imm -128
// CHECK:      vta.alu max {{.*}} loop [1, 2]
// CHECK:      vta.alu max {{.*}} loop [2, 2]
// CHECK:      vta.store

// -----

// The sum of two tensors with different scales: one is shifted to the left.

!x = tensor<3x20x!quant.uniform<i8:f32, 0.5>>
!y = tensor<3x20x!quant.uniform<i8:f32, 2.0>>
func.func @main(%x: !x {glow.name = "x"}, %z: !y {glow.name = "z"}) -> (!y {glow.name = "y"}) {
  %a = glow.storage_cast %x : (!x) -> tensor<3x20xi8>
  %b = glow.storage_cast %z : (!y) -> tensor<3x20xi8>
  %c = glow.cast %a : (tensor<3x20xi8>) -> tensor<3x20xi32>
  %d = glow.cast %b : (tensor<3x20xi8>) -> tensor<3x20xi32>
  %four = glow.splat {value = 4 : i64} : tensor<3x20xi32>
  %e = glow.mul %d, %four : (tensor<3x20xi32>, tensor<3x20xi32>) -> tensor<3x20xi32>
  %f = glow.add %c, %e : (tensor<3x20xi32>, tensor<3x20xi32>) -> tensor<3x20xi32>
  %m = glow.splat {value = 1 : i64} : tensor<3x20xi32>
  %s = glow.splat {value = 2 : i64} : tensor<3x20xi32>
  %y = glow.rescale %f, %m, %s : (tensor<3x20xi32>, tensor<3x20xi32>, tensor<3x20xi32>) -> !y
  func.return %y : !y
}

// CHECK-COUNT-2: vta.load acc8
// CHECK:         vta.alu shr {{.*}} imm -2
// CHECK:         vta.alu add {{.*}} src
// CHECK:         vta.alu add {{.*}} imm 2
// CHECK:         vta.alu shr {{.*}} imm 2
// CHECK:         vta.store

// -----

// Accumulators leave as four bytes.

func.func @main(%x: tensor<1x16xi8> {glow.name = "x"}) -> (tensor<1x16xi32> {glow.name = "y"}) {
  %w = glow.splat {value = 3 : i64} : tensor<16x16xi8>
  %b = glow.splat {value = 0 : i64} : tensor<16xi32>
  %y = glow.fully_connected %x, %w, %b : (tensor<1x16xi8>, tensor<16x16xi8>, tensor<16xi32>) -> tensor<1x16xi32>
  func.return %y : tensor<1x16xi32>
}

// CHECK:      vta.region output "y.0"
// CHECK:      vta.region output "y.3"
// CHECK:      vta.store out[0] to %y.0[0]
// CHECK:      vta.alu shr {{.*}} imm 8 pop(store) push(store)
// CHECK-NEXT: vta.store out[0] to %y.1[0]

// -----

// A network of floats.

// expected-error@+1 {{input x: expected 8-bit integers with sign for VTA, found tensor<1x16xf32>}}
func.func @main(%x: tensor<1x16xf32> {glow.name = "x"}) -> tensor<1x16xf32> {
  %y = glow.relu %x : (tensor<1x16xf32>) -> tensor<1x16xf32>
  func.return %y : tensor<1x16xf32>
}

// -----

// An operator that there is no rule for.

!x = tensor<1x16x!quant.uniform<i8:f32, 0.5>>
func.func @main(%x: !x) -> !x {
  %r = glow.dequantize %x : (!x) -> tensor<1x16xf32>
  // expected-error@+1 {{VTA cannot compute this}}
  %t = glow.softmax %r {axis = 1 : i64} : (tensor<1x16xf32>) -> tensor<1x16xf32>
  %y = glow.quantize %t : (tensor<1x16xf32>) -> !x
  func.return %y : !x
}
