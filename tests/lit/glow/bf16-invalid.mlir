// RUN: glow-opt %s --split-input-file --verify-diagnostics | filecheck %s

// CHECK: expected operand 0 with bf16, found tensor<3x6xf32>
%v, %w = "test.op"() : () -> (tensor<3x6xf32>, tensor<2x3x8x2xbf16>)
%z = glow.bf16_matmul %v, %w : (tensor<3x6xf32>, tensor<2x3x8x2xbf16>) -> tensor<3x16xf32>

// -----

// CHECK: expected an even number of terms, found 5
%v, %w = "test.op"() : () -> (tensor<3x5xbf16>, tensor<2x3x8x2xbf16>)
%z = glow.bf16_matmul %v, %w : (tensor<3x5xbf16>, tensor<2x3x8x2xbf16>) -> tensor<3x16xf32>

// -----

// CHECK: expected weights of shape (2, 3, 8, 2), found tensor<2x3x8x4xbf16>
%v, %w = "test.op"() : () -> (tensor<3x6xbf16>, tensor<2x3x8x4xbf16>)
%z = glow.bf16_matmul %v, %w : (tensor<3x6xbf16>, tensor<2x3x8x4xbf16>) -> tensor<3x16xf32>

// -----

// CHECK: expected an even number of channels in a block, found 3
%x, %f, %b = "test.op"() : () -> (tensor<1x2x4x4x3xbf16>, tensor<1x2x1x1x1x3x2xbf16>, tensor<1x3xf32>)
%y = glow.bf16_convolution %x, %f, %b {dilations = array<i64: 1, 1>, strides = array<i64: 1, 1>} : (tensor<1x2x4x4x3xbf16>, tensor<1x2x1x1x1x3x2xbf16>, tensor<1x3xf32>) -> tensor<1x1x4x4x3xf32>

// -----

// CHECK: expected operand 2 with f32, found tensor<1x4xbf16>
%x, %f, %b = "test.op"() : () -> (tensor<1x2x4x4x4xbf16>, tensor<1x2x1x1x2x4x2xbf16>, tensor<1x4xbf16>)
%y = glow.bf16_convolution %x, %f, %b {dilations = array<i64: 1, 1>, strides = array<i64: 1, 1>} : (tensor<1x2x4x4x4xbf16>, tensor<1x2x1x1x2x4x2xbf16>, tensor<1x4xbf16>) -> tensor<1x1x4x4x4xf32>
