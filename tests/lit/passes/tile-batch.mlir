// RUN: glow-opt %s --set-machine="l2-bytes=1500" --tile-batch="images=1" --split-input-file | filecheck %s

// Two images, of which each fits into the cache and both do not: one after the other.
func.func @images(%x: tensor<2x4x4x8xf32>) -> tensor<2x4x4x8xf32> {
  %one = glow.splat value 1.0 : tensor<2x4x4x8xf32>
  %r = glow.relu %x : (tensor<2x4x4x8xf32>) -> tensor<2x4x4x8xf32>
  %y = glow.add %r, %one : (tensor<2x4x4x8xf32>, tensor<2x4x4x8xf32>) -> tensor<2x4x4x8xf32>
  func.return %y : tensor<2x4x4x8xf32>
}

// CHECK-LABEL: @images(
// CHECK-NEXT:  %one = glow.splat value 1.0 : tensor<1x4x4x8xf32>
// CHECK-NEXT:  %x_1 = glow.slice %x sizes [1, 4, 4, 8] : (tensor<2x4x4x8xf32>) -> tensor<1x4x4x8xf32>
// CHECK-NEXT:  %r = glow.relu %x_1 : (tensor<1x4x4x8xf32>) -> tensor<1x4x4x8xf32>
// CHECK-NEXT:  %y = glow.add %r, %one : (tensor<1x4x4x8xf32>, tensor<1x4x4x8xf32>) -> tensor<1x4x4x8xf32>
// CHECK-NEXT:  %x_2 = glow.slice %x starts [1, 0, 0, 0] sizes [1, 4, 4, 8] : (tensor<2x4x4x8xf32>) -> tensor<1x4x4x8xf32>
// CHECK-NEXT:  %r_1 = glow.relu %x_2 : (tensor<1x4x4x8xf32>) -> tensor<1x4x4x8xf32>
// CHECK-NEXT:  %y_1 = glow.add %r_1, %one : (tensor<1x4x4x8xf32>, tensor<1x4x4x8xf32>) -> tensor<1x4x4x8xf32>
// CHECK-NEXT:  %y_2 = glow.concat %y, %y_1 axis 0 : (tensor<1x4x4x8xf32>, tensor<1x4x4x8xf32>) -> tensor<2x4x4x8xf32>
// CHECK-NEXT:  func.return %y_2 : tensor<2x4x4x8xf32>

// -----

// What fits into the cache for both images stays as it is.
func.func @small(%x: tensor<2x4x4x4xf32>) -> tensor<2x4x4x4xf32> {
  %y = glow.relu %x : (tensor<2x4x4x4xf32>) -> tensor<2x4x4x4xf32>
  func.return %y : tensor<2x4x4x4xf32>
}

// CHECK-LABEL: @small(
// CHECK-NEXT:  %y = glow.relu %x : (tensor<2x4x4x4xf32>) -> tensor<2x4x4x4xf32>
// CHECK-NEXT:  func.return %y : tensor<2x4x4x4xf32>

// -----

// So does what mixes the images, and all after it.
func.func @mixed(%x: tensor<2x4x4x8xf32>) -> tensor<2x4x4x8xf32> {
  %e = glow.exp %x : (tensor<2x4x4x8xf32>) -> tensor<2x4x4x8xf32>
  %y = glow.relu %e : (tensor<2x4x4x8xf32>) -> tensor<2x4x4x8xf32>
  %z = glow.softmax %y axis 0 : (tensor<2x4x4x8xf32>) -> tensor<2x4x4x8xf32>
  %r = glow.relu %z : (tensor<2x4x4x8xf32>) -> tensor<2x4x4x8xf32>
  func.return %r : tensor<2x4x4x8xf32>
}

