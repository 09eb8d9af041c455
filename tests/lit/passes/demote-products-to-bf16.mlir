// RUN: glow-opt %s --set-machine="vector-bits=64 vector-registers=8" --demote-products-to-bf16 --split-input-file | filecheck %s

// Rows of the matrix are in pairs, in panels of as many columns as there are lanes.
func.func @matrix(%x: tensor<3x2xf32>) -> tensor<3x4xf32> {
  %w = glow.constant dense<[[[1.0, 2.0, 3.0, 4.0], [5.0, 6.0, 7.0, 8.0]]]> : tensor<1x2x4xf32>
  %y = glow_cpu.packed_matmul %x, %w columns 4 : (tensor<3x2xf32>, tensor<1x2x4xf32>) -> tensor<3x4xf32>
  func.return %y : tensor<3x4xf32>
}

// CHECK-LABEL: @matrix(
// CHECK:       %w = glow.constant dense<[[[[1.000000e+00, 5.000000e+00], [2.000000e+00, 6.000000e+00]]], [[[3.000000e+00, 7.000000e+00], [4.000000e+00, 8.000000e+00]]]]> : tensor<2x1x2x2xbf16>
// CHECK:       [[X:%.*]] = glow.cast %x : (tensor<3x2xf32>) -> tensor<3x2xbf16>
// CHECK-NEXT:  glow_cpu.dot_matmul [[X]], %w columns 4 : (tensor<3x2xbf16>, tensor<2x1x2x2xbf16>) -> tensor<3x4xf32>

// -----

// The last panel need not be full.
func.func @partial(%x: tensor<3x2xf32>) -> tensor<3x3xf32> {
  %w = glow.constant dense<[[[1.0, 2.0], [5.0, 6.0]], [[3.0, 9.0], [7.0, 9.0]]]> : tensor<2x2x2xf32>
  %y = glow_cpu.packed_matmul %x, %w columns 3 : (tensor<3x2xf32>, tensor<2x2x2xf32>) -> tensor<3x3xf32>
  func.return %y : tensor<3x3xf32>
}

// CHECK-LABEL: @partial(
// CHECK:       %w = glow.constant dense<[[[[1.000000e+00, 5.000000e+00], [2.000000e+00, 6.000000e+00]]], [[[3.000000e+00, 7.000000e+00], [0.000000e+00, 0.000000e+00]]]]> : tensor<2x1x2x2xbf16>
// CHECK:       glow_cpu.dot_matmul {{.*}} columns 3 {{.*}} -> tensor<3x3xf32>

// -----

// What is padded is rounded before, where it is made.
func.func @padded(%x: tensor<1x1x2x2x2xf32>, %b: tensor<1x2xf32>) -> tensor<1x1x3x2x2xf32> {
  %f = glow.constant dense<[[[[[[1.0, 2.0], [3.0, 4.0]]]]]]> : tensor<1x1x1x1x2x2xf32>
  %p = glow.pad %x low [0, 0, 1, 0, 0] {value = 0.0 : f32} : (tensor<1x1x2x2x2xf32>) -> tensor<1x1x3x2x2xf32>
  %y = glow_cpu.blocked_convolution %p, %f, %b : (tensor<1x1x3x2x2xf32>, tensor<1x1x1x1x2x2xf32>, tensor<1x2xf32>) -> tensor<1x1x3x2x2xf32>
  func.return %y : tensor<1x1x3x2x2xf32>
}

// CHECK-LABEL: @padded(
// CHECK:       [[X:%.*]] = glow.cast %x : (tensor<1x1x2x2x2xf32>) -> tensor<1x1x2x2x2xbf16>
// CHECK-NEXT:  [[P:%.*]] = glow.pad [[X]] {{.*}} -> tensor<1x1x3x2x2xbf16>
// CHECK-NEXT:  glow_cpu.dot_convolution [[P]], %f, %b : (tensor<1x1x3x2x2xbf16>, tensor<1x1x1x1x1x2x2xbf16>, tensor<1x2xf32>) -> tensor<1x1x3x2x2xf32>

// -----

// Odd numbers of terms and plain images stay as they are.
func.func @unchanged(%x: tensor<3x2xf32>, %v: tensor<3x1xf32>, %i: tensor<1x1x2x2xf32>, %b: tensor<1x2xf32>) {
  %u = glow.constant dense<[[[1.0, 2.0]]]> : tensor<1x1x2xf32>
  %z = glow_cpu.packed_matmul %v, %u columns 2 : (tensor<3x1xf32>, tensor<1x1x2xf32>) -> tensor<3x2xf32>
  %f = glow.constant dense<[[[[[1.0, 2.0]]]]]> : tensor<1x1x1x1x2xf32>
  %c = glow_cpu.blocked_convolution %i, %f, %b : (tensor<1x1x2x2xf32>, tensor<1x1x1x1x2xf32>, tensor<1x2xf32>) -> tensor<1x1x2x2x2xf32>
  func.return
}

// CHECK-LABEL: @unchanged(
// CHECK-NOT:   bf16
// CHECK:       func.return
