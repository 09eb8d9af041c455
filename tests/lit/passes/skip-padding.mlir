// RUN: glow-opt %s --skip-padding --split-input-file | filecheck %s

// Offsets that read padding alone disappear, and the padding with them.
func.func @trimmed(%x: tensor<1x2x4xf32>, %w: tensor<3x2x3xf32>, %b: tensor<3xf32>) -> tensor<1x3x4xf32> {
  %y = glow.convolution %x, %w, %b pads [5, 5] dilations [5] : (tensor<1x2x4xf32>, tensor<3x2x3xf32>, tensor<3xf32>) -> tensor<1x3x4xf32>
  func.return %y : tensor<1x3x4xf32>
}

// CHECK-LABEL: @trimmed(
// CHECK-NEXT:  %y = glow.slice %w starts [0, 0, 1] sizes [3, 2, 1] : (tensor<3x2x3xf32>) -> tensor<3x2x1xf32>
// CHECK-NEXT:  %y_1 = glow.convolution %x, %y, %b : (tensor<1x2x4xf32>, tensor<3x2x1xf32>, tensor<3xf32>) -> tensor<1x3x4xf32>
// CHECK-NEXT:  func.return %y_1 : tensor<1x3x4xf32>

// -----

// Few windows need all offsets: bands of windows with the same offsets have convolutions of their own.
func.func @bands(%x: tensor<1x2x100xf32>, %w: tensor<64x2x3xf32>, %b: tensor<64xf32>) -> tensor<1x64x100xf32> {
  %y = glow.convolution %x, %w, %b pads [90, 90] dilations [90] : (tensor<1x2x100xf32>, tensor<64x2x3xf32>, tensor<64xf32>) -> tensor<1x64x100xf32>
  func.return %y : tensor<1x64x100xf32>
}

// CHECK-LABEL: @bands(
// CHECK-NEXT:  %[[W0:.*]] = glow.slice %w starts [0, 0, 1] sizes [64, 2, 2] : (tensor<64x2x3xf32>) -> tensor<64x2x2xf32>
// CHECK-NEXT:  %[[Y0:.*]] = glow.convolution %x, %[[W0]], %b dilations [90] : (tensor<1x2x100xf32>, tensor<64x2x2xf32>, tensor<64xf32>) -> tensor<1x64x10xf32>
// CHECK-NEXT:  %[[X1:.*]] = glow.slice %x starts [0, 0, 10] sizes [1, 2, 80] : (tensor<1x2x100xf32>) -> tensor<1x2x80xf32>
// CHECK-NEXT:  %[[W1:.*]] = glow.slice %w starts [0, 0, 1] sizes [64, 2, 1] : (tensor<64x2x3xf32>) -> tensor<64x2x1xf32>
// CHECK-NEXT:  %[[Y1:.*]] = glow.convolution %[[X1]], %[[W1]], %b : (tensor<1x2x80xf32>, tensor<64x2x1xf32>, tensor<64xf32>) -> tensor<1x64x80xf32>
// CHECK-NEXT:  %[[W2:.*]] = glow.slice %w sizes [64, 2, 2] : (tensor<64x2x3xf32>) -> tensor<64x2x2xf32>
// CHECK-NEXT:  %[[Y2:.*]] = glow.convolution %x, %[[W2]], %b dilations [90] : (tensor<1x2x100xf32>, tensor<64x2x2xf32>, tensor<64xf32>) -> tensor<1x64x10xf32>
// CHECK-NEXT:  %{{.*}} = glow.concat %[[Y0]], %[[Y1]], %[[Y2]] axis 2 : (tensor<1x64x10xf32>, tensor<1x64x80xf32>, tensor<1x64x10xf32>) -> tensor<1x64x100xf32>

// -----

// Most windows read no padding: the convolution stays whole.
func.func @whole(%x: tensor<1x2x100xf32>, %w: tensor<3x2x3xf32>, %b: tensor<3xf32>) -> tensor<1x3x100xf32> {
  %y = glow.convolution %x, %w, %b pads [1, 1] : (tensor<1x2x100xf32>, tensor<3x2x3xf32>, tensor<3xf32>) -> tensor<1x3x100xf32>
  func.return %y : tensor<1x3x100xf32>
}

