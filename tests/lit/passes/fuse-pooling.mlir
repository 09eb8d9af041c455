// RUN: glow-opt %s --fuse-pooling --split-input-file | filecheck %s

// Windows that lie in tiles; the rectifier moves behind the pooling, and what is left over is dropped.
func.func @fires(%x: tensor<1x1x11x10x8xf32>, %u: tensor<36x2x8x8xf32>, %b: tensor<2x8xf32>) -> tensor<1x2x4x4x8xf32> {
  %0 = glow_cpu.winograd_convolution %x, %u, %b tile 4 : (tensor<1x1x11x10x8xf32>, tensor<36x2x8x8xf32>, tensor<2x8xf32>) -> tensor<1x2x9x8x8xf32>
  %1 = glow.relu %0 : (tensor<1x2x9x8x8xf32>) -> tensor<1x2x9x8x8xf32>
  %y = glow_cpu.blocked_max_pool %1 strides [2, 2] kernel [2, 2] : (tensor<1x2x9x8x8xf32>) -> tensor<1x2x4x4x8xf32>
  func.return %y : tensor<1x2x4x4x8xf32>
}

// CHECK-LABEL: @fires(
// CHECK-NEXT:  [[P:%\S+]] = glow_cpu.winograd_convolution %x, %u, %b tile 4 pool 2 : (tensor<1x1x11x10x8xf32>, tensor<36x2x8x8xf32>, tensor<2x8xf32>) -> tensor<1x2x4x4x8xf32>
// CHECK-NEXT:  [[Y:%\S+]] = glow.relu [[P]] : (tensor<1x2x4x4x8xf32>) -> tensor<1x2x4x4x8xf32>
// CHECK-NEXT:  func.return [[Y]]

// -----

// Nothing, or a clip, between them.
func.func @plain(%x: tensor<1x1x6x6x8xf32>, %u: tensor<16x1x8x8xf32>, %b: tensor<1x8xf32>) -> (tensor<1x1x2x2x8xf32>, tensor<1x1x2x2x8xf32>) {
  %0 = glow_cpu.winograd_convolution %x, %u, %b tile 2 : (tensor<1x1x6x6x8xf32>, tensor<16x1x8x8xf32>, tensor<1x8xf32>) -> tensor<1x1x4x4x8xf32>
  %y = glow_cpu.blocked_max_pool %0 strides [2, 2] kernel [2, 2] : (tensor<1x1x4x4x8xf32>) -> tensor<1x1x2x2x8xf32>
  %1 = glow_cpu.winograd_convolution %x, %u, %b tile 2 : (tensor<1x1x6x6x8xf32>, tensor<16x1x8x8xf32>, tensor<1x8xf32>) -> tensor<1x1x4x4x8xf32>
  %2 = glow.clip %1 min 0.0 max 6.0 : (tensor<1x1x4x4x8xf32>) -> tensor<1x1x4x4x8xf32>
  %z = glow_cpu.blocked_max_pool %2 strides [2, 2] kernel [2, 2] : (tensor<1x1x4x4x8xf32>) -> tensor<1x1x2x2x8xf32>
  func.return %y, %z : tensor<1x1x2x2x8xf32>, tensor<1x1x2x2x8xf32>
}

// CHECK-LABEL: @plain(
// CHECK-NEXT:  glow_cpu.winograd_convolution {{.*}} tile 2 pool 2
// CHECK-NEXT:  glow_cpu.winograd_convolution {{.*}} tile 2 pool 2
// CHECK-NEXT:  glow.clip
// CHECK-NEXT:  func.return

// -----

// Not if windows overlap, do not lie in tiles, are padded, or the result is used as it is; nor after what changes the order of numbers.
func.func @stays(%x: tensor<1x1x14x14x8xf32>, %u: tensor<36x1x8x8xf32>, %b: tensor<1x8xf32>) {
  %0 = glow_cpu.winograd_convolution %x, %u, %b tile 4 : (tensor<1x1x14x14x8xf32>, tensor<36x1x8x8xf32>, tensor<1x8xf32>) -> tensor<1x1x12x12x8xf32>
  %p0 = glow_cpu.blocked_max_pool %0 strides [3, 3] kernel [3, 3] : (tensor<1x1x12x12x8xf32>) -> tensor<1x1x4x4x8xf32>
  %1 = glow_cpu.winograd_convolution %x, %u, %b tile 4 : (tensor<1x1x14x14x8xf32>, tensor<36x1x8x8xf32>, tensor<1x8xf32>) -> tensor<1x1x12x12x8xf32>
  %p1 = glow_cpu.blocked_max_pool %1 kernel [2, 2] : (tensor<1x1x12x12x8xf32>) -> tensor<1x1x11x11x8xf32>
  %2 = glow_cpu.winograd_convolution %x, %u, %b tile 4 : (tensor<1x1x14x14x8xf32>, tensor<36x1x8x8xf32>, tensor<1x8xf32>) -> tensor<1x1x12x12x8xf32>
  %p2 = glow_cpu.blocked_max_pool %2 strides [2, 2] pads [1, 0, 1, 0] kernel [2, 2] : (tensor<1x1x12x12x8xf32>) -> tensor<1x1x7x6x8xf32>
  %3 = glow_cpu.winograd_convolution %x, %u, %b tile 4 : (tensor<1x1x14x14x8xf32>, tensor<36x1x8x8xf32>, tensor<1x8xf32>) -> tensor<1x1x12x12x8xf32>
  %p3 = glow_cpu.blocked_max_pool %3 strides [2, 2] kernel [2, 2] : (tensor<1x1x12x12x8xf32>) -> tensor<1x1x6x6x8xf32>
  %4 = glow_cpu.winograd_convolution %x, %u, %b tile 4 : (tensor<1x1x14x14x8xf32>, tensor<36x1x8x8xf32>, tensor<1x8xf32>) -> tensor<1x1x12x12x8xf32>
  %n4 = glow.neg %4 : (tensor<1x1x12x12x8xf32>) -> tensor<1x1x12x12x8xf32>
  %p4 = glow_cpu.blocked_max_pool %n4 strides [2, 2] kernel [2, 2] : (tensor<1x1x12x12x8xf32>) -> tensor<1x1x6x6x8xf32>
  "test.op"(%p0, %p1, %p2, %3, %p3, %p4) : (tensor<1x1x4x4x8xf32>, tensor<1x1x11x11x8xf32>, tensor<1x1x7x6x8xf32>, tensor<1x1x12x12x8xf32>, tensor<1x1x6x6x8xf32>, tensor<1x1x6x6x8xf32>) -> ()
  func.return
}

