// RUN: glow-opt %s | glow-opt | filecheck %s
// RUN: glow-opt %s --print-op-generic | glow-opt | filecheck %s

// Nodes that choose among elements, and random bits.

func.func @selection(%m: tensor<5xi1>, %b: tensor<1x6x4xf32>, %s: tensor<1x3x6xf32>, %t: tensor<1xf32>, %w: tensor<4xui32>) {
  %places = glow.nonzero_places %m : (tensor<5xi1>) -> tensor<5xi64>
  %kept = glow.non_max_suppression %b, %s, %t, %t most 2 : (tensor<1x6x4xf32>, tensor<1x3x6xf32>, tensor<1xf32>, tensor<1xf32>) -> tensor<1x3x2xi64>
  %centered = glow.non_max_suppression %b, %s, %t, %t most 0 center true : (tensor<1x6x4xf32>, tensor<1x3x6xf32>, tensor<1xf32>, tensor<1xf32>) -> tensor<1x3x0xi64>
  %bits = glow.random_bits %w, %w, %w, %w : (tensor<4xui32>, tensor<4xui32>, tensor<4xui32>, tensor<4xui32>) -> tensor<4xui32>
  %more = glow.random_bits %w, %w, %w, %w second true : (tensor<4xui32>, tensor<4xui32>, tensor<4xui32>, tensor<4xui32>) -> tensor<4xui32>
  func.return
}

// CHECK:      %places = glow.nonzero_places %m : (tensor<5xi1>) -> tensor<5xi64>
// CHECK-NEXT: %kept = glow.non_max_suppression %b, %s, %t, %t most 2 : (tensor<1x6x4xf32>, tensor<1x3x6xf32>, tensor<1xf32>, tensor<1xf32>) -> tensor<1x3x2xi64>
// CHECK-NEXT: %centered = glow.non_max_suppression %b, %s, %t, %t most 0 center true : (tensor<1x6x4xf32>, tensor<1x3x6xf32>, tensor<1xf32>, tensor<1xf32>) -> tensor<1x3x0xi64>
// CHECK-NEXT: %bits = glow.random_bits %w, %w, %w, %w : (tensor<4xui32>, tensor<4xui32>, tensor<4xui32>, tensor<4xui32>) -> tensor<4xui32>
// CHECK-NEXT: %more = glow.random_bits %w, %w, %w, %w second true : (tensor<4xui32>, tensor<4xui32>, tensor<4xui32>, tensor<4xui32>) -> tensor<4xui32>
