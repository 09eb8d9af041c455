// RUN: glow-opt %s --split-input-file --verify-diagnostics | filecheck %s

// CHECK: 'glow.block_quantized_matmul' op (%r): expected bits to be 2, 4 or 8, found 3
%x, %w, %s, %z = "test.op"() : () -> (tensor<2x40xf32>, tensor<5x3x8xui8>, tensor<5x3xf32>, tensor<1x1xui8>)
%r = glow.block_quantized_matmul %x, %w, %s, %z bits 3 : (tensor<2x40xf32>, tensor<5x3x8xui8>, tensor<5x3xf32>, tensor<1x1xui8>) -> tensor<2x5xf32>

// -----

// CHECK: 'glow.block_quantized_matmul' op (%r): expected blocks for rows of 50 numbers, found tensor<5x3x8xui8>
%x, %w, %s, %z = "test.op"() : () -> (tensor<2x50xf32>, tensor<5x3x8xui8>, tensor<5x3xf32>, tensor<1x1xui8>)
%r = glow.block_quantized_matmul %x, %w, %s, %z bits 4 : (tensor<2x50xf32>, tensor<5x3x8xui8>, tensor<5x3xf32>, tensor<1x1xui8>) -> tensor<2x5xf32>

// -----

// CHECK: 'glow.block_quantized_matmul' op (%r): expected weights of ui8, found tensor<5x3x8xi8>
%x, %w, %s, %z = "test.op"() : () -> (tensor<2x40xf32>, tensor<5x3x8xi8>, tensor<5x3xf32>, tensor<1x1xui8>)
%r = glow.block_quantized_matmul %x, %w, %s, %z bits 4 : (tensor<2x40xf32>, tensor<5x3x8xi8>, tensor<5x3xf32>, tensor<1x1xui8>) -> tensor<2x5xf32>

// -----

// CHECK: 'glow.block_quantized_matmul' op (%r): expected 5x3 scales, found tensor<5x2xf32>
%x, %w, %s, %z = "test.op"() : () -> (tensor<2x40xf32>, tensor<5x3x8xui8>, tensor<5x2xf32>, tensor<1x1xui8>)
%r = glow.block_quantized_matmul %x, %w, %s, %z bits 4 : (tensor<2x40xf32>, tensor<5x3x8xui8>, tensor<5x2xf32>, tensor<1x1xui8>) -> tensor<2x5xf32>

// -----

// CHECK: 'glow.block_quantized_matmul' op (%r): expected 5x3 zero points, found tensor<5x1xui8>
%x, %w, %s, %z = "test.op"() : () -> (tensor<2x40xf32>, tensor<5x3x8xui8>, tensor<5x3xf32>, tensor<5x1xui8>)
%r = glow.block_quantized_matmul %x, %w, %s, %z bits 4 : (tensor<2x40xf32>, tensor<5x3x8xui8>, tensor<5x3xf32>, tensor<5x1xui8>) -> tensor<2x5xf32>

// -----

// CHECK: 'glow.block_quantized_matmul' op (%r): expected input_bits to be 8, 16 or 32, found 4
%x, %w, %s, %z = "test.op"() : () -> (tensor<2x40xf32>, tensor<5x3x8xui8>, tensor<5x3xf32>, tensor<1x1xui8>)
%r = glow.block_quantized_matmul %x, %w, %s, %z bits 4 input_bits 4 : (tensor<2x40xf32>, tensor<5x3x8xui8>, tensor<5x3xf32>, tensor<1x1xui8>) -> tensor<2x5xf32>
