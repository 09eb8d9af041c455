// RUN: glow-opt %s --split-input-file --verify-diagnostics | filecheck %s

// CHECK: expected bf16, i16, or 8-bit integers, found tensor<3x6xf32> and tensor<2x3x8x2xbf16>
%v, %w = "test.op"() : () -> (tensor<3x6xf32>, tensor<2x3x8x2xbf16>)
%z = glow_cpu.dot_matmul %v, %w columns 16 : (tensor<3x6xf32>, tensor<2x3x8x2xbf16>) -> tensor<3x16xf32>

// -----

// CHECK: expected a multiple of 2 terms, found 5
%v, %w = "test.op"() : () -> (tensor<3x5xbf16>, tensor<2x3x8x2xbf16>)
%z = glow_cpu.dot_matmul %v, %w columns 16 : (tensor<3x5xbf16>, tensor<2x3x8x2xbf16>) -> tensor<3x16xf32>

// -----

// CHECK: expected weights in groups of 2, found tensor<2x3x8x4xbf16>
%v, %w = "test.op"() : () -> (tensor<3x12xbf16>, tensor<2x3x8x4xbf16>)
%z = glow_cpu.dot_matmul %v, %w columns 16 : (tensor<3x12xbf16>, tensor<2x3x8x4xbf16>) -> tensor<3x16xf32>

// -----

// CHECK: expected weights of shape (2, 3, 8, 4), found tensor<2x2x8x4xi8>
%v, %w = "test.op"() : () -> (tensor<3x12xui8>, tensor<2x2x8x4xi8>)
%z = glow_cpu.dot_matmul %v, %w columns 16 : (tensor<3x12xui8>, tensor<2x2x8x4xi8>) -> tensor<3x16xi32>

// -----

// CHECK: expected signed weights and i8, u8 or i16, found i8 and ui8
%v, %w = "test.op"() : () -> (tensor<3x12xi8>, tensor<2x3x8x4xui8>)
%z = glow_cpu.dot_matmul %v, %w columns 16 : (tensor<3x12xi8>, tensor<2x3x8x4xui8>) -> tensor<3x16xi32>

// -----

// CHECK: expected columns that need 2 panels of 8, found 8
%v, %w = "test.op"() : () -> (tensor<3x12xi8>, tensor<2x3x8x4xi8>)
%z = glow_cpu.dot_matmul %v, %w columns 8 : (tensor<3x12xi8>, tensor<2x3x8x4xi8>) -> tensor<3x8xi32>

// -----

// CHECK: expected input and filter with the same channels, found input tensor<1x2x4x4x3xbf16> and filter tensor<1x2x1x1x2x3x2xbf16>
%x, %f, %b = "test.op"() : () -> (tensor<1x2x4x4x3xbf16>, tensor<1x2x1x1x2x3x2xbf16>, tensor<1x3xf32>)
%y = glow_cpu.dot_convolution %x, %f, %b : (tensor<1x2x4x4x3xbf16>, tensor<1x2x1x1x2x3x2xbf16>, tensor<1x3xf32>) -> tensor<1x1x4x4x3xf32>

// -----

// CHECK: expected operand 2 with f32, found tensor<1x4xbf16>
%x, %f, %b = "test.op"() : () -> (tensor<1x2x4x4x4xbf16>, tensor<1x2x1x1x2x4x2xbf16>, tensor<1x4xbf16>)
%y = glow_cpu.dot_convolution %x, %f, %b : (tensor<1x2x4x4x4xbf16>, tensor<1x2x1x1x2x4x2xbf16>, tensor<1x4xbf16>) -> tensor<1x1x4x4x4xf32>

// -----

// CHECK: expected whole panels of the filter in each block of the bias, found filter tensor<3x2x1x1x1x4x4xi8> and bias tensor<1x8xi32>
%x, %f, %b = "test.op"() : () -> (tensor<1x2x4x4x4xi8>, tensor<3x2x1x1x1x4x4xi8>, tensor<1x8xi32>)
%y = glow_cpu.dot_convolution %x, %f, %b : (tensor<1x2x4x4x4xi8>, tensor<3x2x1x1x1x4x4xi8>, tensor<1x8xi32>) -> tensor<1x1x4x4x8xi32>

// -----

// CHECK: expected 2 groups of whole blocks, found filter tensor<3x1x1x1x4x4xi8> and bias tensor<3x4xi32>
%x, %f, %b = "test.op"() : () -> (tensor<1x2x9x4xi8>, tensor<3x1x1x1x4x4xi8>, tensor<3x4xi32>)
%y = glow_cpu.dot_convolution %x, %f, %b group 2 : (tensor<1x2x9x4xi8>, tensor<3x1x1x1x4x4xi8>, tensor<3x4xi32>) -> tensor<1x3x9x4xi32>
