// RUN: glow-opt %s --assign-layouts="block=4" --cse --dce --split-input-file | filecheck %s

// The image stays plain. Padding becomes a border; what follows works in blocks.

func.func @chain(%x: tensor<1x3x4x4xf32>) -> tensor<1x8xf32> {
  %w = glow.constant dense<0.5> : tensor<8x3x3x3xf32>
  %b = glow.constant dense<1.0> : tensor<8xf32>
  %v = glow.constant dense<0.5> : tensor<8x8x3x3xf32>
  %0 = glow.convolution %x, %w, %b pads [1, 1, 1, 1] : (tensor<1x3x4x4xf32>, tensor<8x3x3x3xf32>, tensor<8xf32>) -> tensor<1x8x4x4xf32>
  %1 = glow.relu %0 : (tensor<1x8x4x4xf32>) -> tensor<1x8x4x4xf32>
  %2 = glow.convolution %1, %v, %b strides [2, 2] pads [1, 1, 1, 1] : (tensor<1x8x4x4xf32>, tensor<8x8x3x3xf32>, tensor<8xf32>) -> tensor<1x8x2x2xf32>
  %3 = glow.max_pool %2 kernel [2, 2] strides [2, 2] : (tensor<1x8x2x2xf32>) -> tensor<1x8x1x1xf32>
  %4 = glow.reshape %3 : (tensor<1x8x1x1xf32>) -> tensor<1x8xf32>
  func.return %4 : tensor<1x8xf32>
}

// CHECK:      func.func @chain(%x: tensor<1x3x4x4xf32>) -> tensor<1x8xf32> {
// CHECK-NEXT: %0 = glow.pad %x low [0, 0, 1, 1] high [0, 0, 1, 1] value 0.0 : (tensor<1x3x4x4xf32>) -> tensor<1x3x6x6xf32>
// CHECK-NEXT: %1 = glow.constant #glow.blob<"memory:w#{{[0-9]+}}", 0, 864> : tensor<2x3x3x3x4xf32>
// CHECK-NEXT: %2 = glow.constant dense<1.000000e+00> : tensor<2x4xf32>
// CHECK-NEXT: %3 = glow_cpu.blocked_convolution %0, %1, %2 : (tensor<1x3x6x6xf32>, tensor<2x3x3x3x4xf32>, tensor<2x4xf32>) -> tensor<1x2x4x4x4xf32>
// CHECK-NEXT: %4 = glow.relu %3 : (tensor<1x2x4x4x4xf32>) -> tensor<1x2x4x4x4xf32>
// CHECK-NEXT: %5 = glow.pad %4 low [0, 0, 1, 1, 0] high [0, 0, 1, 1, 0] value 0.0 : (tensor<1x2x4x4x4xf32>) -> tensor<1x2x6x6x4xf32>
// CHECK-NEXT: %6 = glow.constant #glow.blob<"memory:v#{{[0-9]+}}", 0, 2304> : tensor<2x2x3x3x4x4xf32>
// CHECK-NEXT: %7 = glow_cpu.blocked_convolution %5, %6, %2 strides [2, 2] : (tensor<1x2x6x6x4xf32>, tensor<2x2x3x3x4x4xf32>, tensor<2x4xf32>) -> tensor<1x2x2x2x4xf32>
// CHECK-NEXT: %8 = glow_cpu.blocked_max_pool %7 strides [2, 2] kernel [2, 2] : (tensor<1x2x2x2x4xf32>) -> tensor<1x2x1x1x4xf32>
// CHECK-NEXT: %9 = glow.reshape %8 : (tensor<1x2x1x1x4xf32>) -> tensor<1x8x1x1xf32>
// CHECK-NEXT: %10 = glow.reshape %9 : (tensor<1x8x1x1xf32>) -> tensor<1x8xf32>
// CHECK-NEXT: func.return %10 : tensor<1x8xf32>
// CHECK-NEXT: }

