// RUN: glow-opt %s --split-input-file --verify-diagnostics | filecheck %s

// CHECK: 'glow_cpu.packed_block_quantized_matmul' op (%r): expected columns that need 1 panels of 8, found 9
%x, %w, %s, %z = "test.op"() : () -> (tensor<2x32xf32>, tensor<1x2x2x8xui32>, tensor<1x2x8xf32>, tensor<1x1x1xui8>)
%r = glow_cpu.packed_block_quantized_matmul %x, %w, %s, %z columns 9 bits 4 : (tensor<2x32xf32>, tensor<1x2x2x8xui32>, tensor<1x2x8xf32>, tensor<1x1x1xui8>) -> tensor<2x9xf32>

// -----

// CHECK: 'glow_cpu.packed_block_quantized_matmul' op (%r): expected rows of tensor<1x2x2x8xui32>, found tensor<2x40xf32>
%x, %w, %s, %z = "test.op"() : () -> (tensor<2x40xf32>, tensor<1x2x2x8xui32>, tensor<1x2x8xf32>, tensor<1x1x1xui8>)
%r = glow_cpu.packed_block_quantized_matmul %x, %w, %s, %z columns 5 bits 4 : (tensor<2x40xf32>, tensor<1x2x2x8xui32>, tensor<1x2x8xf32>, tensor<1x1x1xui8>) -> tensor<2x5xf32>

// -----

// CHECK: 'glow_cpu.packed_block_quantized_matmul' op (%r): expected scales and zero points for tensor<1x2x2x8xui32>, found tensor<1x3x8xf32> and tensor<1x1x1xui8>
%x, %w, %s, %z = "test.op"() : () -> (tensor<2x32xf32>, tensor<1x2x2x8xui32>, tensor<1x3x8xf32>, tensor<1x1x1xui8>)
%r = glow_cpu.packed_block_quantized_matmul %x, %w, %s, %z columns 5 bits 4 : (tensor<2x32xf32>, tensor<1x2x2x8xui32>, tensor<1x3x8xf32>, tensor<1x1x1xui8>) -> tensor<2x5xf32>
