// RUN: glow-opt %s | glow-opt | filecheck %s
// RUN: glow-opt %s --print-op-generic | glow-opt | filecheck %s

// Inverse trigonometric and hyperbolic functions, and shifts.

func.func @functions(%a: tensor<2x3xf32>, %i: tensor<4xi32>) {
  %asin = glow.asin %a : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %acos = glow.acos %a : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %atan = glow.atan %a : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %sinh = glow.sinh %a : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %asinh = glow.asinh %a : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %acosh = glow.acosh %a : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %atanh = glow.atanh %a : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %left = glow.shift_left %i, %i : (tensor<4xi32>, tensor<4xi32>) -> tensor<4xi32>
  func.return
}

// CHECK:      %asin = glow.asin %a : (tensor<2x3xf32>) -> tensor<2x3xf32>
// CHECK-NEXT: %acos = glow.acos %a : (tensor<2x3xf32>) -> tensor<2x3xf32>
// CHECK-NEXT: %atan = glow.atan %a : (tensor<2x3xf32>) -> tensor<2x3xf32>
// CHECK-NEXT: %sinh = glow.sinh %a : (tensor<2x3xf32>) -> tensor<2x3xf32>
// CHECK-NEXT: %asinh = glow.asinh %a : (tensor<2x3xf32>) -> tensor<2x3xf32>
// CHECK-NEXT: %acosh = glow.acosh %a : (tensor<2x3xf32>) -> tensor<2x3xf32>
// CHECK-NEXT: %atanh = glow.atanh %a : (tensor<2x3xf32>) -> tensor<2x3xf32>
// CHECK-NEXT: %left = glow.shift_left %i, %i : (tensor<4xi32>, tensor<4xi32>) -> tensor<4xi32>
