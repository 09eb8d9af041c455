// RUN: glow-opt %s | glow-opt | filecheck %s
// RUN: glow-opt %s --print-op-generic | glow-opt | filecheck %s
// RUN: glow-opt %s --print-op-generic | filecheck %s --check-prefix=GENERIC

// Blocked channel layouts.

func.func @blocked(%x: tensor<1x24x9x9xf32>, %w: tensor<3x2x3x3x16x16xf32>, %b: tensor<3x16xf32>, %image: tensor<1x3x9x9xf32>,
    %iw: tensor<2x3x1x1x16xf32>, %ib: tensor<2x16xf32>, %dw: tensor<3x3x3x16xf32>, %gw: tensor<3x1x3x3x16x16xf32>,
    %nw: tensor<2x3x3x3x16xf32>, %nb: tensor<2xf32>) {
  %packed = glow_cpu.pack_channels %x block 16 : (tensor<1x24x9x9xf32>) -> tensor<1x2x9x9x16xf32>
  %conv = glow_cpu.blocked_convolution %packed, %w, %b : (tensor<1x2x9x9x16xf32>, tensor<3x2x3x3x16x16xf32>, tensor<3x16xf32>) -> tensor<1x3x7x7x16xf32>
  %plain = glow_cpu.blocked_convolution %image, %iw, %ib strides [2, 2] : (tensor<1x3x9x9xf32>, tensor<2x3x1x1x16xf32>, tensor<2x16xf32>) -> tensor<1x2x5x5x16xf32>
  %depthwise = glow_cpu.blocked_depthwise_convolution %conv, %dw, %b dilations [2, 2] : (tensor<1x3x7x7x16xf32>, tensor<3x3x3x16xf32>, tensor<3x16xf32>) -> tensor<1x3x3x3x16xf32>
  %max = glow_cpu.blocked_max_pool %conv strides [2, 2] kernel [2, 2] ceil_mode true : (tensor<1x3x7x7x16xf32>) -> tensor<1x3x4x4x16xf32>
  %average = glow_cpu.blocked_avg_pool %conv count_include_pad true strides [2, 2] pads [1, 1, 1, 1] kernel [3, 3] : (tensor<1x3x7x7x16xf32>) -> tensor<1x3x4x4x16xf32>
  %unpacked = glow_cpu.unpack_channels %max channels 40 : (tensor<1x3x4x4x16xf32>) -> tensor<1x40x4x4xf32>
  %groups = glow_cpu.blocked_convolution %conv, %gw, %b group 3 : (tensor<1x3x7x7x16xf32>, tensor<3x1x3x3x16x16xf32>, tensor<3x16xf32>) -> tensor<1x3x5x5x16xf32>
  %sums = glow_cpu.lane_sum_convolution %conv, %nw, %nb strides [1, 2] : (tensor<1x3x7x7x16xf32>, tensor<2x3x3x3x16xf32>, tensor<2xf32>) -> tensor<1x2x5x3xf32>
  func.return
}

// CHECK:      builtin.module {
// CHECK-NEXT:   func.func @blocked(%x: tensor<1x24x9x9xf32>, %w: tensor<3x2x3x3x16x16xf32>, %b: tensor<3x16xf32>, %image: tensor<1x3x9x9xf32>,
// CHECK-SAME:   %iw: tensor<2x3x1x1x16xf32>, %ib: tensor<2x16xf32>, %dw: tensor<3x3x3x16xf32>, %gw: tensor<3x1x3x3x16x16xf32>,
// CHECK-SAME:   %nw: tensor<2x3x3x3x16xf32>, %nb: tensor<2xf32>) {
// CHECK-NEXT:     %packed = glow_cpu.pack_channels %x block 16 : (tensor<1x24x9x9xf32>) -> tensor<1x2x9x9x16xf32>
// CHECK-NEXT:     %conv = glow_cpu.blocked_convolution %packed, %w, %b : (tensor<1x2x9x9x16xf32>, tensor<3x2x3x3x16x16xf32>, tensor<3x16xf32>) -> tensor<1x3x7x7x16xf32>
// CHECK-NEXT:     %plain = glow_cpu.blocked_convolution %image, %iw, %ib strides [2, 2] : (tensor<1x3x9x9xf32>, tensor<2x3x1x1x16xf32>, tensor<2x16xf32>) -> tensor<1x2x5x5x16xf32>
// CHECK-NEXT:     %depthwise = glow_cpu.blocked_depthwise_convolution %conv, %dw, %b dilations [2, 2] : (tensor<1x3x7x7x16xf32>, tensor<3x3x3x16xf32>, tensor<3x16xf32>) -> tensor<1x3x3x3x16xf32>
// CHECK-NEXT:     %max = glow_cpu.blocked_max_pool %conv strides [2, 2] kernel [2, 2] ceil_mode true : (tensor<1x3x7x7x16xf32>) -> tensor<1x3x4x4x16xf32>
// CHECK-NEXT:     %average = glow_cpu.blocked_avg_pool %conv strides [2, 2] pads [1, 1, 1, 1] kernel [3, 3] count_include_pad true : (tensor<1x3x7x7x16xf32>) -> tensor<1x3x4x4x16xf32>
// CHECK-NEXT:     %unpacked = glow_cpu.unpack_channels %max channels 40 : (tensor<1x3x4x4x16xf32>) -> tensor<1x40x4x4xf32>
// CHECK-NEXT:     %groups = glow_cpu.blocked_convolution %conv, %gw, %b group 3 : (tensor<1x3x7x7x16xf32>, tensor<3x1x3x3x16x16xf32>, tensor<3x16xf32>) -> tensor<1x3x5x5x16xf32>
// CHECK-NEXT:     %sums = glow_cpu.lane_sum_convolution %conv, %nw, %nb strides [1, 2] : (tensor<1x3x7x7x16xf32>, tensor<2x3x3x3x16xf32>, tensor<2xf32>) -> tensor<1x2x5x3xf32>
// CHECK-NEXT:     func.return
// CHECK-NEXT:   }
// CHECK-NEXT: }

// GENERIC: %packed = "glow_cpu.pack_channels"(%x) <{block = 16 : i64}> : (tensor<1x24x9x9xf32>) -> tensor<1x2x9x9x16xf32>
// GENERIC: %plain = "glow_cpu.blocked_convolution"(%image, %iw, %ib) <{strides = array<i64: 2, 2>, dilations = array<i64: 1, 1>, group = 1 : i64}>