// -----

// Filters that are not constant, groups that cut blocks: these convolutions keep their layout.

func.func @plain(%x: tensor<1x12x4x4xf32>, %f: tensor<8x12x1x1xf32>) -> (tensor<1x8x4x4xf32>, tensor<1x12x4x4xf32>) {
  %b = glow.splat value 0.0 : tensor<8xf32>
  %c = glow.splat value 0.0 : tensor<12xf32>
  %g = glow.constant dense<0.5> : tensor<12x6x1x1xf32>
  %0 = glow.convolution %x, %f, %b : (tensor<1x12x4x4xf32>, tensor<8x12x1x1xf32>, tensor<8xf32>) -> tensor<1x8x4x4xf32>
  %1 = glow.convolution %x, %g, %c group 2 : (tensor<1x12x4x4xf32>, tensor<12x6x1x1xf32>, tensor<12xf32>) -> tensor<1x12x4x4xf32>
  func.return %0, %1 : tensor<1x8x4x4xf32>, tensor<1x12x4x4xf32>
}

// CHECK:      func.func @plain(%x: tensor<1x12x4x4xf32>, %f: tensor<8x12x1x1xf32>) -> (tensor<1x8x4x4xf32>, tensor<1x12x4x4xf32>) {
// CHECK-NEXT: %b = glow.splat value 0.0 : tensor<8xf32>
// CHECK-NEXT: %c = glow.splat value 0.0 : tensor<12xf32>
// CHECK-NEXT: %g = glow.constant dense<5.000000e-01> : tensor<12x6x1x1xf32>
// CHECK-NEXT: %0 = glow.convolution %x, %f, %b : (tensor<1x12x4x4xf32>, tensor<8x12x1x1xf32>, tensor<8xf32>) -> tensor<1x8x4x4xf32>
// CHECK-NEXT: %1 = glow.convolution %x, %g, %c group 2 : (tensor<1x12x4x4xf32>, tensor<12x6x1x1xf32>, tensor<12xf32>) -> tensor<1x12x4x4xf32>
// CHECK-NEXT: func.return %0, %1 : tensor<1x8x4x4xf32>, tensor<1x12x4x4xf32>
// CHECK-NEXT: }

// -----

// Groups of whole blocks are one convolution.

func.func @groups(%x: tensor<1x8x4x4xf32>) -> tensor<1x16x4x4xf32> {
  %b = glow.splat value 0.0 : tensor<16xf32>
  %w = glow.constant dense<0.5> : tensor<16x4x1x1xf32>
  %0 = glow.convolution %x, %w, %b group 2 : (tensor<1x8x4x4xf32>, tensor<16x4x1x1xf32>, tensor<16xf32>) -> tensor<1x16x4x4xf32>
  func.return %0 : tensor<1x16x4x4xf32>
}

// CHECK:      func.func @groups(
// CHECK:      glow_cpu.blocked_convolution %{{.*}} group 2 : (tensor<1x2x4x4x4xf32>, tensor<4x1x1x1x4x4xf32>, tensor<4x4xf32>) -> tensor<1x4x4x4x4xf32>

// -----

// Convolutions with several paddings share one border. Whole blocks are joined as they are.

func.func @branches(%x: tensor<1x8x5x5xf32>) -> tensor<1x8x5x5xf32> {
  %b = glow.splat value 0.0 : tensor<4xf32>
  %w = glow.constant dense<0.5> : tensor<4x8x3x3xf32>
  %v = glow.constant dense<0.5> : tensor<4x8x5x5xf32>
  %0 = glow.convolution %x, %w, %b pads [1, 1, 1, 1] : (tensor<1x8x5x5xf32>, tensor<4x8x3x3xf32>, tensor<4xf32>) -> tensor<1x4x5x5xf32>
  %1 = glow.convolution %x, %v, %b pads [2, 2, 2, 2] : (tensor<1x8x5x5xf32>, tensor<4x8x5x5xf32>, tensor<4xf32>) -> tensor<1x4x5x5xf32>
  %2 = glow.concat %0, %1 axis 1 : (tensor<1x4x5x5xf32>, tensor<1x4x5x5xf32>) -> tensor<1x8x5x5xf32>
  func.return %2 : tensor<1x8x5x5xf32>
}

