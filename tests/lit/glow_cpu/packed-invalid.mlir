// RUN: glow-opt %s --split-input-file --verify-diagnostics | filecheck %s

// CHECK: 'glow_cpu.packed_matmul' op (%r): index t runs over 5 values, but dimension 1 of weights has 4; found input tensor<3x5xf32>, weights tensor<2x4x8xf32>
%x, %w = "test.op"() : () -> (tensor<3x5xf32>, tensor<2x4x8xf32>)
%r = glow_cpu.packed_matmul %x, %w columns 9 : (tensor<3x5xf32>, tensor<2x4x8xf32>) -> tensor<3x9xf32>

// -----

// CHECK: 'glow_cpu.packed_matmul' op (%r): expected columns that need 2 panels of 8, found 8
%x, %w = "test.op"() : () -> (tensor<3x4xf32>, tensor<2x4x8xf32>)
%r = glow_cpu.packed_matmul %x, %w columns 8 : (tensor<3x4xf32>, tensor<2x4x8xf32>) -> tensor<3x8xf32>

// -----

// CHECK: 'glow_cpu.packed_matmul' op (%r): expected weights of rank 3, found tensor<4x8xf32>
%x, %w = "test.op"() : () -> (tensor<3x4xf32>, tensor<4x8xf32>)
%r = glow_cpu.packed_matmul %x, %w columns 8 : (tensor<3x4xf32>, tensor<4x8xf32>) -> tensor<3x8xf32>
