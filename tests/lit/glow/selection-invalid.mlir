// RUN: glow-opt %s --split-input-file --verify-diagnostics | filecheck %s

// What nodes that choose among elements refuse.

// CHECK: 'glow.nonzero_places' op (%r): expected integers, found tensor<4xf32>
%x = "test.op"() : () -> tensor<4xf32>
%r = glow.nonzero_places %x : (tensor<4xf32>) -> tensor<4xi64>

// -----

// CHECK: 'glow.non_max_suppression' op (%r): expected boxes 1x6x4, found tensor<1x5x4xf32>
%b, %s, %t = "test.op"() : () -> (tensor<1x5x4xf32>, tensor<1x3x6xf32>, tensor<1xf32>)
%r = glow.non_max_suppression %b, %s, %t, %t most 2 : (tensor<1x5x4xf32>, tensor<1x3x6xf32>, tensor<1xf32>, tensor<1xf32>) -> tensor<1x3x2xi64>

// -----

// CHECK: 'glow.non_max_suppression' op (%r): expected most in 0 to 6, found 7
%b, %s, %t = "test.op"() : () -> (tensor<1x6x4xf32>, tensor<1x3x6xf32>, tensor<1xf32>)
%r = glow.non_max_suppression %b, %s, %t, %t most 7 : (tensor<1x6x4xf32>, tensor<1x3x6xf32>, tensor<1xf32>, tensor<1xf32>) -> tensor<1x3x7xi64>

// -----

// CHECK: 'glow.random_bits' op (%r): expected elements ui32, found tensor<4xi32>
%w = "test.op"() : () -> tensor<4xi32>
%r = glow.random_bits %w, %w, %w, %w : (tensor<4xi32>, tensor<4xi32>, tensor<4xi32>, tensor<4xi32>) -> tensor<4xi32>