// CHECK:      func.func @branches(%x: tensor<1x8x5x5xf32>) -> tensor<1x8x5x5xf32> {
// CHECK-NEXT: %0 = glow_cpu.pack_channels %x block 4 : (tensor<1x8x5x5xf32>) -> tensor<1x2x5x5x4xf32>
// CHECK-NEXT: %1 = glow.pad %0 low [0, 0, 2, 2, 0] high [0, 0, 2, 2, 0] value 0.0 : (tensor<1x2x5x5x4xf32>) -> tensor<1x2x9x9x4xf32>
// CHECK-NEXT: %2 = glow.slice %1 starts [0, 0, 1, 1, 0] sizes [1, 2, 7, 7, 4] : (tensor<1x2x9x9x4xf32>) -> tensor<1x2x7x7x4xf32>
// CHECK-NEXT: %3 = glow.constant #glow.blob<"memory:w#{{[0-9]+}}", 0, 1152> : tensor<1x2x3x3x4x4xf32>
// CHECK-NEXT: %4 = glow.splat value 0.0 : tensor<1x4xf32>
// CHECK-NEXT: %5 = glow_cpu.blocked_convolution %2, %3, %4 : (tensor<1x2x7x7x4xf32>, tensor<1x2x3x3x4x4xf32>, tensor<1x4xf32>) -> tensor<1x1x5x5x4xf32>
// CHECK-NEXT: %6 = glow.constant #glow.blob<"memory:v#{{[0-9]+}}", 0, 3200> : tensor<1x2x5x5x4x4xf32>
// CHECK-NEXT: %7 = glow_cpu.blocked_convolution %1, %6, %4 : (tensor<1x2x9x9x4xf32>, tensor<1x2x5x5x4x4xf32>, tensor<1x4xf32>) -> tensor<1x1x5x5x4xf32>
// CHECK-NEXT: %8 = glow.concat %5, %7 axis 1 : (tensor<1x1x5x5x4xf32>, tensor<1x1x5x5x4xf32>) -> tensor<1x2x5x5x4xf32>
// CHECK-NEXT: %9 = glow_cpu.unpack_channels %8 channels 8 : (tensor<1x2x5x5x4xf32>) -> tensor<1x8x5x5xf32>
// CHECK-NEXT: func.return %9 : tensor<1x8x5x5xf32>
// CHECK-NEXT: }

// -----

// What is packed again is not unpacked.

func.func @cancel(%x: tensor<1x2x5x5x4xf32>) -> (tensor<1x2x5x5x4xf32>, tensor<1x7x5x5xf32>) {
  %0 = glow_cpu.unpack_channels %x channels 7 : (tensor<1x2x5x5x4xf32>) -> tensor<1x7x5x5xf32>
  %1 = glow_cpu.pack_channels %0 block 4 : (tensor<1x7x5x5xf32>) -> tensor<1x2x5x5x4xf32>
  func.return %1, %0 : tensor<1x2x5x5x4xf32>, tensor<1x7x5x5xf32>
}

// CHECK:      func.func @cancel(%x: tensor<1x2x5x5x4xf32>) -> (tensor<1x2x5x5x4xf32>, tensor<1x7x5x5xf32>) {
// CHECK-NEXT: %0 = glow_cpu.unpack_channels %x channels 7 : (tensor<1x2x5x5x4xf32>) -> tensor<1x7x5x5xf32>
// CHECK-NEXT: func.return %x, %0 : tensor<1x2x5x5x4xf32>, tensor<1x7x5x5xf32>
// CHECK-NEXT: }

