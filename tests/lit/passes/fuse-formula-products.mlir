// RUN: glow-opt %s --fuse-operators --dce | filecheck %s

// Formulas that are products of matrices become them; others stay.

// CHECK-LABEL: @linear
// CHECK-NEXT: %y = glow.matmul %x, %w transpose_rhs true
// CHECK-NEXT: return %y
func.func @linear(%x: tensor<3x4xf32>, %w: tensor<5x4xf32>) -> tensor<3x5xf32> {
  %y = glow.generic %x, %w formula "y[b, i] = sum(k) x[b, k] * w[i, k]" : (tensor<3x4xf32>, tensor<5x4xf32>) -> tensor<3x5xf32>
  func.return %y : tensor<3x5xf32>
}

// The right operand has the rows of the result.
// CHECK-LABEL: @swapped
// CHECK: glow.matmul %w, %x transpose_rhs true : (tensor<5x4xi8>, tensor<3x4xi8>) -> tensor<5x3xi32>
func.func @swapped(%x: tensor<3x4xi8>, %w: tensor<5x4xi8>) -> tensor<5x3xi32> {
  %y = glow.generic %x, %w formula "y[i, b] = sum(k) i32(x[b, k]) * i32(w[i, k])" : (tensor<3x4xi8>, tensor<5x4xi8>) -> tensor<5x3xi32>
  func.return %y : tensor<5x3xi32>
}

// Several indices become one.
// CHECK-LABEL: @groups
// CHECK-NEXT: %y = glow.reshape %x : (tensor<2x3x4x5xf32>) -> tensor<2x3x20xf32>
// CHECK-NEXT: %y_1 = glow.reshape %w : (tensor<2x4x5x7x2xf32>) -> tensor<2x20x14xf32>
// CHECK-NEXT: %y_2 = glow.matmul %y, %y_1
// CHECK-NEXT: glow.reshape %y_2 : (tensor<2x3x14xf32>) -> tensor<2x3x7x2xf32>
func.func @groups(%x: tensor<2x3x4x5xf32>, %w: tensor<2x4x5x7x2xf32>) -> tensor<2x3x7x2xf32> {
  %y = glow.generic %x, %w formula "y[b, i, j, k] = sum(s, t) x[b, i, s, t] * w[b, s, t, j, k]" : (tensor<2x3x4x5xf32>, tensor<2x4x5x7x2xf32>) -> tensor<2x3x7x2xf32>
  func.return %y : tensor<2x3x7x2xf32>
}

// Constants are transposed at compile time.
// CHECK-LABEL: @weights
// CHECK: glow.transpose %w permutation [1, 2, 0]
// CHECK: glow.matmul %x, {{.*}} : (tensor<3x4xf32>, tensor<4x10xf32>) -> tensor<3x10xf32>
func.func @weights(%x: tensor<3x4xf32>) -> tensor<3x2x5xf32> {
  %w = glow.constant #glow.blob<"w.bin", 0, 160> : tensor<5x4x2xf32>
  %y = glow.generic %x, %w formula "y[b, i, j] = sum(k) x[b, k] * w[j, k, i]" : (tensor<3x4xf32>, tensor<5x4x2xf32>) -> tensor<3x2x5xf32>
  func.return %y : tensor<3x2x5xf32>
}

// A transpose at run time, another reduction, a window, a diagonal, sums of bytes as floats, and a
// product with a vector.
// CHECK-LABEL: @others
// CHECK-COUNT-6: glow.generic
// CHECK-NOT: glow.matmul
func.func @others(%x: tensor<4x4x4xf32>, %w: tensor<4x4xf32>, %b: tensor<4x4xi8>, %v: tensor<4xf32>) -> (tensor<4x4x4xf32>, tensor<4x4xf32>,
    tensor<2x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>, tensor<4xf32>) {
  %0 = glow.generic %x, %w formula "y[b, i, j] = sum(t) x[i, b, t] * w[t, j]" : (tensor<4x4x4xf32>, tensor<4x4xf32>) -> tensor<4x4x4xf32>
  %1 = glow.generic %w formula "y[i, j] = max(t) w[i, t] * w[t, j]" : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %2 = glow.generic %w formula "y[i, j] = sum(t < 3) w[i + t, t] * w[t, j]" : (tensor<4x4xf32>) -> tensor<2x4xf32>
  %3 = glow.generic %x, %w formula "y[i, j] = sum(t) x[i, t, t] * w[t, j]" : (tensor<4x4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %4 = glow.generic %b, %w formula "y[i, j] = sum(t) f32(b[i, t]) * w[t, j]" : (tensor<4x4xi8>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %5 = glow.generic %w, %v formula "y[i] = sum(t) w[i, t] * v[t]" : (tensor<4x4xf32>, tensor<4xf32>) -> tensor<4xf32>
  func.return %0, %1, %2, %3, %4, %5 : tensor<4x4x4xf32>, tensor<4x4xf32>, tensor<2x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>, tensor<4xf32>
}
