// RUN: glow-opt %s --merge-branches --dce --split-input-file | filecheck %s

// Three elements cover one; the scaled input and the input itself are part of the filter as well.
func.func @fires(%x: tensor<1x2x5xf32>, %z: tensor<1x2x5xf32>) -> tensor<1x2x5xf32> {
  %f = glow.constant dense<0.5> : tensor<2x2x3xf32>
  %g = glow.constant dense<[[[2.0], [3.0]], [[4.0], [5.0]]]> : tensor<2x2x1xf32>
  %b = glow.constant dense<[1.0, 2.0]> : tensor<2xf32>
  %s = glow.splat value 10.0 : tensor<1x2x5xf32>
  %large = glow.convolution %x, %f, %b pads [1, 1] : (tensor<1x2x5xf32>, tensor<2x2x3xf32>, tensor<2xf32>) -> tensor<1x2x5xf32>
  %small = glow.convolution %x, %g, %b : (tensor<1x2x5xf32>, tensor<2x2x1xf32>, tensor<2xf32>) -> tensor<1x2x5xf32>
  %scaled = glow.mul %x, %s : (tensor<1x2x5xf32>, tensor<1x2x5xf32>) -> tensor<1x2x5xf32>
  %0 = glow.add %scaled, %large : (tensor<1x2x5xf32>, tensor<1x2x5xf32>) -> tensor<1x2x5xf32>
  %1 = glow.add %small, %x : (tensor<1x2x5xf32>, tensor<1x2x5xf32>) -> tensor<1x2x5xf32>
  %2 = glow.add %z, %1 : (tensor<1x2x5xf32>, tensor<1x2x5xf32>) -> tensor<1x2x5xf32>
  %y = glow.add %0, %2 : (tensor<1x2x5xf32>, tensor<1x2x5xf32>) -> tensor<1x2x5xf32>
  func.return %y : tensor<1x2x5xf32>
}

// CHECK-LABEL: @fires(
// CHECK-NEXT:  [[F:%\S+]] = glow.constant dense<{{\[\[\[}}5.000000e-01, 1.350000e+01, 5.000000e-01], [5.000000e-01, 3.500000e+00, 5.000000e-01]],
// CHECK-SAME:  {{\[\[}}5.000000e-01, 4.500000e+00, 5.000000e-01], [5.000000e-01, 1.650000e+01, 5.000000e-01]]]> : tensor<2x2x3xf32>
// CHECK-NEXT:  [[B:%\S+]] = glow.constant dense<[2.000000e+00, 4.000000e+00]> : tensor<2xf32>
// CHECK-NEXT:  [[Y:%\S+]] = glow.convolution %x, [[F]], [[B]] pads [1, 1]
// CHECK-NEXT:  [[S:%\S+]] = glow.add [[Y]], %z
// CHECK-NEXT:  func.return [[S]]

// -----

// Windows that begin at other places, and one with a dilation that a single element fits into. Each of four groups has filters of its own.
func.func @windows(%x: tensor<1x8x9x7xf32>) -> tensor<1x4x5x5xf32> {
  %f = glow.constant dense<0.5> : tensor<4x2x3x3xf32>
  %g = glow.constant dense<2.0> : tensor<4x2x1x3xf32>
  %b = glow.constant dense<1.0> : tensor<4xf32>
  %0 = glow.convolution %x, %f, %b strides [2, 1] dilations [2, 1] pads [2, 0, 2, 0] group 4 : (tensor<1x8x9x7xf32>, tensor<4x2x3x3xf32>, tensor<4xf32>) -> tensor<1x4x5x5xf32>
  %1 = glow.convolution %x, %g, %b strides [2, 1] group 4 : (tensor<1x8x9x7xf32>, tensor<4x2x1x3xf32>, tensor<4xf32>) -> tensor<1x4x5x5xf32>
  %y = glow.add %0, %1 : (tensor<1x4x5x5xf32>, tensor<1x4x5x5xf32>) -> tensor<1x4x5x5xf32>
  func.return %y : tensor<1x4x5x5xf32>
}

// CHECK-LABEL: @windows(
// CHECK:       glow.convolution %x, {{.*}} strides [2, 1] pads [2, 0, 2, 0] dilations [2, 1] group 4 : (tensor<1x8x9x7xf32>, tensor<4x2x3x3xf32>
// CHECK-NEXT:  func.return

// -----

