// RUN: glow-opt %s | glow-opt | filecheck %s
// RUN: glow-opt %s --print-op-generic | glow-opt | filecheck %s

// Transposed convolution over one and two spatial dimensions.

func.func @transposed(%x: tensor<1x64x14x14xf32>, %w: tensor<64x32x3x3xf32>, %b: tensor<32xf32>, %x1: tensor<2x4x9xf16>, %w1: tensor<4x3x3xf16>, %b1: tensor<6xf16>) {
  %two = glow.transposed_convolution %x, %w, %b strides [2, 2] pads [1, 1, 1, 1] output_padding [1, 1] : (tensor<1x64x14x14xf32>, tensor<64x32x3x3xf32>, tensor<32xf32>) -> tensor<1x32x28x28xf32>
  %one = glow.transposed_convolution %x1, %w1, %b1 strides [3] pads [0, 1] dilations [2] group 2 : (tensor<2x4x9xf16>, tensor<4x3x3xf16>, tensor<6xf16>) -> tensor<2x6x28xf16>
  func.return
}

// CHECK:      %two = glow.transposed_convolution %x, %w, %b strides [2, 2] pads [1, 1, 1, 1] output_padding [1, 1]
// CHECK-SAME: : (tensor<1x64x14x14xf32>, tensor<64x32x3x3xf32>, tensor<32xf32>) -> tensor<1x32x28x28xf32>
// CHECK-NEXT: %one = glow.transposed_convolution %x1, %w1, %b1 strides [3] pads [0, 1] dilations [2] group 2 : (tensor<2x4x9xf16>, tensor<4x3x3xf16>, tensor<6xf16>) -> tensor<2x6x28xf16>
