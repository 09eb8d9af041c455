// RUN: glow-opt %s --split-pooling --split-input-file | filecheck %s

// A window of 5 x 3 that moves by one and two elements: first along the dimension of the larger stride, which leaves fewer elements.
func.func @fires(%x: tensor<1x2x9x8xf32>) -> tensor<1x2x9x4xf32> {
  %y = glow.max_pool %x kernel [5, 3] strides [1, 2] pads [2, 1, 2, 0] : (tensor<1x2x9x8xf32>) -> tensor<1x2x9x4xf32>
  func.return %y : tensor<1x2x9x4xf32>
}

// CHECK-LABEL: @fires(
// CHECK-NEXT:  [[A:%\S+]] = glow.max_pool %x kernel [1, 3] strides [1, 2] pads [0, 1, 0, 0] : (tensor<1x2x9x8xf32>) -> tensor<1x2x9x4xf32>
// CHECK-NEXT:  [[B:%\S+]] = glow.max_pool [[A]] kernel [5, 1] pads [2, 0, 2, 0] : (tensor<1x2x9x4xf32>) -> tensor<1x2x9x4xf32>
// CHECK-NEXT:  func.return [[B]]

// -----

// Three dimensions; what counts as an element of a mean stays the same. A stride without a window goes with the first one.
func.func @cube(%x: tensor<1x2x7x7x7xf32>, %z: tensor<1x2x9x9x9xf32>) -> (tensor<1x2x7x7x7xf32>, tensor<1x2x3x9x9xf32>) {
  %y = glow.avg_pool %x kernel [3, 3, 3] pads [1, 1, 1, 1, 1, 1] count_include_pad true : (tensor<1x2x7x7x7xf32>) -> tensor<1x2x7x7x7xf32>
  %u = glow.max_pool %z kernel [1, 5, 5] strides [4, 1, 1] pads [0, 2, 2, 0, 2, 2] : (tensor<1x2x9x9x9xf32>) -> tensor<1x2x3x9x9xf32>
  func.return %y, %u : tensor<1x2x7x7x7xf32>, tensor<1x2x3x9x9xf32>
}

// CHECK-LABEL: @cube(
// CHECK-NEXT:  glow.avg_pool %x count_include_pad true kernel [3, 1, 1] pads [1, 0, 0, 1, 0, 0]
// CHECK-NEXT:  glow.avg_pool {{.*}} count_include_pad true kernel [1, 3, 1] pads [0, 1, 0, 0, 1, 0]
// CHECK-NEXT:  glow.avg_pool {{.*}} count_include_pad true kernel [1, 1, 3] pads [0, 0, 1, 0, 0, 1]
// CHECK-NEXT:  glow.max_pool %z kernel [1, 5, 1] strides [4, 1, 1] pads [0, 2, 0, 0, 2, 0]
// CHECK-NEXT:  glow.max_pool {{.*}} kernel [1, 1, 5] pads [0, 0, 2, 0, 0, 2]

// -----

// Not windows that share few rows or none, small ones of means, one dimension, or means of narrow floats.
func.func @stays(%x: tensor<1x2x12x12xf32>, %h: tensor<1x2x12x12xf16>) -> (tensor<1x2x6x6xf32>, tensor<1x2x4x4xf32>, tensor<1x2x12x12xf32>, tensor<1x2x12x12xf32>, tensor<1x2x12x12xf16>) {
  %a = glow.max_pool %x kernel [3, 3] strides [2, 2] pads [1, 1, 0, 0] : (tensor<1x2x12x12xf32>) -> tensor<1x2x6x6xf32>
  %b = glow.max_pool %x kernel [3, 3] strides [3, 3] : (tensor<1x2x12x12xf32>) -> tensor<1x2x4x4xf32>
  %c = glow.avg_pool %x kernel [3, 3] pads [1, 1, 1, 1] : (tensor<1x2x12x12xf32>) -> tensor<1x2x12x12xf32>
  %d = glow.max_pool %x kernel [1, 5] pads [0, 2, 0, 2] : (tensor<1x2x12x12xf32>) -> tensor<1x2x12x12xf32>
  %e = glow.avg_pool %h kernel [5, 5] pads [2, 2, 2, 2] : (tensor<1x2x12x12xf16>) -> tensor<1x2x12x12xf16>
  func.return %a, %b, %c, %d, %e : tensor<1x2x6x6xf32>, tensor<1x2x4x4xf32>, tensor<1x2x12x12xf32>, tensor<1x2x12x12xf32>, tensor<1x2x12x12xf16>
}

// CHECK-LABEL: @stays(
// CHECK-NEXT:  glow.max_pool {{.*}} kernel [3, 3]
// CHECK-NEXT:  glow.max_pool {{.*}} kernel [3, 3]
// CHECK-NEXT:  glow.avg_pool {{.*}} kernel [3, 3]
// CHECK-NEXT:  glow.max_pool {{.*}} kernel [1, 5]
// CHECK-NEXT:  glow.avg_pool {{.*}} kernel [5, 5]
// CHECK-NEXT:  func.return