// CHECK-LABEL: @whole(
// CHECK-NEXT:  %y = glow.convolution %x, %w, %b pads [1, 1] : (tensor<1x2x100xf32>, tensor<3x2x3xf32>, tensor<3xf32>) -> tensor<1x3x100xf32>

// -----

// Windows that read padding alone cannot be convolutions of a part of the image.
func.func @bias_alone(%x: tensor<1x2x1xf32>, %w: tensor<3x2x1xf32>, %b: tensor<3xf32>) -> tensor<1x3x5xf32> {
  %y = glow.convolution %x, %w, %b pads [2, 2] : (tensor<1x2x1xf32>, tensor<3x2x1xf32>, tensor<3xf32>) -> tensor<1x3x5xf32>
  func.return %y : tensor<1x3x5xf32>
}

// CHECK-LABEL: @bias_alone(
// CHECK-NEXT:  %y = glow.convolution %x, %w, %b pads [2, 2]

// -----

// With this dilation, bands have fewer products by definition than the whole image.
func.func @definition(%x: tensor<1x64x40x40xf32>, %w: tensor<64x64x3x3xf32>, %b: tensor<64xf32>) -> tensor<1x64x40x40xf32> {
  %y = glow.convolution %x, %w, %b pads [12, 12, 12, 12] dilations [12, 12] : (tensor<1x64x40x40xf32>, tensor<64x64x3x3xf32>, tensor<64xf32>) -> tensor<1x64x40x40xf32>
  func.return %y : tensor<1x64x40x40xf32>
}

// CHECK-LABEL: @definition(
// CHECK:       glow.concat

// -----

// Where the filter is known, Winograd's algorithm, which is chosen later, has fewer still for the whole image.
func.func @winograd(%x: tensor<1x64x40x40xf32>, %b: tensor<64xf32>) -> tensor<1x64x40x40xf32> {
  %w = glow.constant dense<1.0> : tensor<64x64x3x3xf32>
  %y = glow.convolution %x, %w, %b pads [12, 12, 12, 12] dilations [12, 12] : (tensor<1x64x40x40xf32>, tensor<64x64x3x3xf32>, tensor<64xf32>) -> tensor<1x64x40x40xf32>
  func.return %y : tensor<1x64x40x40xf32>
}

// CHECK-LABEL: @winograd(
// CHECK-NEXT:  %w = glow.constant
// CHECK-NEXT:  %y = glow.convolution %x, %w, %b pads [12, 12, 12, 12] dilations [12, 12]
// CHECK-NEXT:  func.return %y

// -----

// It gains nothing from slices of a filter of 3 x 3 x 3, so that there are bands of these alone.
func.func @slices(%x: tensor<1x32x2x20x20xf32>, %b: tensor<32xf32>) -> tensor<1x32x2x20x20xf32> {
  %w = glow.constant dense<1.0> : tensor<32x32x3x3x3xf32>
  %y = glow.convolution %x, %w, %b pads [1, 1, 1, 1, 1, 1] : (tensor<1x32x2x20x20xf32>, tensor<32x32x3x3x3xf32>, tensor<32xf32>) -> tensor<1x32x2x20x20xf32>
  func.return %y : tensor<1x32x2x20x20xf32>
}

// CHECK-LABEL: @slices(
// CHECK:       glow.convolution %x, {{.*}} pads [0, 1, 1, 0, 1, 1] : (tensor<1x32x2x20x20xf32>, tensor<32x32x2x3x3xf32>, tensor<32xf32>) -> tensor<1x32x1x20x20xf32>
// CHECK:       glow.convolution %x, {{.*}} pads [0, 1, 1, 0, 1, 1] : (tensor<1x32x2x20x20xf32>, tensor<32x32x2x3x3xf32>, tensor<32xf32>) -> tensor<1x32x1x20x20xf32>
// CHECK-NEXT:  glow.concat {{.*}} axis 2
