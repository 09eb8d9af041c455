// RUN: glow-opt %s | glow-opt | filecheck %s
// RUN: glow-opt %s --print-op-generic | glow-opt | filecheck %s
// RUN: glow-opt %s --print-op-generic | filecheck %s --check-prefix=GENERIC

// Pooling.

func.func @pooling(%x: tensor<1x8x5x5xf32>, %i: tensor<1x2x7xi8>) {
  %max = glow.max_pool %x kernel [2, 2] strides [2, 2] ceil_mode true : (tensor<1x8x5x5xf32>) -> tensor<1x8x3x3xf32>
  %integers = glow.max_pool %i kernel [3] pads [1, 0] dilations [2] : (tensor<1x2x7xi8>) -> tensor<1x2x4xi8>
  %average = glow.avg_pool %x count_include_pad true kernel [3, 3] strides [2, 2] pads [1, 1, 1, 1] : (tensor<1x8x5x5xf32>) -> tensor<1x8x3x3xf32>
  %norm = glow.lp_pool %x p 3 kernel [3, 3] strides [2, 2] : (tensor<1x8x5x5xf32>) -> tensor<1x8x2x2xf32>
  %places = glow.max_pool_places %x, %max column_major true kernel [2, 2] strides [2, 2] ceil_mode true : (tensor<1x8x5x5xf32>, tensor<1x8x3x3xf32>) -> tensor<1x8x3x3xi64>
  func.return
}

// CHECK:      builtin.module {
// CHECK-NEXT:   func.func @pooling(%x: tensor<1x8x5x5xf32>, %i: tensor<1x2x7xi8>) {
// CHECK-NEXT:     %max = glow.max_pool %x kernel [2, 2] strides [2, 2] ceil_mode true : (tensor<1x8x5x5xf32>) -> tensor<1x8x3x3xf32>
// CHECK-NEXT:     %integers = glow.max_pool %i kernel [3] pads [1, 0] dilations [2] : (tensor<1x2x7xi8>) -> tensor<1x2x4xi8>
// CHECK-NEXT:     %average = glow.avg_pool %x count_include_pad true kernel [3, 3] strides [2, 2] pads [1, 1, 1, 1] : (tensor<1x8x5x5xf32>) -> tensor<1x8x3x3xf32>
// CHECK-NEXT:     %norm = glow.lp_pool %x p 3 kernel [3, 3] strides [2, 2] : (tensor<1x8x5x5xf32>) -> tensor<1x8x2x2xf32>
// CHECK-NEXT:     %places = glow.max_pool_places %x, %max column_major true kernel [2, 2] strides [2, 2] ceil_mode true : (tensor<1x8x5x5xf32>, tensor<1x8x3x3xf32>) -> tensor<1x8x3x3xi64>
// CHECK-NEXT:     func.return
// CHECK-NEXT:   }
// CHECK-NEXT: }

// GENERIC: %max = "glow.max_pool"(%x) <{kernel = array<i64: 2, 2>, strides = array<i64: 2, 2>, ceil_mode = true, pads = array<i64: 0, 0, 0, 0>,
// GENERIC-SAME: dilations = array<i64: 1, 1>}> : (tensor<1x8x5x5xf32>) -> tensor<1x8x3x3xf32>
// GENERIC: %average = "glow.avg_pool"(%x) <{count_include_pad = true, kernel = array<i64: 3, 3>, strides = array<i64: 2, 2>, pads = array<i64: 1, 1, 1, 1>,
// GENERIC-SAME: dilations = array<i64: 1, 1>, ceil_mode = false}> : (tensor<1x8x5x5xf32>) -> tensor<1x8x3x3xf32>