// -----

// Reshapes of spatial dimensions keep the blocks, so that results of two convolutions interleave.

func.func @interleave(%x: tensor<1x2x5xf32>) -> tensor<1x4x10xf32> {
  %w = glow.constant dense<1.0> : tensor<4x2x1xf32>
  %b = glow.splat value 0.0 : tensor<4xf32>
  %y = glow.convolution %x, %w, %b : (tensor<1x2x5xf32>, tensor<4x2x1xf32>, tensor<4xf32>) -> tensor<1x4x5xf32>
  %z = glow.reshape %y : (tensor<1x4x5xf32>) -> tensor<1x4x5x1xf32>
  %c = glow.concat %z, %z axis 3 : (tensor<1x4x5x1xf32>, tensor<1x4x5x1xf32>) -> tensor<1x4x5x2xf32>
  %r = glow.reshape %c : (tensor<1x4x5x2xf32>) -> tensor<1x4x10xf32>
  func.return %r : tensor<1x4x10xf32>
}

// CHECK:      func.func @interleave(%x: tensor<1x2x5xf32>) -> tensor<1x4x10xf32> {
// CHECK-NEXT: %y = glow.constant dense<1.000000e+00> : tensor<1x2x1x4xf32>
// CHECK-NEXT: %y_1 = glow.splat value 0.0 : tensor<1x4xf32>
// CHECK-NEXT: %y_2 = glow_cpu.blocked_convolution %x, %y, %y_1 : (tensor<1x2x5xf32>, tensor<1x2x1x4xf32>, tensor<1x4xf32>) -> tensor<1x1x5x4xf32>
// CHECK-NEXT: %z = glow.reshape %y_2 : (tensor<1x1x5x4xf32>) -> tensor<1x1x5x1x4xf32>
// CHECK-NEXT: %c = glow.concat %z, %z axis 3 : (tensor<1x1x5x1x4xf32>, tensor<1x1x5x1x4xf32>) -> tensor<1x1x5x2x4xf32>
// CHECK-NEXT: %r = glow.reshape %c : (tensor<1x1x5x2x4xf32>) -> tensor<1x1x10x4xf32>
// CHECK-NEXT: %0 = glow_cpu.unpack_channels %r channels 4 : (tensor<1x1x10x4xf32>) -> tensor<1x4x10xf32>
// CHECK-NEXT: func.return %0 : tensor<1x4x10xf32>
// CHECK-NEXT: }

// -----

// Reshapes that change the channels do not.

func.func @channels(%x: tensor<1x2x5xf32>) -> tensor<1x2x2x5xf32> {
  %w = glow.constant dense<1.0> : tensor<4x2x1xf32>
  %b = glow.splat value 0.0 : tensor<4xf32>
  %y = glow.convolution %x, %w, %b : (tensor<1x2x5xf32>, tensor<4x2x1xf32>, tensor<4xf32>) -> tensor<1x4x5xf32>
  %z = glow.reshape %y : (tensor<1x4x5xf32>) -> tensor<1x2x2x5xf32>
  func.return %z : tensor<1x2x2x5xf32>
}

// CHECK:      func.func @channels(%x: tensor<1x2x5xf32>) -> tensor<1x2x2x5xf32> {
// CHECK-NEXT: %y = glow.constant dense<1.000000e+00> : tensor<1x2x1x4xf32>
// CHECK-NEXT: %y_1 = glow.splat value 0.0 : tensor<1x4xf32>
// CHECK-NEXT: %y_2 = glow_cpu.blocked_convolution %x, %y, %y_1 : (tensor<1x2x5xf32>, tensor<1x2x1x4xf32>, tensor<1x4xf32>) -> tensor<1x1x5x4xf32>
// CHECK-NEXT: %z = glow_cpu.unpack_channels %y_2 channels 4 : (tensor<1x1x5x4xf32>) -> tensor<1x4x5xf32>
// CHECK-NEXT: %z_1 = glow.reshape %z : (tensor<1x4x5xf32>) -> tensor<1x2x2x5xf32>
// CHECK-NEXT: func.return %z_1 : tensor<1x2x2x5xf32>
// CHECK-NEXT: }

