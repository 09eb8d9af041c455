// RUN: glow-opt %s | glow-opt | filecheck %s
// RUN: glow-opt %s --print-op-generic | glow-opt | filecheck %s
// RUN: glow-opt %s --print-op-generic | filecheck %s --check-prefix=GENERIC

// Convolution over one and two spatial dimensions.

func.func @convolution(%x: tensor<1x3x224x224xf32>, %w: tensor<64x3x7x7xf32>, %b: tensor<64xf32>, %x1: tensor<2x4x9xf16>, %w1: tensor<6x2x3xf16>, %b1: tensor<6xf16>) {
  %two = glow.convolution %x, %w, %b strides [2, 2] pads [3, 3, 3, 3] : (tensor<1x3x224x224xf32>, tensor<64x3x7x7xf32>, tensor<64xf32>) -> tensor<1x64x112x112xf32>
  %one = glow.convolution %x1, %w1, %b1 strides [3] pads [0, 1] dilations [2] group 2 : (tensor<2x4x9xf16>, tensor<6x2x3xf16>, tensor<6xf16>) -> tensor<2x6x2xf16>
  func.return
}

// CHECK:      builtin.module {
// CHECK-NEXT:   func.func @convolution(%x: tensor<1x3x224x224xf32>, %w: tensor<64x3x7x7xf32>, %b: tensor<64xf32>, %x1: tensor<2x4x9xf16>, %w1: tensor<6x2x3xf16>, %b1: tensor<6xf16>) {
// CHECK-NEXT:     %two = glow.convolution %x, %w, %b strides [2, 2] pads [3, 3, 3, 3] : (tensor<1x3x224x224xf32>, tensor<64x3x7x7xf32>, tensor<64xf32>) -> tensor<1x64x112x112xf32>
// CHECK-NEXT:     %one = glow.convolution %x1, %w1, %b1 strides [3] pads [0, 1] dilations [2] group 2 : (tensor<2x4x9xf16>, tensor<6x2x3xf16>, tensor<6xf16>) -> tensor<2x6x2xf16>
// CHECK-NEXT:     func.return
// CHECK-NEXT:   }
// CHECK-NEXT: }

// GENERIC: %two = "glow.convolution"(%x, %w, %b) <{strides = array<i64: 2, 2>, pads = array<i64: 3, 3, 3, 3>, dilations = array<i64: 1, 1>, group = 1 : i64}>
// GENERIC-SAME: : (tensor<1x3x224x224xf32>, tensor<64x3x7x7xf32>, tensor<64xf32>) -> tensor<1x64x112x112xf32>