// Not windows that would be more work together, or other strides.
func.func @other_windows(%x: tensor<1x2x9x9xf32>) -> (tensor<1x2x9x9xf32>, tensor<1x2x5x9xf32>) {
  %f = glow.constant dense<0.5> : tensor<2x2x7x1xf32>
  %g = glow.constant dense<2.0> : tensor<2x2x1x7xf32>
  %h = glow.constant dense<3.0> : tensor<2x2x5x1xf32>
  %b = glow.constant dense<1.0> : tensor<2xf32>
  %0 = glow.convolution %x, %f, %b pads [3, 0, 3, 0] : (tensor<1x2x9x9xf32>, tensor<2x2x7x1xf32>, tensor<2xf32>) -> tensor<1x2x9x9xf32>
  %1 = glow.convolution %x, %g, %b pads [0, 3, 0, 3] : (tensor<1x2x9x9xf32>, tensor<2x2x1x7xf32>, tensor<2xf32>) -> tensor<1x2x9x9xf32>
  %2 = glow.add %0, %1 : (tensor<1x2x9x9xf32>, tensor<1x2x9x9xf32>) -> tensor<1x2x9x9xf32>
  %3 = glow.convolution %x, %h, %b strides [2, 1] pads [2, 0, 2, 0] : (tensor<1x2x9x9xf32>, tensor<2x2x5x1xf32>, tensor<2xf32>) -> tensor<1x2x5x9xf32>
  %4 = glow.convolution %x, %h, %b : (tensor<1x2x9x9xf32>, tensor<2x2x5x1xf32>, tensor<2xf32>) -> tensor<1x2x5x9xf32>
  %5 = glow.add %3, %4 : (tensor<1x2x5x9xf32>, tensor<1x2x5x9xf32>) -> tensor<1x2x5x9xf32>
  func.return %2, %5 : tensor<1x2x9x9xf32>, tensor<1x2x5x9xf32>
}

// CHECK-LABEL: @other_windows(
// CHECK-COUNT-4: glow.convolution
// CHECK-NOT:     glow.convolution

// -----

// Not results that have other users, weights that are not known, narrow floats, another input, or one convolution and its input.
func.func @others(%x: tensor<1x2x9xf32>, %z: tensor<1x2x9xf32>, %w: tensor<2x2x1xf32>, %n: tensor<1x2x9xf16>) -> (tensor<1x2x9xf32>, tensor<1x2x9xf32>, tensor<1x2x9xf32>, tensor<1x2x9xf16>, tensor<1x2x9xf32>, tensor<1x2x9xf32>) {
  %f = glow.constant dense<0.5> : tensor<2x2x1xf32>
  %g = glow.constant dense<2.0> : tensor<2x2x1xf32>
  %h = glow.constant dense<3.0> : tensor<2x2x1xf16>
  %b = glow.constant dense<1.0> : tensor<2xf32>
  %c = glow.constant dense<1.0> : tensor<2xf16>
  %0 = glow.convolution %x, %f, %b : (tensor<1x2x9xf32>, tensor<2x2x1xf32>, tensor<2xf32>) -> tensor<1x2x9xf32>
  %1 = glow.convolution %x, %g, %b : (tensor<1x2x9xf32>, tensor<2x2x1xf32>, tensor<2xf32>) -> tensor<1x2x9xf32>
  %2 = glow.add %0, %1 : (tensor<1x2x9xf32>, tensor<1x2x9xf32>) -> tensor<1x2x9xf32>
  %3 = glow.convolution %x, %w, %b : (tensor<1x2x9xf32>, tensor<2x2x1xf32>, tensor<2xf32>) -> tensor<1x2x9xf32>
  %4 = glow.convolution %z, %g, %b : (tensor<1x2x9xf32>, tensor<2x2x1xf32>, tensor<2xf32>) -> tensor<1x2x9xf32>
  %5 = glow.add %3, %4 : (tensor<1x2x9xf32>, tensor<1x2x9xf32>) -> tensor<1x2x9xf32>
  %6 = glow.convolution %n, %h, %c : (tensor<1x2x9xf16>, tensor<2x2x1xf16>, tensor<2xf16>) -> tensor<1x2x9xf16>
  %7 = glow.add %6, %6 : (tensor<1x2x9xf16>, tensor<1x2x9xf16>) -> tensor<1x2x9xf16>
  %8 = glow.convolution %z, %f, %b : (tensor<1x2x9xf32>, tensor<2x2x1xf32>, tensor<2xf32>) -> tensor<1x2x9xf32>
  %9 = glow.add %8, %z : (tensor<1x2x9xf32>, tensor<1x2x9xf32>) -> tensor<1x2x9xf32>
  func.return %0, %2, %5, %7, %9, %1 : tensor<1x2x9xf32>, tensor<1x2x9xf32>, tensor<1x2x9xf32>, tensor<1x2x9xf16>, tensor<1x2x9xf32>, tensor<1x2x9xf32>
}

// CHECK-LABEL: @others(
// CHECK-COUNT-6: glow.convolution
// CHECK-NOT:     glow.convolution
