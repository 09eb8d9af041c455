// RUN: glow-opt %s --set-machine="l2-bytes=1500" --tile-batch="images=2" --split-input-file | filecheck %s

// Each thread's half of the images is larger than its cache, so that images come in pairs.
func.func @large(%x: tensor<4x4x4x8xf32>) -> tensor<4x4x4x8xf32> {
  %r = glow.relu %x : (tensor<4x4x4x8xf32>) -> tensor<4x4x4x8xf32>
  %y = glow.exp %r : (tensor<4x4x4x8xf32>) -> tensor<4x4x4x8xf32>
  func.return %y : tensor<4x4x4x8xf32>
}

// CHECK-LABEL: @large(
// CHECK:       glow.exp %{{.*}} : (tensor<2x4x4x8xf32>) -> tensor<2x4x4x8xf32>
// CHECK:       glow.exp %{{.*}} : (tensor<2x4x4x8xf32>) -> tensor<2x4x4x8xf32>

// -----

// All images are larger than the cache of one thread, but not than those of both.
func.func @halves(%x: tensor<4x4x4x4xf32>) -> tensor<4x4x4x4xf32> {
  %r = glow.relu %x : (tensor<4x4x4x4xf32>) -> tensor<4x4x4x4xf32>
  %y = glow.exp %r : (tensor<4x4x4x4xf32>) -> tensor<4x4x4x4xf32>
  func.return %y : tensor<4x4x4x4xf32>
}

// CHECK-LABEL: @halves(
// CHECK-NEXT:  %r = glow.relu %x : (tensor<4x4x4x4xf32>) -> tensor<4x4x4x4xf32>
// CHECK-NEXT:  %y = glow.exp %r : (tensor<4x4x4x4xf32>) -> tensor<4x4x4x4xf32>
