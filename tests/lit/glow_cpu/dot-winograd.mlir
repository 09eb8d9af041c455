// RUN: glow-opt %s | glow-opt | filecheck %s
// RUN: glow-opt %s --print-op-generic | glow-opt | filecheck %s

// Bytes, signed or not, by a filter of words with pairs of input channels together.

func.func @winograd(%x: tensor<1x8x58x58x8xui8>, %u: tensor<36x4x8x4x8x2xi16>, %b: tensor<4x8xi32>, %x1: tensor<2x3x9x12x4x!quant.uniform<i8:f32, 0.5:3>>,
    %u1: tensor<16x1x3x2x4x2xi16>, %b1: tensor<1x4xi32>, %x2: tensor<1x2x58x58x8xui8>, %x3: tensor<1x2x58x8xui8>, %b2: tensor<2x8xi32>) {
  %four = glow_cpu.dot_winograd_convolution %x, %u, %b tile 4 : (tensor<1x8x58x58x8xui8>, tensor<36x4x8x4x8x2xi16>, tensor<4x8xi32>) -> tensor<1x4x56x56x8xi32>
  %two = glow_cpu.dot_winograd_convolution %x1, %u1, %b1 tile 2 : (tensor<2x3x9x12x4x!quant.uniform<i8:f32, 0.5:3>>, tensor<16x1x3x2x4x2xi16>, tensor<1x4xi32>) -> tensor<2x1x7x10x4xi32>
  %cut = "test.op"() : () -> tensor<81x2x2x4x8x2xi16>
  %strided = glow_cpu.dot_winograd_convolution %x2, %cut, %b2 tile 4 strides [2, 2] : (tensor<1x2x58x58x8xui8>, tensor<81x2x2x4x8x2xi16>, tensor<2x8xi32>) -> tensor<1x2x28x28x8xi32>
  %parts = "test.op"() : () -> tensor<6x2x2x4x8x2xi16>
  %groups = glow_cpu.dot_winograd_convolution %x3, %parts, %b2 tile 4 group 2 kernel [5] dilations [3] : (tensor<1x2x58x8xui8>, tensor<6x2x2x4x8x2xi16>, tensor<2x8xi32>) -> tensor<1x2x46x8xi32>
  func.return
}

// CHECK:     %four = glow_cpu.dot_winograd_convolution %x, %u, %b tile 4 : (tensor<1x8x58x58x8xui8>, tensor<36x4x8x4x8x2xi16>, tensor<4x8xi32>) -> tensor<1x4x56x56x8xi32>
// CHECK:     %two = glow_cpu.dot_winograd_convolution %x1, %u1, %b1 tile 2 : (tensor<2x3x9x12x4x!quant.uniform<i8:f32, {{.*}}>>, tensor<16x1x3x2x4x2xi16>, tensor<1x4xi32>) -> tensor<2x1x7x10x4xi32>
// CHECK:     %strided = glow_cpu.dot_winograd_convolution %x2, %cut, %b2 tile 4 strides [2, 2] : (tensor<1x2x58x58x8xui8>, tensor<81x2x2x4x8x2xi16>, tensor<2x8xi32>) -> tensor<1x2x28x28x8xi32>
// CHECK:     %groups = glow_cpu.dot_winograd_convolution %x3, %parts, %b2 tile 4 group 2 kernel [5] dilations [3] : (tensor<1x2x58x8xui8>, tensor<6x2x2x4x8x2xi16>, tensor<2x8xi32>) -> tensor<1x2x46x8xi32>