// -----

// A depthwise convolution packs its input for a large window, but not for a small one, and not if
// its channels do not fill a block.
func.func @large(%x: tensor<1x4x5x5xf32>, %y: tensor<1x4x5x5xf32>, %z: tensor<1x3x5x5xf32>) -> (tensor<1x4x2x2xf32>, tensor<1x4x3x3xf32>, tensor<1x3x2x2xf32>) {
  %f = glow.constant dense<5.000000e-01> : tensor<4x1x4x4xf32>
  %g = glow.constant dense<5.000000e-01> : tensor<4x1x3x3xf32>
  %h = glow.constant dense<5.000000e-01> : tensor<3x1x4x4xf32>
  %b = glow.splat value 0.0 : tensor<4xf32>
  %c = glow.splat value 0.0 : tensor<3xf32>
  %0 = glow.convolution %x, %f, %b group 4 : (tensor<1x4x5x5xf32>, tensor<4x1x4x4xf32>, tensor<4xf32>) -> tensor<1x4x2x2xf32>
  %1 = glow.convolution %y, %g, %b group 4 : (tensor<1x4x5x5xf32>, tensor<4x1x3x3xf32>, tensor<4xf32>) -> tensor<1x4x3x3xf32>
  %2 = glow.convolution %z, %h, %c group 3 : (tensor<1x3x5x5xf32>, tensor<3x1x4x4xf32>, tensor<3xf32>) -> tensor<1x3x2x2xf32>
  func.return %0, %1, %2 : tensor<1x4x2x2xf32>, tensor<1x4x3x3xf32>, tensor<1x3x2x2xf32>
}

// CHECK:      func.func @large(
// CHECK:      [[P:%.*]] = glow_cpu.pack_channels %x block 4 : (tensor<1x4x5x5xf32>) -> tensor<1x1x5x5x4xf32>
// CHECK:      [[C:%.*]] = glow_cpu.blocked_depthwise_convolution [[P]], {{.*}} -> tensor<1x1x2x2x4xf32>
// CHECK-NEXT: {{.*}} = glow.convolution %y, %g, %b group 4 : {{.*}} -> tensor<1x4x3x3xf32>
// CHECK-NEXT: {{.*}} = glow.convolution %z, %h, %c group 3 : {{.*}} -> tensor<1x3x2x2xf32>
// CHECK-NEXT: {{.*}} = glow_cpu.unpack_channels [[C]] channels 4 : {{.*}} -> tensor<1x4x2x2xf32>

// -----

// Blocks of an input are about as large as each other if that spares lanes of no channel.

func.func @few(%x: tensor<1x5x4x4xf32>) -> tensor<1x8x4x4xf32> {
  %w = glow.constant dense<0.5> : tensor<8x5x1x1xf32>
  %b = glow.splat value 0.0 : tensor<8xf32>
  %0 = glow.convolution %x, %w, %b : (tensor<1x5x4x4xf32>, tensor<8x5x1x1xf32>, tensor<8xf32>) -> tensor<1x8x4x4xf32>
  func.return %0 : tensor<1x8x4x4xf32>
}

// CHECK-LABEL: @few(
// CHECK-NEXT: %0 = glow_cpu.pack_channels %x block 3 : (tensor<1x5x4x4xf32>) -> tensor<1x2x4x4x3xf32>
// CHECK:      glow_cpu.blocked_convolution %0, %{{.*}}, %{{.*}} : (tensor<1x2x4x4x3xf32>, tensor<2x2x1x1x3x4xf32>, tensor<2x4xf32>) -> tensor<1x2x4x4x4xf32>

