// RUN: glow-opt %s --split-input-file --verify-diagnostics | filecheck %s

// CHECK: 'glow_cpu.sparse_vector_matmul' op (%r): expected an input of one row, found tensor<2x4xf32>
%x, %w = "test.op"() : () -> (tensor<2x4xf32>, tensor<4x9xf32>)
%r = glow_cpu.sparse_vector_matmul %x, %w : (tensor<2x4xf32>, tensor<4x9xf32>) -> tensor<2x9xf32>

// -----

// CHECK: 'glow_cpu.sparse_vector_matmul' op (%r): expected weights of shape (5, 9), found tensor<4x9xf32>
%x, %w = "test.op"() : () -> (tensor<1x5xf32>, tensor<4x9xf32>)
%r = glow_cpu.sparse_vector_matmul %x, %w : (tensor<1x5xf32>, tensor<4x9xf32>) -> tensor<1x9xf32>

// -----

// CHECK: 'glow_cpu.sparse_vector_matmul' op (%r): expected weights of rank 2, found tensor<1x4x9xf32>
%x, %w = "test.op"() : () -> (tensor<1x4xf32>, tensor<1x4x9xf32>)
%r = glow_cpu.sparse_vector_matmul %x, %w : (tensor<1x4xf32>, tensor<1x4x9xf32>) -> tensor<1x9xf32>

// -----

// CHECK: 'glow_cpu.sparse_vector_matmul' op (%r): expected float elements, found tensor<1x4xi32>
%x, %w = "test.op"() : () -> (tensor<1x4xi32>, tensor<4x9xi32>)
%r = glow_cpu.sparse_vector_matmul %x, %w : (tensor<1x4xi32>, tensor<4x9xi32>) -> tensor<1x9xi32>
