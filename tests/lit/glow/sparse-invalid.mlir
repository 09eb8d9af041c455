// RUN: glow-opt %s --split-input-file --verify-diagnostics | filecheck %s

// CHECK: 'glow.sparse_vector_matmul' op (%r): expected an input of one row, found tensor<2x4xf32>
%x, %w = "test.op"() : () -> (tensor<2x4xf32>, tensor<4x9xf32>)
%r = glow.sparse_vector_matmul %x, %w : (tensor<2x4xf32>, tensor<4x9xf32>) -> tensor<2x9xf32>

// -----

// CHECK: 'glow.sparse_vector_matmul' op (%r): expected weights of shape (5, 9), found tensor<4x9xf32>
%x, %w = "test.op"() : () -> (tensor<1x5xf32>, tensor<4x9xf32>)
%r = glow.sparse_vector_matmul %x, %w : (tensor<1x5xf32>, tensor<4x9xf32>) -> tensor<1x9xf32>

// -----

// CHECK: 'glow.sparse_vector_matmul' op (%r): expected weights of rank 2, found tensor<1x4x9xf32>
%x, %w = "test.op"() : () -> (tensor<1x4xf32>, tensor<1x4x9xf32>)
%r = glow.sparse_vector_matmul %x, %w : (tensor<1x4xf32>, tensor<1x4x9xf32>) -> tensor<1x9xf32>

// -----

// CHECK: 'glow.sparse_vector_matmul' op (%r): expected float elements, found tensor<1x4xi32>
%x, %w = "test.op"() : () -> (tensor<1x4xi32>, tensor<4x9xi32>)
%r = glow.sparse_vector_matmul %x, %w : (tensor<1x4xi32>, tensor<4x9xi32>) -> tensor<1x9xi32>

// -----

// CHECK: 'glow.sparse_vector_words_matmul' op (%r): expected weights of shape (4, 2, 7, 16), found tensor<4x1x7x16xi32>
%x, %w = "test.op"() : () -> (tensor<1x4xf32>, tensor<4x1x7x16xi32>)
%r = glow.sparse_vector_words_matmul %x, %w {columns = 129 : i64, scale = 1.0 : f64} : (tensor<1x4xf32>, tensor<4x1x7x16xi32>) -> tensor<1x129xf32>

// -----

// CHECK: 'glow.sparse_vector_words_matmul' op (%r): expected an input of f32 and weights of i32, found tensor<1x4xf16>, tensor<4x1x7x16xi32>
%x, %w = "test.op"() : () -> (tensor<1x4xf16>, tensor<4x1x7x16xi32>)
%r = glow.sparse_vector_words_matmul %x, %w {columns = 12 : i64, scale = 1.0 : f64} : (tensor<1x4xf16>, tensor<4x1x7x16xi32>) -> tensor<1x12xf16>

// -----

// CHECK: 'glow.sparse_vector_words_matmul' op (%r): expected columns of at least 1, found 0
%x, %w = "test.op"() : () -> (tensor<1x4xf32>, tensor<4x0x7x16xi32>)
%r = glow.sparse_vector_words_matmul %x, %w {columns = 0 : i64, scale = 1.0 : f64} : (tensor<1x4xf32>, tensor<4x0x7x16xi32>) -> tensor<1x0xf32>
