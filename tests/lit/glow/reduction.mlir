// RUN: glow-opt %s | glow-opt | filecheck %s
// RUN: glow-opt %s --print-op-generic | glow-opt | filecheck %s
// RUN: glow-opt %s --print-op-generic | filecheck %s --check-prefix=GENERIC

// Reductions over none, some and all dimensions.

func.func @reduction(%x: tensor<2x3x4xf32>, %i: tensor<2x3xi32>) {
  %sum = glow.reduce_sum %i axes [1] : (tensor<2x3xi32>) -> tensor<2xi32>
  %mean = glow.reduce_mean %x axes [0, 2] keep_dims true : (tensor<2x3x4xf32>) -> tensor<1x3x1xf32>
  %max = glow.reduce_max %x axes [0, 1, 2] : (tensor<2x3x4xf32>) -> tensor<f32>
  %min = glow.reduce_min %i axes [] : (tensor<2x3xi32>) -> tensor<2x3xi32>
  %prod = glow.reduce_prod %x axes [1] : (tensor<2x3x4xf32>) -> tensor<2x4xf32>
  func.return
}

// CHECK:      builtin.module {
// CHECK-NEXT:   func.func @reduction(%x: tensor<2x3x4xf32>, %i: tensor<2x3xi32>) {
// CHECK-NEXT:     %sum = glow.reduce_sum %i axes [1] : (tensor<2x3xi32>) -> tensor<2xi32>
// CHECK-NEXT:     %mean = glow.reduce_mean %x axes [0, 2] keep_dims true : (tensor<2x3x4xf32>) -> tensor<1x3x1xf32>
// CHECK-NEXT:     %max = glow.reduce_max %x axes [0, 1, 2] : (tensor<2x3x4xf32>) -> tensor<f32>
// CHECK-NEXT:     %min = glow.reduce_min %i axes [] : (tensor<2x3xi32>) -> tensor<2x3xi32>
// CHECK-NEXT:     %prod = glow.reduce_prod %x axes [1] : (tensor<2x3x4xf32>) -> tensor<2x4xf32>
// CHECK-NEXT:     func.return
// CHECK-NEXT:   }
// CHECK-NEXT: }

// GENERIC: %sum = "glow.reduce_sum"(%i) <{axes = array<i64: 1>, keep_dims = false}> : (tensor<2x3xi32>) -> tensor<2xi32>
// GENERIC: %mean = "glow.reduce_mean"(%x) <{axes = array<i64: 0, 2>, keep_dims = true}> : (tensor<2x3x4xf32>) -> tensor<1x3x1xf32>
// GENERIC: %max = "glow.reduce_max"(%x) <{axes = array<i64: 0, 1, 2>, keep_dims = false}> : (tensor<2x3x4xf32>) -> tensor<f32>
// GENERIC: %min = "glow.reduce_min"(%i) <{axes = array<i64>, keep_dims = false}> : (tensor<2x3xi32>) -> tensor<2x3xi32>
// GENERIC: %prod = "glow.reduce_prod"(%x) <{axes = array<i64: 1>, keep_dims = false}> : (tensor<2x3x4xf32>) -> tensor<2x4xf32>