// CHECK-LABEL: @mixed(
// CHECK-NEXT:  %x_1 = glow.slice %x sizes [1, 4, 4, 8] : (tensor<2x4x4x8xf32>) -> tensor<1x4x4x8xf32>
// CHECK-NEXT:  %e = glow.exp %x_1 : (tensor<1x4x4x8xf32>) -> tensor<1x4x4x8xf32>
// CHECK-NEXT:  %y = glow.relu %e : (tensor<1x4x4x8xf32>) -> tensor<1x4x4x8xf32>
// CHECK-NEXT:  %x_2 = glow.slice %x starts [1, 0, 0, 0] sizes [1, 4, 4, 8] : (tensor<2x4x4x8xf32>) -> tensor<1x4x4x8xf32>
// CHECK-NEXT:  %e_1 = glow.exp %x_2 : (tensor<1x4x4x8xf32>) -> tensor<1x4x4x8xf32>
// CHECK-NEXT:  %y_1 = glow.relu %e_1 : (tensor<1x4x4x8xf32>) -> tensor<1x4x4x8xf32>
// CHECK-NEXT:  %y_2 = glow.concat %y, %y_1 axis 0 : (tensor<1x4x4x8xf32>, tensor<1x4x4x8xf32>) -> tensor<2x4x4x8xf32>
// CHECK-NEXT:  %z = glow.softmax %y_2 axis 0 : (tensor<2x4x4x8xf32>) -> tensor<2x4x4x8xf32>
// CHECK-NEXT:  %r = glow.relu %z : (tensor<2x4x4x8xf32>) -> tensor<2x4x4x8xf32>
// CHECK-NEXT:  func.return %r : tensor<2x4x4x8xf32>

// -----

// Where weights are larger than images, it is better to read them once.
func.func @weights(%x: tensor<2x8x5x5xf32>) -> tensor<2x32x1x1xf32> {
  %w = glow.splat value 1.0 : tensor<32x8x5x5xf32>
  %b = glow.splat value 0.0 : tensor<32xf32>
  %r = glow.relu %x : (tensor<2x8x5x5xf32>) -> tensor<2x8x5x5xf32>
  %y = glow.convolution %r, %w, %b : (tensor<2x8x5x5xf32>, tensor<32x8x5x5xf32>, tensor<32xf32>) -> tensor<2x32x1x1xf32>
  func.return %y : tensor<2x32x1x1xf32>
}

// CHECK-LABEL: @weights(
// CHECK-NEXT:  %w = glow.splat value 1.0 : tensor<32x8x5x5xf32>
// CHECK-NEXT:  %b = glow.splat value 0.0 : tensor<32xf32>
// CHECK-NEXT:  %r = glow.relu %x : (tensor<2x8x5x5xf32>) -> tensor<2x8x5x5xf32>
// CHECK-NEXT:  %y = glow.convolution %r, %w, %b : (tensor<2x8x5x5xf32>, tensor<32x8x5x5xf32>, tensor<32xf32>) -> tensor<2x32x1x1xf32>
// CHECK-NEXT:  func.return %y : tensor<2x32x1x1xf32>

// -----

// Arguments without the same number of images are no batch.
func.func @different(%x: tensor<2x4x4x8xf32>, %y: tensor<1x4x4x8xf32>) -> tensor<2x4x4x8xf32> {
  %r = glow.relu %x : (tensor<2x4x4x8xf32>) -> tensor<2x4x4x8xf32>
  func.return %r : tensor<2x4x4x8xf32>
}

// CHECK-LABEL: @different(
// CHECK-NEXT:  %r = glow.relu %x : (tensor<2x4x4x8xf32>) -> tensor<2x4x4x8xf32>
// CHECK-NEXT:  func.return %r : tensor<2x4x4x8xf32>

// -----

// A formula says whether it computes each image by itself.
func.func @formula(%x: tensor<2x4x4x8xf32>) -> tensor<2x4x4x8xf32> {
  %r = glow.generic %x formula "y[n, c, i, j] = x[n, c, j % 4, i] for i < 4, j < 8" : (tensor<2x4x4x8xf32>) -> tensor<2x4x4x8xf32>
  %y = glow.relu %r : (tensor<2x4x4x8xf32>) -> tensor<2x4x4x8xf32>
  func.return %y : tensor<2x4x4x8xf32>
}

// CHECK-LABEL: @formula(
// CHECK:       glow.generic %{{.*}} : (tensor<1x4x4x8xf32>) -> tensor<1x4x4x8xf32>
// CHECK:       glow.concat

// -----

func.func @mixed(%x: tensor<2x4x4x8xf32>) -> tensor<2x4x4x8xf32> {
  %r = glow.generic %x formula "y[n, c, i, j] = x[1 - n, c, i, j] for n < 2" : (tensor<2x4x4x8xf32>) -> tensor<2x4x4x8xf32>
  %y = glow.relu %r : (tensor<2x4x4x8xf32>) -> tensor<2x4x4x8xf32>
  func.return %y : tensor<2x4x4x8xf32>
}

// CHECK-LABEL: @mixed(
// CHECK-NEXT:  %r = glow.generic %x formula "y[n, c, i, j] = x[1 - n, c, i, j] for n < 2" : (tensor<2x4x4x8xf32>) -> tensor<2x4x4x8xf32>
// CHECK-NEXT:  %y = glow.relu