// CHECK-LABEL: @stays(
// CHECK-NOT:   pool 2
// CHECK:       func.return

// -----

// Nor of slices, which have no tiles.
func.func @slices(%x: tensor<1x1x6x10x10x8xf32>, %u: tensor<36x1x24x8xf32>, %b: tensor<1x8xf32>) -> tensor<1x1x2x4x4x8xf32> {
  %0 = glow_cpu.winograd_convolution %x, %u, %b tile 4 : (tensor<1x1x6x10x10x8xf32>, tensor<36x1x24x8xf32>, tensor<1x8xf32>) -> tensor<1x1x4x8x8x8xf32>
  %y = glow_cpu.blocked_max_pool %0 strides [2, 2, 2] kernel [2, 2, 2] : (tensor<1x1x4x8x8x8xf32>) -> tensor<1x1x2x4x4x8xf32>
  func.return %y : tensor<1x1x2x4x4x8xf32>
}

// CHECK-LABEL: @slices(
// CHECK-NEXT:  glow_cpu.winograd_convolution
// CHECK-NEXT:  glow_cpu.blocked_max_pool

// -----

// Nor along dimensions without tiles, or of dilated filters. Of those with strides, it does.
func.func @windows(%x: tensor<1x1x14x12x8xf32>, %u: tensor<6x1x8x8xf32>, %v: tensor<36x1x8x8xf32>, %w: tensor<81x1x8x8xf32>, %b: tensor<1x8xf32>)
    -> (tensor<1x1x6x6x8xf32>, tensor<1x1x5x4x8xf32>, tensor<1x1x3x2x8xf32>) {
  %0 = glow_cpu.winograd_convolution %x, %u, %b tile 4 kernel [3, 1] : (tensor<1x1x14x12x8xf32>, tensor<6x1x8x8xf32>, tensor<1x8xf32>) -> tensor<1x1x12x12x8xf32>
  %p = glow_cpu.blocked_max_pool %0 strides [2, 2] kernel [2, 2] : (tensor<1x1x12x12x8xf32>) -> tensor<1x1x6x6x8xf32>
  %1 = glow_cpu.winograd_convolution %x, %v, %b tile 4 dilations [2, 2] : (tensor<1x1x14x12x8xf32>, tensor<36x1x8x8xf32>, tensor<1x8xf32>) -> tensor<1x1x10x8x8xf32>
  %q = glow_cpu.blocked_max_pool %1 strides [2, 2] kernel [2, 2] : (tensor<1x1x10x8x8xf32>) -> tensor<1x1x5x4x8xf32>
  %2 = glow_cpu.winograd_convolution %x, %w, %b tile 4 strides [2, 2] : (tensor<1x1x14x12x8xf32>, tensor<81x1x8x8xf32>, tensor<1x8xf32>) -> tensor<1x1x6x5x8xf32>
  %r = glow_cpu.blocked_max_pool %2 strides [2, 2] kernel [2, 2] : (tensor<1x1x6x5x8xf32>) -> tensor<1x1x3x2x8xf32>
  func.return %p, %q, %r : tensor<1x1x6x6x8xf32>, tensor<1x1x5x4x8xf32>, tensor<1x1x3x2x8xf32>
}

// CHECK-LABEL: @windows(
// CHECK-NEXT:  glow_cpu.winograd_convolution
// CHECK-NEXT:  glow_cpu.blocked_max_pool
// CHECK-NEXT:  glow_cpu.winograd_convolution
// CHECK-NEXT:  glow_cpu.blocked_max_pool
// CHECK-NEXT:  glow_cpu.winograd_convolution %x, %w, %b tile 4 pool 2 strides [2, 2]
// CHECK-NEXT:  func.return
