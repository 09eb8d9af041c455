// RUN: glow-opt %s | glow-opt | filecheck %s
// RUN: glow-opt %s --print-op-generic | glow-opt | filecheck %s
// RUN: glow-opt %s --print-op-generic | filecheck %s --check-prefix=GENERIC

// Nodes that move elements.

func.func @shape(%a: tensor<2x6xf32>, %b: tensor<8x1x1xf32>, %s: tensor<f32>, %i: tensor<2x3xi64>) {
  %reshape = glow.reshape %a : (tensor<2x6xf32>) -> tensor<3x1x4xf32>
  %to_scalar = glow.reshape %s : (tensor<f32>) -> tensor<1x1xf32>
  %broadcast = glow.broadcast %b : (tensor<8x1x1xf32>) -> tensor<2x8x4x4xf32>
  %broadcast_scalar = glow.broadcast %s : (tensor<f32>) -> tensor<3xf32>
  %transpose = glow.transpose %b permutation [2, 0, 1] : (tensor<8x1x1xf32>) -> tensor<1x8x1xf32>
  %concat = glow.concat %a, %a, %a axis 1 : (tensor<2x6xf32>, tensor<2x6xf32>, tensor<2x6xf32>) -> tensor<2x18xf32>
  %slice = glow.slice %a starts [0, 5] sizes [2, 3] strides [1, -2] : (tensor<2x6xf32>) -> tensor<2x3xf32>
  %slice_empty = glow.slice %a sizes [0, 6] : (tensor<2x6xf32>) -> tensor<0x6xf32>
  %pad = glow.pad %a low [2, 0] high [1, 0] value 0.5 : (tensor<2x6xf32>) -> tensor<5x6xf32>
  %gather = glow.gather %a, %i axis 1 : (tensor<2x6xf32>, tensor<2x3xi64>) -> tensor<2x2x3xf32>
  func.return
}

// CHECK:      builtin.module {
// CHECK-NEXT:   func.func @shape(%a: tensor<2x6xf32>, %b: tensor<8x1x1xf32>, %s: tensor<f32>, %i: tensor<2x3xi64>) {
// CHECK-NEXT:     %reshape = glow.reshape %a : (tensor<2x6xf32>) -> tensor<3x1x4xf32>
// CHECK-NEXT:     %to_scalar = glow.reshape %s : (tensor<f32>) -> tensor<1x1xf32>
// CHECK-NEXT:     %broadcast = glow.broadcast %b : (tensor<8x1x1xf32>) -> tensor<2x8x4x4xf32>
// CHECK-NEXT:     %broadcast_scalar = glow.broadcast %s : (tensor<f32>) -> tensor<3xf32>
// CHECK-NEXT:     %transpose = glow.transpose %b permutation [2, 0, 1] : (tensor<8x1x1xf32>) -> tensor<1x8x1xf32>
// CHECK-NEXT:     %concat = glow.concat %a, %a, %a axis 1 : (tensor<2x6xf32>, tensor<2x6xf32>, tensor<2x6xf32>) -> tensor<2x18xf32>
// CHECK-NEXT:     %slice = glow.slice %a starts [0, 5] sizes [2, 3] strides [1, -2] : (tensor<2x6xf32>) -> tensor<2x3xf32>
// CHECK-NEXT:     %slice_empty = glow.slice %a sizes [0, 6] : (tensor<2x6xf32>) -> tensor<0x6xf32>
// CHECK-NEXT:     %pad = glow.pad %a low [2, 0] high [1, 0] value 0.5 : (tensor<2x6xf32>) -> tensor<5x6xf32>
// CHECK-NEXT:     %gather = glow.gather %a, %i axis 1 : (tensor<2x6xf32>, tensor<2x3xi64>) -> tensor<2x2x3xf32>
// CHECK-NEXT:     func.return
// CHECK-NEXT:   }
// CHECK-NEXT: }

// GENERIC: %reshape = "glow.reshape"(%a) : (tensor<2x6xf32>) -> tensor<3x1x4xf32>
// GENERIC: %broadcast = "glow.broadcast"(%b) : (tensor<8x1x1xf32>) -> tensor<2x8x4x4xf32>
// GENERIC: %transpose = "glow.transpose"(%b) <{permutation = array<i64: 2, 0, 1>}> : (tensor<8x1x1xf32>) -> tensor<1x8x1xf32>
// GENERIC: %concat = "glow.concat"(%a, %a, %a) <{axis = 1 : i64}> : (tensor<2x6xf32>, tensor<2x6xf32>, tensor<2x6xf32>) -> tensor<2x18xf32>
// GENERIC: %slice = "glow.slice"(%a) <{starts = array<i64: 0, 5>, sizes = array<i64: 2, 3>, strides = array<i64: 1, -2>}> : (tensor<2x6xf32>) -> tensor<2x3xf32>
// GENERIC: %pad = "glow.pad"(%a) <{low = array<i64: 2, 0>, high = array<i64: 1, 0>, value = 5.000000e-01 : f64}> : (tensor<2x6xf32>) -> tensor<5x6xf32>
// GENERIC: %gather = "glow.gather"(%a, %i) <{axis = 1 : i64}> : (tensor<2x6xf32>, tensor<2x3xi64>) -> tensor<2x2x3xf32>
