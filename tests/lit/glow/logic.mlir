// RUN: glow-opt %s | glow-opt | filecheck %s
// RUN: glow-opt %s --print-op-generic | glow-opt | filecheck %s
// RUN: glow-opt %s --print-op-generic | filecheck %s --check-prefix=GENERIC

// Comparison, selection, logic and conversion.

func.func @logic(%a: tensor<2x3xf32>, %c: tensor<2x3xi1>, %i: tensor<4xi32>, %u: tensor<4xui8>) {
  %equal = glow.equal %i, %i : (tensor<4xi32>, tensor<4xi32>) -> tensor<4xi1>
  %equal_truth = glow.equal %c, %c : (tensor<2x3xi1>, tensor<2x3xi1>) -> tensor<2x3xi1>
  %less = glow.less %a, %a : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xi1>
  %less_equal = glow.less_equal %u, %u : (tensor<4xui8>, tensor<4xui8>) -> tensor<4xi1>
  %and = glow.and %c, %c : (tensor<2x3xi1>, tensor<2x3xi1>) -> tensor<2x3xi1>
  %or = glow.or %i, %i : (tensor<4xi32>, tensor<4xi32>) -> tensor<4xi32>
  %xor = glow.xor %u, %u : (tensor<4xui8>, tensor<4xui8>) -> tensor<4xui8>
  %not = glow.not %c : (tensor<2x3xi1>) -> tensor<2x3xi1>
  %select = glow.select %c, %a, %a : (tensor<2x3xi1>, tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  %cast = glow.cast %a : (tensor<2x3xf32>) -> tensor<2x3xi64>
  %bits = glow.bitcast %a : (tensor<2x3xf32>) -> tensor<2x3xui32>
  func.return
}

// CHECK:      builtin.module {
// CHECK-NEXT:   func.func @logic(%a: tensor<2x3xf32>, %c: tensor<2x3xi1>, %i: tensor<4xi32>, %u: tensor<4xui8>) {
// CHECK-NEXT:     %equal = glow.equal %i, %i : (tensor<4xi32>, tensor<4xi32>) -> tensor<4xi1>
// CHECK-NEXT:     %equal_truth = glow.equal %c, %c : (tensor<2x3xi1>, tensor<2x3xi1>) -> tensor<2x3xi1>
// CHECK-NEXT:     %less = glow.less %a, %a : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xi1>
// CHECK-NEXT:     %less_equal = glow.less_equal %u, %u : (tensor<4xui8>, tensor<4xui8>) -> tensor<4xi1>
// CHECK-NEXT:     %and = glow.and %c, %c : (tensor<2x3xi1>, tensor<2x3xi1>) -> tensor<2x3xi1>
// CHECK-NEXT:     %or = glow.or %i, %i : (tensor<4xi32>, tensor<4xi32>) -> tensor<4xi32>
// CHECK-NEXT:     %xor = glow.xor %u, %u : (tensor<4xui8>, tensor<4xui8>) -> tensor<4xui8>
// CHECK-NEXT:     %not = glow.not %c : (tensor<2x3xi1>) -> tensor<2x3xi1>
// CHECK-NEXT:     %select = glow.select %c, %a, %a : (tensor<2x3xi1>, tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
// CHECK-NEXT:     %cast = glow.cast %a : (tensor<2x3xf32>) -> tensor<2x3xi64>
// CHECK-NEXT:     %bits = glow.bitcast %a : (tensor<2x3xf32>) -> tensor<2x3xui32>
// CHECK-NEXT:     func.return
// CHECK-NEXT:   }
// CHECK-NEXT: }

// GENERIC: %equal = "glow.equal"(%i, %i) : (tensor<4xi32>, tensor<4xi32>) -> tensor<4xi1>
// GENERIC: %less = "glow.less"(%a, %a) : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xi1>
// GENERIC: %less_equal = "glow.less_equal"(%u, %u) : (tensor<4xui8>, tensor<4xui8>) -> tensor<4xi1>
// GENERIC: %and = "glow.and"(%c, %c) : (tensor<2x3xi1>, tensor<2x3xi1>) -> tensor<2x3xi1>
// GENERIC: %or = "glow.or"(%i, %i) : (tensor<4xi32>, tensor<4xi32>) -> tensor<4xi32>
// GENERIC: %xor = "glow.xor"(%u, %u) : (tensor<4xui8>, tensor<4xui8>) -> tensor<4xui8>
// GENERIC: %not = "glow.not"(%c) : (tensor<2x3xi1>) -> tensor<2x3xi1>
// GENERIC: %select = "glow.select"(%c, %a, %a) : (tensor<2x3xi1>, tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
// GENERIC: %cast = "glow.cast"(%a) <{saturate = true, rounding = "up"}> : (tensor<2x3xf32>) -> tensor<2x3xi64>
// GENERIC: %bits = "glow.bitcast"(%a) : (tensor<2x3xf32>) -> tensor<2x3xui32>
