// RUN: glow-opt %s | glow-opt | filecheck %s
// RUN: glow-opt %s --print-op-generic | glow-opt | filecheck %s

// Products of bf16 operands with results in f32.

func.func @products(%x: tensor<2x3x9x7x4xbf16>, %f: tensor<5x3x3x2x2x4x2xbf16>, %b: tensor<5x4xf32>, %v: tensor<3x6xbf16>, %w: tensor<2x3x8x2xbf16>) {
  %y = glow.bf16_convolution %x, %f, %b {dilations = array<i64: 1, 1>, strides = array<i64: 2, 1>} : (tensor<2x3x9x7x4xbf16>, tensor<5x3x3x2x2x4x2xbf16>, tensor<5x4xf32>) -> tensor<2x5x4x6x4xf32>
  %z = glow.bf16_matmul %v, %w : (tensor<3x6xbf16>, tensor<2x3x8x2xbf16>) -> tensor<3x16xf32>
  func.return
}

// CHECK:      func.func @products(
// CHECK-NEXT:   %y = glow.bf16_convolution %x, %f, %b {dilations = array<i64: 1, 1>, strides = array<i64: 2, 1>} : (tensor<2x3x9x7x4xbf16>, tensor<5x3x3x2x2x4x2xbf16>, tensor<5x4xf32>) -> tensor<2x5x4x6x4xf32>
// CHECK-NEXT:   %z = glow.bf16_matmul %v, %w : (tensor<3x6xbf16>, tensor<2x3x8x2xbf16>) -> tensor<3x16xf32>
