// RUN: glow-opt %s | glow-opt | filecheck %s
// RUN: glow-opt %s --print-op-generic | glow-opt | filecheck %s

// Bytes, signed or not, by a filter of words with pairs of input channels together.

func.func @winograd(%x: tensor<1x8x58x58x8xui8>, %u: tensor<36x4x8x4x8x2xi16>, %b: tensor<4x8xi32>, %x1: tensor<2x3x9x12x4x!quant.uniform<i8:f32, 0.5:3>>,
    %u1: tensor<16x1x3x2x4x2xi16>, %b1: tensor<1x4xi32>) {
  %four = glow_cpu.dot_winograd_convolution %x, %u, %b tile 4 : (tensor<1x8x58x58x8xui8>, tensor<36x4x8x4x8x2xi16>, tensor<4x8xi32>) -> tensor<1x4x56x56x8xi32>
  %two = glow_cpu.dot_winograd_convolution %x1, %u1, %b1 tile 2 : (tensor<2x3x9x12x4x!quant.uniform<i8:f32, 0.5:3>>, tensor<16x1x3x2x4x2xi16>, tensor<1x4xi32>) -> tensor<2x1x7x10x4xi32>
  func.return
}

// CHECK:     %four = glow_cpu.dot_winograd_convolution %x, %u, %b tile 4 : (tensor<1x8x58x58x8xui8>, tensor<36x4x8x4x8x2xi16>, tensor<4x8xi32>) -> tensor<1x4x56x56x8xi32>
// CHECK:     %two = glow_cpu.dot_winograd_convolution %x1, %u1, %b1 tile 2 : (tensor<2x3x9x12x4x!quant.uniform<i8:f32, {{.*}}>>, tensor<16x1x3x2x4x2xi16>, tensor<1x4xi32>) -> tensor<2x1x7x10x4xi32>
