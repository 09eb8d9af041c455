// RUN: glow-opt %s --canonicalize --split-input-file | filecheck %s

// A layer is part of the same layer that keeps more, which moves to its place.

func.func @same(%x: tensor<5x2x4xf32>, %w: tensor<4x4xf32>, %i: tensor<1x2x4xf32>) -> (tensor<1x6x2x4xf32>, tensor<2x6x2x4xf32>) {
  %a = glow.rnn %x, %w, %i : (tensor<5x2x4xf32>, tensor<4x4xf32>, tensor<1x2x4xf32>) -> tensor<1x6x2x4xf32>
  %b = glow.exp %a : (tensor<1x6x2x4xf32>) -> tensor<1x6x2x4xf32>
  %c = glow.rnn %x, %w, %i keeps true : (tensor<5x2x4xf32>, tensor<4x4xf32>, tensor<1x2x4xf32>) -> tensor<2x6x2x4xf32>
  func.return %b, %c : tensor<1x6x2x4xf32>, tensor<2x6x2x4xf32>
}

// CHECK:      func.func @same
// CHECK-NEXT:   %[[c:.*]] = glow.rnn %x, %w, %i keeps true
// CHECK-NEXT:   %[[a:.*]] = glow.slice %[[c]] sizes [1, 6, 2, 4]
// CHECK-NEXT:   %b = glow.exp %[[a]]
// CHECK-NEXT:   func.return %b, %[[c]]

// -----

// Other states before the first step, and other functions, are other layers.

func.func @others(%x: tensor<5x2x4xf32>, %w: tensor<4x4xf32>, %i: tensor<1x2x4xf32>, %j: tensor<1x2x4xf32>) -> (tensor<1x6x2x4xf32>, tensor<2x6x2x4xf32>, tensor<2x6x2x4xf32>) {
  %a = glow.rnn %x, %w, %i : (tensor<5x2x4xf32>, tensor<4x4xf32>, tensor<1x2x4xf32>) -> tensor<1x6x2x4xf32>
  %b = glow.rnn %x, %w, %j keeps true : (tensor<5x2x4xf32>, tensor<4x4xf32>, tensor<1x2x4xf32>) -> tensor<2x6x2x4xf32>
  %c = glow.rnn %x, %w, %i activations "Relu" keeps true : (tensor<5x2x4xf32>, tensor<4x4xf32>, tensor<1x2x4xf32>) -> tensor<2x6x2x4xf32>
  func.return %a, %b, %c : tensor<1x6x2x4xf32>, tensor<2x6x2x4xf32>, tensor<2x6x2x4xf32>
}

// CHECK:      func.func @others
// CHECK-NEXT:   glow.rnn %x, %w, %i :
// CHECK-NEXT:   glow.rnn %x, %w, %j keeps true
// CHECK-NEXT:   glow.rnn %x, %w, %i activations "Relu" keeps true
