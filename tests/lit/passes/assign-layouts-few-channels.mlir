// RUN: glow-opt %s --assign-layouts="block=16" --dce --split-input-file | filecheck %s

// A convolution to three channels reads the blocks of the one before, and has a plain result.
// CHECK-LABEL: @few_channels
// CHECK: %[[X:.*]] = glow_cpu.blocked_convolution {{.*}} -> tensor<1x2x6x6x16xf32>
// CHECK-NEXT: %[[W:.*]] = glow.constant {{.*}} : tensor<3x2x3x3x16xf32>
// CHECK-NEXT: %[[P:.*]] = glow.pad %[[X]] low [0, 0, 1, 1, 0] high [0, 0, 1, 1, 0] value 0.0 {{.*}} -> tensor<1x2x8x8x16xf32>
// CHECK-NEXT: %[[Y:.*]] = glow_cpu.lane_sum_convolution %[[P]], %[[W]], %{{.*}} : {{.*}} -> tensor<1x3x6x6xf32>
// CHECK-NEXT: func.return %[[Y]]
func.func @few_channels(%x: tensor<1x3x6x6xf32>) -> tensor<1x3x6x6xf32> {
  %v = glow.constant dense<0.5> : tensor<32x3x1x1xf32>
  %a = glow.constant dense<0.25> : tensor<32xf32>
  %w = glow.constant dense<0.125> : tensor<3x32x3x3xf32>
  %b = glow.constant dense<[1.0, 2.0, 3.0]> : tensor<3xf32>
  %c = glow.convolution %x, %v, %a : (tensor<1x3x6x6xf32>, tensor<32x3x1x1xf32>, tensor<32xf32>) -> tensor<1x32x6x6xf32>
  %y = glow.convolution %c, %w, %b pads [1, 1, 1, 1] : (tensor<1x32x6x6xf32>, tensor<3x32x3x3xf32>, tensor<3xf32>) -> tensor<1x3x6x6xf32>
  func.return %y : tensor<1x3x6x6xf32>
}

// -----

// Of a window of one element, sums of lanes for four channels cost more than unpacking a block.
// CHECK-LABEL: @few_terms
// CHECK: glow_cpu.unpack_channels
// CHECK: glow.convolution
func.func @few_terms(%x: tensor<1x3x60x60xf32>) -> tensor<1x4x60x60xf32> {
  %v = glow.constant dense<0.5> : tensor<16x3x1x1xf32>
  %a = glow.constant dense<0.25> : tensor<16xf32>
  %w = glow.constant dense<0.125> : tensor<4x16x1x1xf32>
  %b = glow.constant dense<[1.0, 2.0, 3.0, 4.0]> : tensor<4xf32>
  %c = glow.convolution %x, %v, %a : (tensor<1x3x60x60xf32>, tensor<16x3x1x1xf32>, tensor<16xf32>) -> tensor<1x16x60x60xf32>
  %y = glow.convolution %c, %w, %b : (tensor<1x16x60x60xf32>, tensor<4x16x1x1xf32>, tensor<4xf32>) -> tensor<1x4x60x60xf32>
  func.return %y : tensor<1x4x60x60xf32>
}

// -----

// Eight channels fill half of a block, which Winograd's algorithm makes faster than vectors of input channels.
// CHECK-LABEL: @half_block
// CHECK: glow_cpu.blocked_convolution
// CHECK: glow_cpu.blocked_convolution {{.*}} -> tensor<1x1x60x60x16xf32>
// CHECK: glow_cpu.unpack_channels {{.*}} channels 8
func.func @half_block(%x: tensor<1x3x60x60xf32>) -> tensor<1x8x60x60xf32> {
  %v = glow.constant dense<0.5> : tensor<64x3x1x1xf32>
  %a = glow.constant dense<0.25> : tensor<64xf32>
  %w = glow.constant dense<0.125> : tensor<8x64x3x3xf32>
  %b = glow.splat value 1.5 : tensor<8xf32>
  %c = glow.convolution %x, %v, %a : (tensor<1x3x60x60xf32>, tensor<64x3x1x1xf32>, tensor<64xf32>) -> tensor<1x64x60x60xf32>
  %y = glow.convolution %c, %w, %b pads [1, 1, 1, 1] : (tensor<1x64x60x60xf32>, tensor<8x64x3x3xf32>, tensor<8xf32>) -> tensor<1x8x60x60xf32>
  func.return %y : tensor<1x8x60x60xf32>
}

// -----

// A plain image is not packed for a few channels.
// CHECK-LABEL: @plain
// CHECK-NOT: glow_cpu
// CHECK: glow.convolution %x
func.func @plain(%x: tensor<1x16x6x6xf32>) -> tensor<1x1x6x6xf32> {
  %w = glow.constant dense<0.125> : tensor<1x16x3x3xf32>
  %b = glow.constant dense<1.0> : tensor<1xf32>
  %y = glow.convolution %x, %w, %b pads [1, 1, 1, 1] : (tensor<1x16x6x6xf32>, tensor<1x16x3x3xf32>, tensor<1xf32>) -> tensor<1x1x6x6xf32>
  func.return %y : tensor<1x1x6x6xf32>
}
