// RUN: glow-opt %s | glow-opt | filecheck %s
// RUN: glow-opt %s --print-op-generic | glow-opt | filecheck %s

// Products of bf16 with results in f32, of narrow integers with results in i32.

func.func @products(%x: tensor<2x3x9x7x4xbf16>, %f: tensor<5x3x3x2x2x4x2xbf16>, %b: tensor<5x4xf32>, %v: tensor<3x6xbf16>, %w: tensor<2x3x8x2xbf16>) {
  %y = glow_cpu.dot_convolution %x, %f, %b strides [2, 1] : (tensor<2x3x9x7x4xbf16>, tensor<5x3x3x2x2x4x2xbf16>, tensor<5x4xf32>) -> tensor<2x5x4x6x4xf32>
  %z = glow_cpu.dot_matmul %v, %w columns 13 : (tensor<3x6xbf16>, tensor<2x3x8x2xbf16>) -> tensor<3x13xf32>
  func.return
}

// CHECK:      func.func @products(
// CHECK-NEXT:   %y = glow_cpu.dot_convolution %x, %f, %b strides [2, 1] : (tensor<2x3x9x7x4xbf16>, tensor<5x3x3x2x2x4x2xbf16>, tensor<5x4xf32>) -> tensor<2x5x4x6x4xf32>
// CHECK-NEXT:   %z = glow_cpu.dot_matmul %v, %w columns 13 : (tensor<3x6xbf16>, tensor<2x3x8x2xbf16>) -> tensor<3x13xf32>

// Quads and pairs of bytes, also of quantized ones; panels of 4 channels in blocks of 8, with fewer groups than a block of the input has.
func.func @integers(%x: tensor<1x2x9x16xui8>, %q: tensor<1x2x9x16x!quant.uniform<i8:f32, 0.5:3>>, %f: tensor<3x2x2x3x4x4xi8>,
    %p: tensor<3x2x2x8x4x2xi8>, %b: tensor<2x8xi32>, %v: tensor<3x6xi16>, %w: tensor<2x3x8x2xi16>) {
  %y = glow_cpu.dot_convolution %x, %f, %b : (tensor<1x2x9x16xui8>, tensor<3x2x2x3x4x4xi8>, tensor<2x8xi32>) -> tensor<1x2x8x8xi32>
  %u = glow_cpu.dot_convolution %q, %p, %b : (tensor<1x2x9x16x!quant.uniform<i8:f32, 0.5:3>>, tensor<3x2x2x8x4x2xi8>, tensor<2x8xi32>) -> tensor<1x2x8x8xi32>
  %z = glow_cpu.dot_matmul %v, %w columns 16 : (tensor<3x6xi16>, tensor<2x3x8x2xi16>) -> tensor<3x16xi32>
  func.return
}

// CHECK:      func.func @integers(
// CHECK-NEXT:   %y = glow_cpu.dot_convolution %x, %f, %b : (tensor<1x2x9x16xui8>, tensor<3x2x2x3x4x4xi8>, tensor<2x8xi32>) -> tensor<1x2x8x8xi32>
// CHECK-NEXT:   %u = glow_cpu.dot_convolution %q, %p, %b {{.*}} -> tensor<1x2x8x8xi32>
// CHECK-NEXT:   %z = glow_cpu.dot_matmul %v, %w columns 16 : (tensor<3x6xi16>, tensor<2x3x8x2xi16>) -> tensor<3x16xi32>

// Two groups of one block of the input and one of the result each.
func.func @groups(%x: tensor<1x2x9x4xui8>, %f: tensor<2x1x2x1x4x4xi8>, %b: tensor<2x4xi32>) {
  %y = glow_cpu.dot_convolution %x, %f, %b group 2 : (tensor<1x2x9x4xui8>, tensor<2x1x2x1x4x4xi8>, tensor<2x4xi32>) -> tensor<1x2x8x4xi32>
  func.return
}

// CHECK:      func.func @groups(
// CHECK-NEXT:   %y = glow_cpu.dot_convolution %x, %f, %b group 2 : (tensor<1x2x9x4xui8>, tensor<2x1x2x1x4x4xi8>, tensor<2x4xi32>) -> tensor<1x2x8x4xi32>