// -----

// It spares none of 7 channels. What others read as well has the blocks of all.

func.func @as_others(%x: tensor<1x7x4x4xf32>, %y: tensor<1x5x4x4xf32>) -> (tensor<1x8x4x4xf32>, tensor<1x8x4x4xf32>, tensor<1x5x4x4xf32>) {
  %w = glow.constant dense<0.5> : tensor<8x7x1x1xf32>
  %v = glow.constant dense<0.5> : tensor<8x5x1x1xf32>
  %b = glow.splat value 0.0 : tensor<8xf32>
  %0 = glow.convolution %x, %w, %b : (tensor<1x7x4x4xf32>, tensor<8x7x1x1xf32>, tensor<8xf32>) -> tensor<1x8x4x4xf32>
  %1 = glow.convolution %y, %v, %b : (tensor<1x5x4x4xf32>, tensor<8x5x1x1xf32>, tensor<8xf32>) -> tensor<1x8x4x4xf32>
  %2 = glow.relu %y : (tensor<1x5x4x4xf32>) -> tensor<1x5x4x4xf32>
  func.return %0, %1, %2 : tensor<1x8x4x4xf32>, tensor<1x8x4x4xf32>, tensor<1x5x4x4xf32>
}

// CHECK-LABEL: @as_others(
// CHECK:      glow_cpu.pack_channels %x block 4
// CHECK:      glow_cpu.pack_channels %y block 4

// -----

// Pools with large windows work in blocks, if there are enough channels.

func.func @pools(%x: tensor<1x8x9x9xf32>, %y: tensor<1x5x9x9xf32>) -> (tensor<1x8x7x7xf32>, tensor<1x8x8x8xf32>, tensor<1x5x7x7xf32>) {
  %0 = glow.max_pool %x kernel [3, 3] : (tensor<1x8x9x9xf32>) -> tensor<1x8x7x7xf32>
  %1 = glow.avg_pool %x kernel [2, 2] : (tensor<1x8x9x9xf32>) -> tensor<1x8x8x8xf32>
  %2 = glow.avg_pool %y kernel [3, 3] : (tensor<1x5x9x9xf32>) -> tensor<1x5x7x7xf32>
  func.return %0, %1, %2 : tensor<1x8x7x7xf32>, tensor<1x8x8x8xf32>, tensor<1x5x7x7xf32>
}

// CHECK-LABEL: @pools(
// CHECK:      glow_cpu.pack_channels %x block 4
// CHECK:      glow_cpu.blocked_max_pool
// CHECK:      glow.avg_pool %y kernel [3, 3]

// -----

// A quantization with a scale for each channel reads a plain tensor.
func.func @scale_of_each_channel(%x: tensor<1x2x4x4xf32>) -> tensor<1x2x4x4x!quant.uniform<i8:f32:1, {0.5, 0.25}>> {
  %w = glow.constant dense<[[[[1.0]], [[2.0]]], [[[3.0]], [[4.0]]]]> : tensor<2x2x1x1xf32>
  %b = glow.constant dense<[0.5, -0.5]> : tensor<2xf32>
  %c = glow.convolution %x, %w, %b : (tensor<1x2x4x4xf32>, tensor<2x2x1x1xf32>, tensor<2xf32>) -> tensor<1x2x4x4xf32>
  %q = glow.quantize %c : (tensor<1x2x4x4xf32>) -> tensor<1x2x4x4x!quant.uniform<i8:f32:1, {0.5, 0.25}>>
  func.return %q : tensor<1x2x4x4x!quant.uniform<i8:f32:1, {0.5, 0.25}>>
}

// CHECK-LABEL: @scale_of_each_channel(
// CHECK:       glow.quantize {{.*}} : (tensor<1x2x4x4xf32>) -> tensor<1x2x4x4x!quant.uniform<i8:f32:1, {0.5, 0.25}>>
