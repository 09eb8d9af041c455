// RUN: glow-opt %s --split-input-file --verify-diagnostics | filecheck %s

// CHECK: 'glow.rnn' op (%r): expected weights of shape (3, 3), found tensor<3x4xf32>
%x, %w, %i = "test.op"() : () -> (tensor<5x2x3xf32>, tensor<3x4xf32>, tensor<1x2x3xf32>)
%r = glow.rnn %x, %w, %i : (tensor<5x2x3xf32>, tensor<3x4xf32>, tensor<1x2x3xf32>) -> tensor<1x6x2x3xf32>

// -----

// CHECK: 'glow.rnn' op (%r): expected a mask of i1, found tensor<5x2xf32>
%x, %w, %i, %m = "test.op"() : () -> (tensor<5x2x3xf32>, tensor<3x3xf32>, tensor<1x2x3xf32>, tensor<5x2xf32>)
%r = glow.rnn %x, %w, %i, %m : (tensor<5x2x3xf32>, tensor<3x3xf32>, tensor<1x2x3xf32>, tensor<5x2xf32>) -> tensor<1x6x2x3xf32>

// -----

// CHECK: 'glow.rnn' op (%r): expected 1 activations, found 'Tanh Tanh'
%x, %w, %i = "test.op"() : () -> (tensor<5x2x3xf32>, tensor<3x3xf32>, tensor<1x2x3xf32>)
%r = glow.rnn %x, %w, %i activations "Tanh Tanh" : (tensor<5x2x3xf32>, tensor<3x3xf32>, tensor<1x2x3xf32>) -> tensor<1x6x2x3xf32>

// -----

// CHECK: 'glow.rnn' op (%r): expected one of Relu (0), Tanh (0)
%x, %w, %i = "test.op"() : () -> (tensor<5x2x3xf32>, tensor<3x3xf32>, tensor<1x2x3xf32>)
%r = glow.rnn %x, %w, %i activations "Affine(1)" : (tensor<5x2x3xf32>, tensor<3x3xf32>, tensor<1x2x3xf32>) -> tensor<1x6x2x3xf32>

// -----

// CHECK: 'glow.gru' op (%r): expected steps of 3 equal parts, found input tensor<5x2x10xf32>
%x, %w, %i, %b = "test.op"() : () -> (tensor<5x2x10xf32>, tensor<3x9xf32>, tensor<1x2x3xf32>, tensor<1x3xf32>)
%r = glow.gru %x, %w, %i, %b : (tensor<5x2x10xf32>, tensor<3x9xf32>, tensor<1x2x3xf32>, tensor<1x3xf32>) -> tensor<1x6x2x3xf32>

// -----

// CHECK: expected result 0 of type tensor<6x6x2x3xf32>, found tensor<2x6x2x3xf32>
%x, %w, %i, %p = "test.op"() : () -> (tensor<5x2x12xf32>, tensor<3x12xf32>, tensor<2x2x3xf32>, tensor<3x3xf32>)
%r = glow.lstm %x, %w, %i, %p keeps true : (tensor<5x2x12xf32>, tensor<3x12xf32>, tensor<2x2x3xf32>, tensor<3x3xf32>) -> tensor<2x6x2x3xf32>

// -----

// Columns of each product start a panel: 6 and 3 columns in panels of 4 are three.
// CHECK: 'glow.gru' op (%r): expected panels of shape (3, 3, 4), found tensor<2x3x4xf32>
%x, %w, %i, %b = "test.op"() : () -> (tensor<5x2x9xf32>, tensor<2x3x4xf32>, tensor<1x2x3xf32>, tensor<1x3xf32>)
%r = glow.gru %x, %w, %i, %b : (tensor<5x2x9xf32>, tensor<2x3x4xf32>, tensor<1x2x3xf32>, tensor<1x3xf32>) -> tensor<1x6x2x3xf32>

// -----

// CHECK: 'glow.rnn' op (%r): expected weights of shape (3, 3), found tensor<1x3x0xf32>
%x, %w, %i = "test.op"() : () -> (tensor<5x2x3xf32>, tensor<1x3x0xf32>, tensor<1x2x3xf32>)
%r = glow.rnn %x, %w, %i : (tensor<5x2x3xf32>, tensor<1x3x0xf32>, tensor<1x2x3xf32>) -> tensor<1x6x2x3xf32>
