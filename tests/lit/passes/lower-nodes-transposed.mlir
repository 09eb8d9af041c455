// RUN: glow-opt %s --lower-nodes="backend=none" --fold-constants --dce --split-input-file | filecheck %s

// With stride 1: the convolution by the filter backwards, with inputs and outputs exchanged.
func.func @dense(%x: tensor<1x1x5xf32>) -> tensor<1x2x7xf32> {
  %w = glow.constant dense<[[[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]]> : tensor<1x2x3xf32>
  %b = glow.constant dense<[0.5, 1.5]> : tensor<2xf32>
  %y = glow.transposed_convolution %x, %w, %b : (tensor<1x1x5xf32>, tensor<1x2x3xf32>, tensor<2xf32>) -> tensor<1x2x7xf32>
  func.return %y : tensor<1x2x7xf32>
}

// CHECK-LABEL: @dense(
// CHECK-NEXT:  %b = glow.constant dense<[5.000000e-01, 1.500000e+00]> : tensor<2xf32>
// CHECK-NEXT:  %y = glow.constant dense<{{\[\[\[}}3.000000e+00, 2.000000e+00, 1.000000e+00]], [[6.000000e+00, 5.000000e+00, 4.000000e+00]]]> : tensor<2x1x3xf32>
// CHECK-NEXT:  %y_1 = glow.convolution %x, %y, %b pads [2, 2] : (tensor<1x1x5xf32>, tensor<2x1x3xf32>, tensor<2xf32>) -> tensor<1x2x7xf32>
// CHECK-NEXT:  func.return %y_1 : tensor<1x2x7xf32>

// -----

// With stride 2: the even results by one part of the filter, the odd ones by the other; one phase
// has a result too many.
func.func @phases(%x: tensor<1x1x5xf32>) -> tensor<1x1x11xf32> {
  %w = glow.constant dense<[[[1.0, 2.0, 3.0]]]> : tensor<1x1x3xf32>
  %b = glow.constant dense<[0.5]> : tensor<1xf32>
  %y = glow.transposed_convolution %x, %w, %b strides [2] : (tensor<1x1x5xf32>, tensor<1x1x3xf32>, tensor<1xf32>) -> tensor<1x1x11xf32>
  func.return %y : tensor<1x1x11xf32>
}

// CHECK-LABEL: @phases(
// CHECK-NEXT:  %b = glow.constant dense<5.000000e-01> : tensor<1xf32>
// CHECK-NEXT:  %y = glow.constant dense<{{\[\[\[}}3.000000e+00, 1.000000e+00]]]> : tensor<1x1x2xf32>
// CHECK-NEXT:  %y_1 = glow.convolution %x, %y, %b pads [1, 1] : (tensor<1x1x5xf32>, tensor<1x1x2xf32>, tensor<1xf32>) -> tensor<1x1x6xf32>
// CHECK-NEXT:  %y_2 = glow.splat value 2.0 : tensor<1x1x1xf32>
// CHECK-NEXT:  %y_3 = glow.convolution %x, %y_2, %b pads [0, 1] : (tensor<1x1x5xf32>, tensor<1x1x1xf32>, tensor<1xf32>) -> tensor<1x1x6xf32>
// CHECK-NEXT:  %y_4 = glow.reshape %y_1 : (tensor<1x1x6xf32>) -> tensor<1x1x6x1xf32>
// CHECK-NEXT:  %y_5 = glow.reshape %y_3 : (tensor<1x1x6xf32>) -> tensor<1x1x6x1xf32>
// CHECK-NEXT:  %y_6 = glow.concat %y_4, %y_5 axis 3 : (tensor<1x1x6x1xf32>, tensor<1x1x6x1xf32>) -> tensor<1x1x6x2xf32>
// CHECK-NEXT:  %y_7 = glow.reshape %y_6 : (tensor<1x1x6x2xf32>) -> tensor<1x1x12xf32>
// CHECK-NEXT:  %y_8 = glow.slice %y_7 sizes [1, 1, 11] : (tensor<1x1x12xf32>) -> tensor<1x1x11xf32>
// CHECK-NEXT:  func.return %y_8 : tensor<1x1x11xf32>

// -----

// Filters of the same size for both phases, and few output channels: both phases at once.
func.func @together(%x: tensor<1x1x5xf32>) -> tensor<1x1x10xf32> {
  %w = glow.constant dense<[[[1.0, 2.0, 3.0, 4.0]]]> : tensor<1x1x4xf32>
  %b = glow.constant dense<[0.5]> : tensor<1xf32>
  %y = glow.transposed_convolution %x, %w, %b strides [2] pads [1, 1] : (tensor<1x1x5xf32>, tensor<1x1x4xf32>, tensor<1xf32>) -> tensor<1x1x10xf32>
  func.return %y : tensor<1x1x10xf32>
}

// CHECK-LABEL: @together(
// CHECK-NEXT:  %y = glow.constant dense<{{\[\[\[}}3.000000e+00, 1.000000e+00]], [[4.000000e+00, 2.000000e+00]]]> : tensor<2x1x2xf32>
// CHECK-NEXT:  %y_1 = glow.splat value 0.5 : tensor<2xf32>
// CHECK-NEXT:  %y_2 = glow.convolution %x, %y, %y_1 pads [1, 1] : (tensor<1x1x5xf32>, tensor<2x1x2xf32>, tensor<2xf32>) -> tensor<1x2x6xf32>
// CHECK-NEXT:  %y_3 = glow.reshape %y_2 : (tensor<1x2x6xf32>) -> tensor<1x1x2x1x6xf32>
// CHECK-NEXT:  %y_4 = glow.transpose %y_3 permutation [0, 1, 3, 4, 2] : (tensor<1x1x2x1x6xf32>) -> tensor<1x1x1x6x2xf32>
// CHECK-NEXT:  %y_5 = glow.reshape %y_4 : (tensor<1x1x1x6x2xf32>) -> tensor<1x1x12xf32>
// CHECK-NEXT:  %y_6 = glow.slice %y_5 starts [0, 0, 1] sizes [1, 1, 10] : (tensor<1x1x12xf32>) -> tensor<1x1x10xf32>
// CHECK-NEXT:  func.return %y_6 : tensor<1x1x10xf32>

// -----

// A phase that no filter element reaches is the bias.
func.func @gaps(%x: tensor<1x1x3xf32>) -> tensor<1x1x6xf32> {
  %w = glow.constant dense<[[[2.0]]]> : tensor<1x1x1xf32>
  %b = glow.constant dense<[0.5]> : tensor<1xf32>
  %y = glow.transposed_convolution %x, %w, %b strides [2] output_padding [1] : (tensor<1x1x3xf32>, tensor<1x1x1xf32>, tensor<1xf32>) -> tensor<1x1x6xf32>
  func.return %y : tensor<1x1x6xf32>
}

// CHECK-LABEL: @gaps(
// CHECK-NEXT:  %b = glow.constant dense<5.000000e-01> : tensor<1xf32>
// CHECK-NEXT:  %y = glow.splat value 2.0 : tensor<1x1x1xf32>
// CHECK-NEXT:  %y_1 = glow.convolution %x, %y, %b : (tensor<1x1x3xf32>, tensor<1x1x1xf32>, tensor<1xf32>) -> tensor<1x1x3xf32>
// CHECK-NEXT:  %y_2 = glow.reshape %y_1 : (tensor<1x1x3xf32>) -> tensor<1x1x3x1xf32>
// CHECK-NEXT:  %y_3 = glow.splat value 0.5 : tensor<1x1x3x1xf32>
// CHECK-NEXT:  %y_4 = glow.concat %y_2, %y_3 axis 3 : (tensor<1x1x3x1xf32>, tensor<1x1x3x1xf32>) -> tensor<1x1x3x2xf32>
// CHECK-NEXT:  %y_5 = glow.reshape %y_4 : (tensor<1x1x3x2xf32>) -> tensor<1x1x6xf32>
// CHECK-NEXT:  func.return %y_5 : tensor<1x1x6xf32>

// -----

// A filter that only the run knows: both phases at once, also in groups.
func.func @run_time(%x: tensor<1x2x5xf32>, %w: tensor<2x1x2xf32>, %b: tensor<2xf32>) -> tensor<1x2x10xf32> {
  %y = glow.transposed_convolution %x, %w, %b strides [2] group 2 : (tensor<1x2x5xf32>, tensor<2x1x2xf32>, tensor<2xf32>) -> tensor<1x2x10xf32>
  func.return %y : tensor<1x2x10xf32>
}

// CHECK-LABEL: @run_time(
// CHECK:       %y_7 = glow.convolution %x, %y_3, %y_6 group 2 : (tensor<1x2x5xf32>, tensor<4x1x1xf32>, tensor<4xf32>) -> tensor<1x4x5xf32>
// CHECK-NEXT:  %y_8 = glow.reshape %y_7 : (tensor<1x4x5xf32>) -> tensor<1x2x2x1x5xf32>
// CHECK-NEXT:  %y_9 = glow.transpose %y_8 permutation [0, 1, 3, 4, 2] : (tensor<1x2x2x1x5xf32>) -> tensor<1x2x1x5x2xf32>
// CHECK-NEXT:  %y_10 = glow.reshape %y_9 : (tensor<1x2x1x5x2xf32>) -> tensor<1x2x10xf32>
// CHECK-NEXT:  func.return %y_10 : tensor<1x2x10xf32>
