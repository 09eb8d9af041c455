// RUN: glow-opt %s --irgen | filecheck %s

// Attention reads rows of keys and values wherever they are. A transpose that moves whole rows is a view.

// CHECK: func.func @keys(
// CHECK-NOT: glow_inst.transpose
// CHECK: %[[KEYS:.*]] = glow_inst.tensor_view %k : memref<1x2x9x4xf32> to memref<1x9x2x4xf32, strided<[36, 4, 36, 1]>>
// CHECK-NOT: glow_inst.transpose
// CHECK: glow_inst.attention @out %{{.*}}, @in %q, @in %[[KEYS]], @in %[[KEYS]]
func.func @keys(%q: tensor<1x7x2x4xf32>, %k: tensor<1x2x9x4xf32>) -> tensor<1x7x2x4xf32> {
  %0 = glow.transpose %k permutation [0, 2, 1, 3] : (tensor<1x2x9x4xf32>) -> tensor<1x9x2x4xf32>
  %1 = glow.attention %q, %0, %0 scale 0.5 : (tensor<1x7x2x4xf32>, tensor<1x9x2x4xf32>, tensor<1x9x2x4xf32>) -> tensor<1x7x2x4xf32>
  func.return %1 : tensor<1x7x2x4xf32>
}

// A transpose that takes rows apart stays, and so does one with another user.

// CHECK: func.func @columns(
// CHECK: glow_inst.transpose
// CHECK: func.func @sum(
// CHECK: glow_inst.transpose
// CHECK: func.func @returned(
// CHECK: glow_inst.transpose
func.func @columns(%q: tensor<1x7x2x4xf32>, %k: tensor<1x2x4x9xf32>) -> tensor<1x7x2x4xf32> {
  %0 = glow.transpose %k permutation [0, 3, 1, 2] : (tensor<1x2x4x9xf32>) -> tensor<1x9x2x4xf32>
  %1 = glow.attention %q, %0, %0 scale 0.5 : (tensor<1x7x2x4xf32>, tensor<1x9x2x4xf32>, tensor<1x9x2x4xf32>) -> tensor<1x7x2x4xf32>
  func.return %1 : tensor<1x7x2x4xf32>
}
func.func @sum(%q: tensor<1x7x2x4xf32>, %k: tensor<1x2x7x4xf32>) -> tensor<1x7x2x4xf32> {
  %0 = glow.transpose %k permutation [0, 2, 1, 3] : (tensor<1x2x7x4xf32>) -> tensor<1x7x2x4xf32>
  %1 = glow.attention %q, %0, %0 scale 0.5 : (tensor<1x7x2x4xf32>, tensor<1x7x2x4xf32>, tensor<1x7x2x4xf32>) -> tensor<1x7x2x4xf32>
  %2 = glow.add %1, %0 : (tensor<1x7x2x4xf32>, tensor<1x7x2x4xf32>) -> tensor<1x7x2x4xf32>
  func.return %2 : tensor<1x7x2x4xf32>
}
func.func @returned(%q: tensor<1x7x2x4xf32>, %k: tensor<1x2x9x4xf32>) -> (tensor<1x7x2x4xf32>, tensor<1x9x2x4xf32>) {
  %0 = glow.transpose %k permutation [0, 2, 1, 3] : (tensor<1x2x9x4xf32>) -> tensor<1x9x2x4xf32>
  %1 = glow.attention %q, %0, %0 scale 0.5 : (tensor<1x7x2x4xf32>, tensor<1x9x2x4xf32>, tensor<1x9x2x4xf32>) -> tensor<1x7x2x4xf32>
  func.return %1, %0 : tensor<1x7x2x4xf32>, tensor<1x9x2x4xf32>
}
