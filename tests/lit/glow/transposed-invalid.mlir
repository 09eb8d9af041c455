// RUN: glow-opt %s --split-input-file --verify-diagnostics | filecheck %s

// CHECK: 'glow.transposed_convolution' op (%r): expected as many input channels as the filter has rows, in 1 groups, found input tensor<1x3x4xf32> and filter tensor<2x2x3xf32>
%x, %w, %b = "test.op"() : () -> (tensor<1x3x4xf32>, tensor<2x2x3xf32>, tensor<2xf32>)
%r = glow.transposed_convolution %x, %w, %b : (tensor<1x3x4xf32>, tensor<2x2x3xf32>, tensor<2xf32>) -> tensor<1x2x6xf32>

// -----

// CHECK: 'glow.transposed_convolution' op (%r): expected a bias of shape (4,), found tensor<2xf32>
%x, %w, %b = "test.op"() : () -> (tensor<1x2x4xf32>, tensor<2x2x3xf32>, tensor<2xf32>)
%r = glow.transposed_convolution %x, %w, %b group 2 : (tensor<1x2x4xf32>, tensor<2x2x3xf32>, tensor<2xf32>) -> tensor<1x4x6xf32>

// -----

// CHECK: 'glow.transposed_convolution' op (%r): expected a size from 0, found -1; found input tensor<1x2x4xf32>, filter tensor<2x2x3xf32>, bias tensor<2xf32>
%x, %w, %b = "test.op"() : () -> (tensor<1x2x4xf32>, tensor<2x2x3xf32>, tensor<2xf32>)
%r = glow.transposed_convolution %x, %w, %b pads [4, 3] : (tensor<1x2x4xf32>, tensor<2x2x3xf32>, tensor<2xf32>) -> tensor<1x2x0xf32>

// -----

// CHECK: 'glow.transposed_convolution' op (%r): expected result 0 of type tensor<1x2x9xf32>
%x, %w, %b = "test.op"() : () -> (tensor<1x2x4xf32>, tensor<2x2x3xf32>, tensor<2xf32>)
%r = glow.transposed_convolution %x, %w, %b strides [2] : (tensor<1x2x4xf32>, tensor<2x2x3xf32>, tensor<2xf32>) -> tensor<1x2x8xf32>
