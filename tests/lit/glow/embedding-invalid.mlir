// RUN: glow-opt %s --split-input-file --verify-diagnostics | filecheck %s

// CHECK: 'glow.embedding_bag' op (%r): expected a weight for each of tensor<5xi64>, or one, found tensor<4xf32>
%d, %i, %f, %b = "test.op"() : () -> (tensor<10x4xf32>, tensor<5xi64>, tensor<4xf32>, tensor<3xi64>)
%r = glow.embedding_bag %d, %i, %f, %b : (tensor<10x4xf32>, tensor<5xi64>, tensor<4xf32>, tensor<3xi64>) -> tensor<2x4xf32>

// -----

// CHECK: 'glow.embedding_bag' op (%r): expected indices of i32 or i64, found tensor<5xf32>
%d, %i, %f, %b = "test.op"() : () -> (tensor<10x4xf32>, tensor<5xf32>, tensor<5xf32>, tensor<3xi64>)
%r = glow.embedding_bag %d, %i, %f, %b : (tensor<10x4xf32>, tensor<5xf32>, tensor<5xf32>, tensor<3xi64>) -> tensor<2x4xf32>

// -----

// CHECK: 'glow.embedding_bag' op (%r): expected the offsets of bags and the last end, found tensor<0xi64>
%d, %i, %f, %b = "test.op"() : () -> (tensor<10x4xf32>, tensor<5xi64>, tensor<5xf32>, tensor<0xi64>)
%r = glow.embedding_bag %d, %i, %f, %b : (tensor<10x4xf32>, tensor<5xi64>, tensor<5xf32>, tensor<0xi64>) -> tensor<0x4xf32>

// -----

// CHECK: 'glow.fused_embedding_bag' op (%r): expected rows of numbers, a scale and an offset, found tensor<10x6xui8>
%d, %i, %f, %b = "test.op"() : () -> (tensor<10x6xui8>, tensor<5xi64>, tensor<5xf32>, tensor<3xi64>)
%r = glow.fused_embedding_bag %d, %i, %f, %b : (tensor<10x6xui8>, tensor<5xi64>, tensor<5xf32>, tensor<3xi64>) -> tensor<2x4xf32>

// -----

// CHECK: 'glow.fused_embedding_bag' op (%r): expected bits to be 4 or 8, found 2
%d, %i, %f, %b = "test.op"() : () -> (tensor<10x6xui8>, tensor<5xi64>, tensor<5xf32>, tensor<3xi64>)
%r = glow.fused_embedding_bag %d, %i, %f, %b bits 2 half true : (tensor<10x6xui8>, tensor<5xi64>, tensor<5xf32>, tensor<3xi64>) -> tensor<2x4xf32>
