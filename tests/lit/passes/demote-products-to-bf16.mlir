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

// -----

// The kernel of a product of two matrices that are computed rounds both.
func.func @computed(%x: tensor<64x96xf32>, %w: tensor<80x96xf32>, %p: tensor<3x64x64xf32>, %q: tensor<3x64x64xf32>, %b: tensor<80xf32>) -> (tensor<64x80xf32>, tensor<3x64x64xf32>, tensor<64x80xf32>) {
  %y = glow.matmul %x, %w transpose_rhs true : (tensor<64x96xf32>, tensor<80x96xf32>) -> tensor<64x80xf32>
  %z = glow.matmul %p, %q transpose_lhs true : (tensor<3x64x64xf32>, tensor<3x64x64xf32>) -> tensor<3x64x64xf32>
  %f = glow.fully_connected %x, %w, %b : (tensor<64x96xf32>, tensor<80x96xf32>, tensor<80xf32>) -> tensor<64x80xf32>
  func.return %y, %z, %f : tensor<64x80xf32>, tensor<3x64x64xf32>, tensor<64x80xf32>
}

// CHECK-LABEL: @computed(
// CHECK-NEXT:  %y = glow_cpu.rounded_matmul %x, %w transpose_rhs true : (tensor<64x96xf32>, tensor<80x96xf32>) -> tensor<64x80xf32>
// CHECK-NEXT:  %z = glow_cpu.rounded_matmul %p, %q transpose_lhs true : (tensor<3x64x64xf32>, tensor<3x64x64xf32>) -> tensor<3x64x64xf32>
// CHECK-NEXT:  [[P:%\S+]] = glow_cpu.rounded_matmul %x, %w transpose_rhs true : (tensor<64x96xf32>, tensor<80x96xf32>) -> tensor<64x80xf32>
// CHECK-NEXT:  [[B:%\S+]] = glow.broadcast %b
// CHECK-NEXT:  {{.*}} = glow.add [[P]], [[B]]

// -----

// Few rows or columns do not repay copies of the operands; f64 is not rounded; convolutions whose filter is computed are left alone.
func.func @left(%v: tensor<8x96xf32>, %w: tensor<96x80xf32>, %x: tensor<96x96xf32>, %u: tensor<96x1xf32>, %d: tensor<64x64xf64>,
    %i: tensor<1x2x4x4xf32>, %f: tensor<2x2x3x3xf32>, %b: tensor<2xf32>) -> (tensor<8x80xf32>, tensor<96x1xf32>, tensor<64x64xf64>, tensor<1x2x2x2xf32>) {
  %y = glow.matmul %v, %w : (tensor<8x96xf32>, tensor<96x80xf32>) -> tensor<8x80xf32>
  %z = glow.matmul %x, %u : (tensor<96x96xf32>, tensor<96x1xf32>) -> tensor<96x1xf32>
  %e = glow.matmul %d, %d : (tensor<64x64xf64>, tensor<64x64xf64>) -> tensor<64x64xf64>
  %c = glow.convolution %i, %f, %b : (tensor<1x2x4x4xf32>, tensor<2x2x3x3xf32>, tensor<2xf32>) -> tensor<1x2x2x2xf32>
  func.return %y, %z, %e, %c : tensor<8x80xf32>, tensor<96x1xf32>, tensor<64x64xf64>, tensor<1x2x2x2xf32>
}

// CHECK-LABEL: @left(
// CHECK-NOT:   rounded_matmul
// CHECK:       func.return

// -----

// Panels that a loop of many steps reads are rounded and put in pairs before the loop; an odd number of rows has no pairs.
func.func @loop(%x: tensor<3x4xf32>, %w: tensor<2x4x2xf32>, %v: tensor<2x3x2xf32>, %u: tensor<3x3xf32>) -> (tensor<3x3xf32>, tensor<3x3xf32>) {
  %a, %b, %n = glow.loop carries(%u, %u) reads(%x, %w, %v) steps 16 : (tensor<3x3xf32>, tensor<3x3xf32>, tensor<3x4xf32>, tensor<2x4x2xf32>, tensor<2x3x2xf32>) -> (tensor<3x3xf32>, tensor<3x3xf32>, tensor<i32>) {
  ^bb0(%i: tensor<i64>, %0: tensor<3x3xf32>, %1: tensor<3x3xf32>, %2: tensor<3x4xf32>, %3: tensor<2x4x2xf32>, %4: tensor<2x3x2xf32>):
    %5 = glow_cpu.packed_matmul %2, %3 columns 3 : (tensor<3x4xf32>, tensor<2x4x2xf32>) -> tensor<3x3xf32>
    %6 = glow_cpu.packed_matmul %0, %4 columns 3 : (tensor<3x3xf32>, tensor<2x3x2xf32>) -> tensor<3x3xf32>
    glow.yield %5, %6 : tensor<3x3xf32>, tensor<3x3xf32>
  }
  func.return %a, %b : tensor<3x3xf32>, tensor<3x3xf32>
}

// CHECK-LABEL: @loop(
// CHECK-NEXT:  [[C:%\S+]] = glow.cast %w : (tensor<2x4x2xf32>) -> tensor<2x4x2xbf16>
// CHECK-NEXT:  [[S:%\S+]] = glow.reshape [[C]] : (tensor<2x4x2xbf16>) -> tensor<2x2x2x1x2xbf16>
// CHECK-NEXT:  [[T:%\S+]] = glow.transpose [[S]] permutation [0, 3, 1, 4, 2]
// CHECK-NEXT:  [[P:%\S+]] = glow.reshape [[T]] : (tensor<2x1x2x2x2xbf16>) -> tensor<2x2x2x2xbf16>
// CHECK-NEXT:  glow.loop carries(%u, %u) reads(%x, %v, [[P]])
// CHECK:         [[X:%\S+]] = glow.cast
// CHECK-NEXT:    glow_cpu.dot_matmul [[X]], %{{\S+}} columns 3
// CHECK-NEXT:    glow_cpu.packed_matmul
