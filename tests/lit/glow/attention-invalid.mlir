// RUN: glow-opt %s --split-input-file --verify-diagnostics | filecheck %s

// CHECK: 'glow.attention' op (%r): expected a key of shape (1, 9, 2, 4), found tensor<1x9x2x5xf32>
%q, %k, %v = "test.op"() : () -> (tensor<1x7x2x4xf32>, tensor<1x9x2x5xf32>, tensor<1x9x2x3xf32>)
%r = glow.attention %q, %k, %v : (tensor<1x7x2x4xf32>, tensor<1x9x2x5xf32>, tensor<1x9x2x3xf32>) -> tensor<1x7x2x3xf32>

// -----

// CHECK: 'glow.attention' op (%r): expected a value of shape (1, 9, 2, 3), found tensor<1x8x2x3xf32>
%q, %k, %v = "test.op"() : () -> (tensor<1x7x2x4xf32>, tensor<1x9x2x4xf32>, tensor<1x8x2x3xf32>)
%r = glow.attention %q, %k, %v : (tensor<1x7x2x4xf32>, tensor<1x9x2x4xf32>, tensor<1x8x2x3xf32>) -> tensor<1x7x2x3xf32>

// -----

// CHECK: 'glow.masked_attention' op (%r): expected a mask of shape (1, 2, 7, 9), found tensor<1x1x7x9xf32>
%q, %k, %v, %m = "test.op"() : () -> (tensor<1x7x2x4xf32>, tensor<1x9x2x4xf32>, tensor<1x9x2x3xf32>, tensor<1x1x7x9xf32>)
%r = glow.masked_attention %q, %k, %v, %m : (tensor<1x7x2x4xf32>, tensor<1x9x2x4xf32>, tensor<1x9x2x3xf32>, tensor<1x1x7x9xf32>) -> tensor<1x7x2x3xf32>
