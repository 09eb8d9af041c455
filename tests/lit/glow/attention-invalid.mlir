// RUN: glow-opt %s --split-input-file --verify-diagnostics | filecheck %s

// CHECK: 'glow.attention' op (%r): index c runs over 4 values, but dimension 3 of key has 5; found query tensor<1x7x2x4xf32>, key tensor<1x9x2x5xf32>, value tensor<1x9x2x3xf32>
%q, %k, %v = "test.op"() : () -> (tensor<1x7x2x4xf32>, tensor<1x9x2x5xf32>, tensor<1x9x2x3xf32>)
%r = glow.attention %q, %k, %v : (tensor<1x7x2x4xf32>, tensor<1x9x2x5xf32>, tensor<1x9x2x3xf32>) -> tensor<1x7x2x3xf32>

// -----

// CHECK: 'glow.attention' op (%r): index j runs over 9 values, but dimension 1 of value has 8
%q, %k, %v = "test.op"() : () -> (tensor<1x7x2x4xf32>, tensor<1x9x2x4xf32>, tensor<1x8x2x3xf32>)
%r = glow.attention %q, %k, %v : (tensor<1x7x2x4xf32>, tensor<1x9x2x4xf32>, tensor<1x8x2x3xf32>) -> tensor<1x7x2x3xf32>

// -----

// CHECK: 'glow.masked_attention' op (%r): index h runs over 2 values, but dimension 1 of mask has 1
%q, %k, %v, %m = "test.op"() : () -> (tensor<1x7x2x4xf32>, tensor<1x9x2x4xf32>, tensor<1x9x2x3xf32>, tensor<1x1x7x9xf32>)
%r = glow.masked_attention %q, %k, %v, %m : (tensor<1x7x2x4xf32>, tensor<1x9x2x4xf32>, tensor<1x9x2x3xf32>, tensor<1x1x7x9xf32>) -> tensor<1x7x2x3xf32>

// -----

// CHECK: 'glow.attention' op (%r): expected heads of the query that are a multiple of those of key and value, found 3 and 2
%q, %k, %v = "test.op"() : () -> (tensor<1x7x3x4xf32>, tensor<1x9x2x4xf32>, tensor<1x9x2x3xf32>)
%r = glow.attention %q, %k, %v : (tensor<1x7x3x4xf32>, tensor<1x9x2x4xf32>, tensor<1x9x2x3xf32>) -> tensor<1x7x3x3xf32>
