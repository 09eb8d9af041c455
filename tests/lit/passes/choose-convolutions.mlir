// RUN: glow-opt %s --choose-convolutions="algorithm=winograd" --split-input-file | filecheck %s
// RUN: glow-opt %s --choose-convolutions --split-input-file | filecheck %s --check-prefix=AUTO
// RUN: glow-opt %s --set-machine="has-bf16-tiles=true l2-bytes=2097152" --choose-convolutions --split-input-file | filecheck %s --check-prefix=TILES
// RUN: glow-opt %s --set-machine="vector-bits=256 vector-registers=16" --choose-convolutions --split-input-file | filecheck %s --check-prefix=BYTES
// RUN: glow-opt %s --set-machine="vector-bits=256 vector-registers=16 int8-dots=vpdpbusd" --choose-convolutions --split-input-file | filecheck %s --check-prefix=VNNI
// RUN: glow-opt %s --choose-convolutions="algorithm=product" --split-input-file | filecheck %s --check-prefix=PRODUCT
// RUN: glow-opt %s --choose-convolutions="rounded=true" --split-input-file | filecheck %s --check-prefix=ROUNDED
// RUN: glow-opt %s --choose-convolutions="algorithm=direct" --split-input-file | filecheck %s --check-prefix=DIRECT

// The filter [1, 2, 1] x [1, 0, -1] transformed for tiles of 2 x 2: G = [[-1, 0, 0], [.5, .5, .5], [.5, -.5, .5], [0, 0, 1]].
func.func @small(%x: tensor<1x1x4x4x1xf32>) -> tensor<1x1x2x2x1xf32> {
  %f = glow.constant dense<[[[[[[1.0]], [[2.0]], [[1.0]]], [[[0.0]], [[0.0]], [[0.0]]], [[[-1.0]], [[-2.0]], [[-1.0]]]]]]> : tensor<1x1x3x3x1x1xf32>
  %b = glow.constant dense<[[0.5]]> : tensor<1x1xf32>
  %y = glow_cpu.blocked_convolution %x, %f, %b : (tensor<1x1x4x4x1xf32>, tensor<1x1x3x3x1x1xf32>, tensor<1x1xf32>) -> tensor<1x1x2x2x1xf32>
  func.return %y : tensor<1x1x2x2x1xf32>
}

// CHECK-LABEL: @small(
// CHECK-NEXT:  %b = glow.constant
// CHECK-NEXT:  %f = glow.constant dense<[[[[1.000000e+00]]], [[[-2.000000e+00]]], [[[0.000000e+00]]], [[[-1.000000e+00]]], [[[0.000000e+00]]], [[[0.000000e+00]]],
// CHECK-SAME:  {{\[\[\[}}0.000000e+00]]], [[[0.000000e+00]]], [[[0.000000e+00]]], [[[0.000000e+00]]], [[[0.000000e+00]]], [[[0.000000e+00]]], [[[1.000000e+00]]],
// CHECK-SAME:  {{\[\[\[}}-2.000000e+00]]], [[[0.000000e+00]]], [[[-1.000000e+00]]]]> : tensor<16x1x1x1xf32>
// CHECK-NEXT:  %y = glow_cpu.winograd_convolution %x, %f, %b tile 2 : (tensor<1x1x4x4x1xf32>, tensor<16x1x1x1xf32>, tensor<1x1xf32>) -> tensor<1x1x2x2x1xf32>
// CHECK-NEXT:  func.return %y

// Transforms of so few channels cost more than they save.
// AUTO-LABEL: @small(
// AUTO:       glow_cpu.blocked_convolution
// DIRECT-LABEL: @small(
// DIRECT:       glow_cpu.blocked_convolution

// -----

func.func @large(%x: tensor<1x4x58x58x16xf32>, %b: tensor<4x16xf32>) -> tensor<1x4x56x56x16xf32> {
  %f = glow.constant #glow.blob<"filter.bin", 0, 147456> : tensor<4x4x3x3x16x16xf32>
  %y = glow_cpu.blocked_convolution %x, %f, %b : (tensor<1x4x58x58x16xf32>, tensor<4x4x3x3x16x16xf32>, tensor<4x16xf32>) -> tensor<1x4x56x56x16xf32>
  func.return %y : tensor<1x4x56x56x16xf32>
}

// The file is not read: the filter is transformed when its bytes are needed.
// AUTO-LABEL: @large(
// AUTO-NEXT:  %f = glow.constant #glow.blob<"memory:f#{{[0-9]+}}", 0, 589824> : tensor<36x4x64x16xf32>
// AUTO-NEXT:  %y = glow_cpu.winograd_convolution %x, %f, %b tile 4 : (tensor<1x4x58x58x16xf32>, tensor<36x4x64x16xf32>, tensor<4x16xf32>) -> tensor<1x4x56x56x16xf32>
// DIRECT-LABEL: @large(
// DIRECT:       glow_cpu.blocked_convolution

// -----

// Filters that are read often enough are worth their size only where there are enough tiles.
func.func @few_pixels(%x: tensor<1x64x5x5x16xf32>, %b: tensor<64x16xf32>) -> tensor<1x64x3x3x16xf32> {
  %f = glow.constant #glow.blob<"filter.bin", 0, 37748736> : tensor<64x64x3x3x16x16xf32>
  %y = glow_cpu.blocked_convolution %x, %f, %b : (tensor<1x64x5x5x16xf32>, tensor<64x64x3x3x16x16xf32>, tensor<64x16xf32>) -> tensor<1x64x3x3x16xf32>
  func.return %y : tensor<1x64x3x3x16xf32>
}

// CHECK-LABEL: @few_pixels(
// CHECK:       glow_cpu.winograd_convolution
// AUTO-LABEL: @few_pixels(
// AUTO:       glow_cpu.blocked_convolution

// -----

// With tile registers for bf16, products of parts are faster where there are many pixels; the 64 channels are two pairs of blocks.
func.func @many_pixels(%x: tensor<1x4x226x226x16xf32>, %b: tensor<4x16xf32>) -> tensor<1x4x224x224x16xf32> {
  %f = glow.constant #glow.blob<"filter.bin", 0, 147456> : tensor<4x4x3x3x16x16xf32>
  %y = glow_cpu.blocked_convolution %x, %f, %b : (tensor<1x4x226x226x16xf32>, tensor<4x4x3x3x16x16xf32>, tensor<4x16xf32>) -> tensor<1x4x224x224x16xf32>
  func.return %y : tensor<1x4x224x224x16xf32>
}

// AUTO-LABEL: @many_pixels(
// AUTO:       glow_cpu.winograd_convolution {{.*}} : (tensor<1x4x226x226x16xf32>, tensor<36x4x64x16xf32>
// TILES-LABEL: @many_pixels(
// TILES-NEXT:  %f = glow.constant #glow.blob<"memory:f#{{[0-9]+}}", 0, 884736> : tensor<36x4x2x3x16x16x2xbf16>
// TILES-NEXT:  %y = glow_cpu.winograd_convolution %x, %f, %b tile 4 : (tensor<1x4x226x226x16xf32>, tensor<36x4x2x3x16x16x2xbf16>, tensor<4x16xf32>) -> tensor<1x4x224x224x16xf32>

// -----

// Each of two groups has filters of its own. They are never in parts.
func.func @groups(%x: tensor<1x8x226x226x16xf32>, %b: tensor<8x16xf32>) -> tensor<1x8x224x224x16xf32> {
  %f = glow.constant #glow.blob<"filter.bin", 0, 294912> : tensor<8x4x3x3x16x16xf32>
  %y = glow_cpu.blocked_convolution %x, %f, %b group 2 : (tensor<1x8x226x226x16xf32>, tensor<8x4x3x3x16x16xf32>, tensor<8x16xf32>) -> tensor<1x8x224x224x16xf32>
  func.return %y : tensor<1x8x224x224x16xf32>
}

// AUTO-LABEL: @groups(
// AUTO:       glow_cpu.winograd_convolution %x, %f, %b tile 4 group 2 : (tensor<1x8x226x226x16xf32>, tensor<36x8x64x16xf32>, tensor<8x16xf32>) -> tensor<1x8x224x224x16xf32>
// TILES-LABEL: @groups(
// TILES:       glow_cpu.winograd_convolution %x, %f, %b tile 4 group 2 : (tensor<1x8x226x226x16xf32>, tensor<36x8x64x16xf32>
// DIRECT-LABEL: @groups(
// DIRECT:       glow_cpu.blocked_convolution

// -----

// Few channels in each group make products too small to repay the transforms of all channels.
func.func @few_channels_in_groups(%x: tensor<1x64x7x7x4xf32>, %b: tensor<64x4xf32>) -> tensor<1x64x5x5x4xf32> {
  %f = glow.constant #glow.blob<"filter.bin", 0, 36864> : tensor<64x1x3x3x4x4xf32>
  %y = glow_cpu.blocked_convolution %x, %f, %b group 64 : (tensor<1x64x7x7x4xf32>, tensor<64x1x3x3x4x4xf32>, tensor<64x4xf32>) -> tensor<1x64x5x5x4xf32>
  func.return %y : tensor<1x64x5x5x4xf32>
}

// CHECK-LABEL: @few_channels_in_groups(
// CHECK:       glow_cpu.winograd_convolution
// AUTO-LABEL: @few_channels_in_groups(
// AUTO:       glow_cpu.blocked_convolution

// -----

// Filters in parts are larger, which few pixels do not repay.
func.func @few_tiles(%x: tensor<1x16x9x9x16xf32>, %b: tensor<16x16xf32>) -> tensor<1x16x7x7x16xf32> {
  %f = glow.constant #glow.blob<"filter.bin", 0, 2359296> : tensor<16x16x3x3x16x16xf32>
  %y = glow_cpu.blocked_convolution %x, %f, %b : (tensor<1x16x9x9x16xf32>, tensor<16x16x3x3x16x16xf32>, tensor<16x16xf32>) -> tensor<1x16x7x7x16xf32>
  func.return %y : tensor<1x16x7x7x16xf32>
}

// TILES-LABEL: @few_tiles(
// TILES:       glow_cpu.winograd_convolution {{.*}} : (tensor<1x16x9x9x16xf32>, tensor<16x16x256x16xf32>

// -----

// Larger filters have parts of 3 x 3, and slices; both are further input channels.
func.func @large_filters(%x: tensor<1x4x30x30x16xf32>, %z: tensor<1x4x6x30x30x16xf32>, %b: tensor<4x16xf32>) -> (tensor<1x4x26x26x16xf32>, tensor<1x4x4x28x28x16xf32>) {
  %f = glow.constant #glow.blob<"filter.bin", 0, 409600> : tensor<4x4x5x5x16x16xf32>
  %g = glow.constant #glow.blob<"filter.bin", 0, 442368> : tensor<4x4x3x3x3x16x16xf32>
  %y = glow_cpu.blocked_convolution %x, %f, %b : (tensor<1x4x30x30x16xf32>, tensor<4x4x5x5x16x16xf32>, tensor<4x16xf32>) -> tensor<1x4x26x26x16xf32>
  %w = glow_cpu.blocked_convolution %z, %g, %b : (tensor<1x4x6x30x30x16xf32>, tensor<4x4x3x3x3x16x16xf32>, tensor<4x16xf32>) -> tensor<1x4x4x28x28x16xf32>
  func.return %y, %w : tensor<1x4x26x26x16xf32>, tensor<1x4x4x28x28x16xf32>
}

// AUTO-LABEL: @large_filters(
// AUTO:       glow_cpu.winograd_convolution {{.*}} kernel [5, 5] : (tensor<1x4x30x30x16xf32>, tensor<36x4x256x16xf32>
// AUTO:       glow_cpu.winograd_convolution {{.*}} : (tensor<1x4x6x30x30x16xf32>, tensor<36x4x192x16xf32>

// -----

// Filters of two and four elements have parts of two: tiles of 4 have 5 elements along these dimensions.
func.func @two_elements(%x: tensor<1x4x29x31x16xf32>, %b: tensor<4x16xf32>) -> tensor<1x4x28x28x16xf32> {
  %f = glow.constant #glow.blob<"filter.bin", 0, 131072> : tensor<4x4x2x4x16x16xf32>
  %y = glow_cpu.blocked_convolution %x, %f, %b : (tensor<1x4x29x31x16xf32>, tensor<4x4x2x4x16x16xf32>, tensor<4x16xf32>) -> tensor<1x4x28x28x16xf32>
  func.return %y : tensor<1x4x28x28x16xf32>
}

// AUTO-LABEL: @two_elements(
// AUTO:       glow_cpu.winograd_convolution {{.*}} tile 4 kernel [2, 4] : (tensor<1x4x29x31x16xf32>, tensor<25x4x128x16xf32>

// -----

// A transform along one dimension: of a row, of columns, and of slices.
func.func @one_dimension(%x: tensor<1x4x402x16xf32>, %y: tensor<1x4x30x28x16xf32>, %z: tensor<1x4x10x28x28x16xf32>, %b: tensor<4x16xf32>) {
  %f = glow.constant #glow.blob<"filter.bin", 0, 49152> : tensor<4x4x3x16x16xf32>
  %g = glow.constant #glow.blob<"filter.bin", 0, 49152> : tensor<4x4x3x1x16x16xf32>
  %h = glow.constant #glow.blob<"filter.bin", 0, 49152> : tensor<4x4x3x1x1x16x16xf32>
  %u = glow_cpu.blocked_convolution %x, %f, %b : (tensor<1x4x402x16xf32>, tensor<4x4x3x16x16xf32>, tensor<4x16xf32>) -> tensor<1x4x400x16xf32>
  %v = glow_cpu.blocked_convolution %y, %g, %b : (tensor<1x4x30x28x16xf32>, tensor<4x4x3x1x16x16xf32>, tensor<4x16xf32>) -> tensor<1x4x28x28x16xf32>
  %w = glow_cpu.blocked_convolution %z, %h, %b : (tensor<1x4x10x28x28x16xf32>, tensor<4x4x3x1x1x16x16xf32>, tensor<4x16xf32>) -> tensor<1x4x8x28x28x16xf32>
  "test.op"(%u, %v, %w) : (tensor<1x4x400x16xf32>, tensor<1x4x28x28x16xf32>, tensor<1x4x8x28x28x16xf32>) -> ()
  func.return
}

// AUTO-LABEL: @one_dimension(
// AUTO:       glow_cpu.winograd_convolution {{.*}} tile 4 : (tensor<1x4x402x16xf32>, tensor<6x4x64x16xf32>
// AUTO:       glow_cpu.winograd_convolution {{.*}} tile 4 kernel [3, 1] : (tensor<1x4x30x28x16xf32>, tensor<6x4x64x16xf32>
// AUTO:       glow_cpu.winograd_convolution {{.*}} tile 4 kernel [3, 1, 1] : (tensor<1x4x10x28x28x16xf32>, tensor<6x4x64x16xf32>

// -----

// With dilations, each phase has tiles of its own: of these, fewer are whole.
func.func @dilations(%x: tensor<1x4x60x60x16xf32>, %z: tensor<1x4x20x20x16xf32>, %b: tensor<4x16xf32>) -> (tensor<1x4x56x56x16xf32>, tensor<1x4x4x4x16xf32>) {
  %f = glow.constant #glow.blob<"filter.bin", 0, 147456> : tensor<4x4x3x3x16x16xf32>
  %y = glow_cpu.blocked_convolution %x, %f, %b dilations [2, 2] : (tensor<1x4x60x60x16xf32>, tensor<4x4x3x3x16x16xf32>, tensor<4x16xf32>) -> tensor<1x4x56x56x16xf32>
  %w = glow_cpu.blocked_convolution %z, %f, %b dilations [8, 8] : (tensor<1x4x20x20x16xf32>, tensor<4x4x3x3x16x16xf32>, tensor<4x16xf32>) -> tensor<1x4x4x4x16xf32>
  func.return %y, %w : tensor<1x4x56x56x16xf32>, tensor<1x4x4x4x16xf32>
}

// AUTO-LABEL: @dilations(
// AUTO:       glow_cpu.winograd_convolution {{.*}} tile 4 dilations [2, 2] : (tensor<1x4x60x60x16xf32>, tensor<36x4x64x16xf32>
// AUTO:       glow_cpu.blocked_convolution {{.*}} dilations [8, 8]

// -----

// With a stride of two, even and odd rows have transforms of their own: 9 elements for 4 outputs of a filter of 3, or 10 of one of 4.
func.func @strides(%x: tensor<1x4x57x57x16xf32>, %z: tensor<1x4x66x16xf32>, %b: tensor<4x16xf32>) -> (tensor<1x4x28x28x16xf32>, tensor<1x4x32x16xf32>) {
  %f = glow.constant #glow.blob<"filter.bin", 0, 147456> : tensor<4x4x3x3x16x16xf32>
  %g = glow.constant #glow.blob<"filter.bin", 0, 65536> : tensor<4x4x4x16x16xf32>
  %y = glow_cpu.blocked_convolution %x, %f, %b strides [2, 2] : (tensor<1x4x57x57x16xf32>, tensor<4x4x3x3x16x16xf32>, tensor<4x16xf32>) -> tensor<1x4x28x28x16xf32>
  %w = glow_cpu.blocked_convolution %z, %g, %b strides [2] : (tensor<1x4x66x16xf32>, tensor<4x4x4x16x16xf32>, tensor<4x16xf32>) -> tensor<1x4x32x16xf32>
  func.return %y, %w : tensor<1x4x28x28x16xf32>, tensor<1x4x32x16xf32>
}

// AUTO-LABEL: @strides(
// AUTO:       glow_cpu.winograd_convolution {{.*}} tile 4 strides [2, 2] : (tensor<1x4x57x57x16xf32>, tensor<81x4x64x16xf32>
// AUTO:       glow_cpu.winograd_convolution {{.*}} tile 4 kernel [4] strides [2] : (tensor<1x4x66x16xf32>, tensor<10x4x64x16xf32>

// -----

// It does not apply to strides of dilated filters, filters of one element, plain inputs, and filters that are not constant.
func.func @others(%x: tensor<1x4x58x58x16xf32>, %p: tensor<1x3x58x58xf32>, %b: tensor<4x16xf32>, %g: tensor<4x4x3x3x16x16xf32>) {
  %f = glow.constant #glow.blob<"filter.bin", 0, 147456> : tensor<4x4x3x3x16x16xf32>
  %f1 = glow.constant #glow.blob<"filter.bin", 0, 16384> : tensor<4x4x1x1x16x16xf32>
  %fp = glow.constant #glow.blob<"filter.bin", 0, 6912> : tensor<4x3x3x3x16xf32>
  %0 = glow_cpu.blocked_convolution %x, %f, %b strides [1, 2] dilations [1, 2] : (tensor<1x4x58x58x16xf32>, tensor<4x4x3x3x16x16xf32>, tensor<4x16xf32>) -> tensor<1x4x56x27x16xf32>
  %1 = glow_cpu.blocked_convolution %x, %f, %b strides [2, 1] dilations [2, 1] : (tensor<1x4x58x58x16xf32>, tensor<4x4x3x3x16x16xf32>, tensor<4x16xf32>) -> tensor<1x4x27x56x16xf32>
  %2 = glow_cpu.blocked_convolution %x, %f1, %b : (tensor<1x4x58x58x16xf32>, tensor<4x4x1x1x16x16xf32>, tensor<4x16xf32>) -> tensor<1x4x58x58x16xf32>
  %3 = glow_cpu.blocked_convolution %p, %fp, %b : (tensor<1x3x58x58xf32>, tensor<4x3x3x3x16xf32>, tensor<4x16xf32>) -> tensor<1x4x56x56x16xf32>
  %4 = glow_cpu.blocked_convolution %x, %g, %b : (tensor<1x4x58x58x16xf32>, tensor<4x4x3x3x16x16xf32>, tensor<4x16xf32>) -> tensor<1x4x56x56x16xf32>
  "test.op"(%0, %1, %2, %3, %4) : (tensor<1x4x56x27x16xf32>, tensor<1x4x27x56x16xf32>, tensor<1x4x58x58x16xf32>, tensor<1x4x56x56x16xf32>, tensor<1x4x56x56x16xf32>) -> ()
  func.return
}

// CHECK-LABEL: @others(
// CHECK:       %0 = glow_cpu.blocked_convolution
// CHECK-NEXT:  %1 = glow_cpu.blocked_convolution
// CHECK-NEXT:  %2 = glow_cpu.blocked_convolution
// CHECK-NEXT:  %3 = glow_cpu.blocked_convolution
// CHECK-NEXT:  %4 = glow_cpu.blocked_convolution

// -----

// Convolutions of bytes by pairs of words have exact Winograd convolutions, where registers are few and no instruction multiplies bytes.
func.func @bytes(%x: tensor<1x8x58x58x8xui8>, %b: tensor<8x8xi32>) -> tensor<1x8x56x56x8xi32> {
  %f = glow.constant #glow.blob<"filter.bin", 0, 36864> : tensor<8x8x3x3x4x8x2xi8>
  %y = glow_cpu.dot_convolution %x, %f, %b : (tensor<1x8x58x58x8xui8>, tensor<8x8x3x3x4x8x2xi8>, tensor<8x8xi32>) -> tensor<1x8x56x56x8xi32>
  func.return %y : tensor<1x8x56x56x8xi32>
}

// The range of 64 channels of any bytes is small enough, so the file is not read.
// BYTES-LABEL: @bytes(
// BYTES-NEXT:  %f = glow.constant #glow.blob<"memory:f#{{[0-9]+}}", 0, 294912> : tensor<36x8x8x4x8x2xi16>
// BYTES-NEXT:  %y = glow_cpu.dot_winograd_convolution %x, %f, %b tile 4 : (tensor<1x8x58x58x8xui8>, tensor<36x8x8x4x8x2xi16>, tensor<8x8xi32>) -> tensor<1x8x56x56x8xi32>
// VNNI-LABEL: @bytes(
// VNNI:        glow_cpu.dot_convolution
// AUTO-LABEL: @bytes(
// AUTO:        glow_cpu.dot_convolution
// DIRECT-LABEL: @bytes(
// DIRECT:      glow_cpu.dot_convolution

// -----

// So have those with larger filters, strides, dilations and groups.
func.func @windows_of_bytes(%v: tensor<1x2x58x58x8xui8>, %x: tensor<1x8x58x58x8xui8>, %z: tensor<1x8x200x8xui8>, %b: tensor<8x8xi32>) -> (tensor<1x8x54x54x8xi32>, tensor<1x8x194x8xi32>, tensor<1x8x28x28x8xi32>) {
  %f = glow.constant #glow.blob<"filter.bin", 0, 25600> : tensor<8x2x5x5x4x8x2xi8>
  %0 = glow_cpu.dot_convolution %v, %f, %b : (tensor<1x2x58x58x8xui8>, tensor<8x2x5x5x4x8x2xi8>, tensor<8x8xi32>) -> tensor<1x8x54x54x8xi32>
  %h = glow.constant #glow.blob<"filter.bin", 0, 6144> : tensor<8x4x3x4x8x2xi8>
  %1 = glow_cpu.dot_convolution %z, %h, %b dilations [3] strides [1] group 2 : (tensor<1x8x200x8xui8>, tensor<8x4x3x4x8x2xi8>, tensor<8x8xi32>) -> tensor<1x8x194x8xi32>
  %g = glow.constant #glow.blob<"filter.bin", 0, 36864> : tensor<8x8x3x3x4x8x2xi8>
  %2 = glow_cpu.dot_convolution %x, %g, %b strides [2, 2] : (tensor<1x8x58x58x8xui8>, tensor<8x8x3x3x4x8x2xi8>, tensor<8x8xi32>) -> tensor<1x8x28x28x8xi32>
  func.return %0, %1, %2 : tensor<1x8x54x54x8xi32>, tensor<1x8x194x8xi32>, tensor<1x8x28x28x8xi32>
}

// BYTES-LABEL: @windows_of_bytes(
// BYTES:  glow_cpu.dot_winograd_convolution %v, %{{.*}}, %b tile 4 kernel [5, 5] : (tensor<1x2x58x58x8xui8>, tensor<36x8x8x4x8x2xi16>, tensor<8x8xi32>) -> tensor<1x8x54x54x8xi32>
// BYTES:  glow_cpu.dot_winograd_convolution %z, %{{.*}}, %b tile 4 group 2 dilations [3] : (tensor<1x8x200x8xui8>, tensor<6x8x4x4x8x2xi16>, tensor<8x8xi32>) -> tensor<1x8x194x8xi32>
// BYTES:  glow_cpu.dot_winograd_convolution %x, %{{.*}}, %b tile 4 strides [2, 2] : (tensor<1x8x58x58x8xui8>, tensor<81x8x8x4x8x2xi16>, tensor<8x8xi32>) -> tensor<1x8x28x28x8xi32>

// -----

// 1 x 1, and channels that are not whole blocks.
func.func @bytes_by_definition(%x: tensor<1x8x58x58x8xui8>, %z: tensor<1x1x230x230x4xui8>, %b: tensor<8x8xi32>) -> (tensor<1x8x58x58x8xi32>, tensor<1x8x112x112x8xi32>) {
  %f = glow.constant #glow.blob<"filter.bin", 0, 4096> : tensor<8x8x1x1x4x8x2xi8>
  %y = glow_cpu.dot_convolution %x, %f, %b : (tensor<1x8x58x58x8xui8>, tensor<8x8x1x1x4x8x2xi8>, tensor<8x8xi32>) -> tensor<1x8x58x58x8xi32>
  %g = glow.constant #glow.blob<"filter.bin", 0, 12544> : tensor<8x1x7x7x2x8x2xi8>
  %1 = glow_cpu.dot_convolution %z, %g, %b strides [2, 2] : (tensor<1x1x230x230x4xui8>, tensor<8x1x7x7x2x8x2xi8>, tensor<8x8xi32>) -> tensor<1x8x112x112x8xi32>
  func.return %y, %1 : tensor<1x8x58x58x8xi32>, tensor<1x8x112x112x8xi32>
}

// BYTES-LABEL: @bytes_by_definition(
// BYTES-NOT:   winograd

// -----

// A filter that is not constant meets many places: patches are columns of a matrix. A transposition of the input is undone.
func.func @patches(%x: tensor<9x128x9x9xf32>, %w: tensor<128x128x3x3xf32>, %b: tensor<128xf32>) -> tensor<128x128x7x7xf32> {
  %t = glow.transpose %x permutation [1, 0, 2, 3] : (tensor<9x128x9x9xf32>) -> tensor<128x9x9x9xf32>
  %v = glow.slice %w sizes [128, 9, 3, 3] : (tensor<128x128x3x3xf32>) -> tensor<128x9x3x3xf32>
  %y = glow.convolution %t, %v, %b : (tensor<128x9x9x9xf32>, tensor<128x9x3x3xf32>, tensor<128xf32>) -> tensor<128x128x7x7xf32>
  func.return %y : tensor<128x128x7x7xf32>
}

// BYTES-LABEL: @patches(
// DIRECT-LABEL: @patches(
// DIRECT:       glow.convolution
// CHECK-LABEL:  @patches(
// CHECK:        glow_cpu.winograd_convolution
// PRODUCT-LABEL: @patches(
// PRODUCT:       [[P:%\S+]] = glow.generic %x formula "y[c, k0, k1, n, w0, w1] = x[c, n, w0 + k0, w1 + k1 | outside: 0] for k0 < 3, k1 < 3, w0 < 7, w1 < 7"
// PRODUCT-NEXT:  [[R:%\S+]] = glow.reshape %v : {{.*}} -> tensor<128x81xf32>
// PRODUCT-NEXT:  [[C:%\S+]] = glow.reshape [[P]] : {{.*}} -> tensor<81x6272xf32>
// PRODUCT-NEXT:  [[M:%\S+]] = glow.matmul [[R]], [[C]]
// PRODUCT:       glow.transpose {{.*}} permutation [1, 0, 2, 3]

// -----

// With few filters, patches take longer to write than they save; a group has no patches of its own.
func.func @few_filters(%x: tensor<8x64x9x9xf32>, %w: tensor<8x64x1x1xf32>, %v: tensor<256x64x1x1xf32>, %u: tensor<256x32x1x1xf32>, %b: tensor<8xf32>, %c: tensor<256xf32>) {
  %y = glow.convolution %x, %w, %b : (tensor<8x64x9x9xf32>, tensor<8x64x1x1xf32>, tensor<8xf32>) -> tensor<8x8x9x9xf32>
  %z = glow.convolution %x, %v, %c : (tensor<8x64x9x9xf32>, tensor<256x64x1x1xf32>, tensor<256xf32>) -> tensor<8x256x9x9xf32>
  %g = glow.convolution %x, %u, %c group 2 : (tensor<8x64x9x9xf32>, tensor<256x32x1x1xf32>, tensor<256xf32>) -> tensor<8x256x9x9xf32>
  func.return
}

// AUTO-LABEL: @few_filters(
// AUTO-NEXT:  %y = glow.convolution
// AUTO:       glow.matmul
// AUTO:       glow.convolution {{.*}} group 2
// PRODUCT-LABEL: @few_filters(
// PRODUCT-COUNT-2: glow.matmul
// PRODUCT:       glow.convolution {{.*}} group 2

// ROUNDED-LABEL: @few_filters(
// ROUNDED-NEXT:  %y = glow.convolution
// ROUNDED:       glow.matmul
// ROUNDED:       glow.convolution {{.*}} group 2

// -----

// A product that is rounded repays patches of few filters where rows fill a part of a vector, but not where they fill whole vectors.
func.func @rounded(%x: tensor<16x32x6x6xf32>, %w: tensor<32x32x3x3xf32>, %v: tensor<8x32x3x3xf32>, %z: tensor<8x32x34x34xf32>, %b: tensor<32xf32>,
    %c: tensor<8xf32>) -> (tensor<16x32x4x4xf32>, tensor<16x8x4x4xf32>, tensor<8x32x32x32xf32>) {
  %few = glow.convolution %x, %v, %c : (tensor<16x32x6x6xf32>, tensor<8x32x3x3xf32>, tensor<8xf32>) -> tensor<16x8x4x4xf32>
  %wide = glow.convolution %z, %w, %b : (tensor<8x32x34x34xf32>, tensor<32x32x3x3xf32>, tensor<32xf32>) -> tensor<8x32x32x32xf32>
  %y = glow.convolution %x, %w, %b : (tensor<16x32x6x6xf32>, tensor<32x32x3x3xf32>, tensor<32xf32>) -> tensor<16x32x4x4xf32>
  func.return %y, %few, %wide : tensor<16x32x4x4xf32>, tensor<16x8x4x4xf32>, tensor<8x32x32x32xf32>
}

// ROUNDED-LABEL: @rounded(
// ROUNDED-NEXT:  %few = glow.generic %x
// ROUNDED:       %few{{.*}} = glow.matmul
// ROUNDED:       %wide{{.*}} = glow_cpu.winograd_convolution
// ROUNDED:       %y = glow.generic %x
// ROUNDED:       glow.matmul
// AUTO-LABEL: @rounded(
// AUTO-COUNT-3: glow_cpu.winograd_convolution

// -----

// A product transforms a filter that is not constant: its columns are pairs of channels, with zeros up to whole blocks.
func.func @run_time_filter(%x: tensor<2x30x28x28xf32>, %w: tensor<32x30x3x3xf32>, %b: tensor<32xf32>) -> tensor<2x32x28x28xf32> {
  %y = glow.convolution %x, %w, %b pads [1, 1, 1, 1] : (tensor<2x30x28x28xf32>, tensor<32x30x3x3xf32>, tensor<32xf32>) -> tensor<2x32x28x28xf32>
  func.return %y : tensor<2x32x28x28xf32>
}

// AUTO-LABEL: @run_time_filter(
// AUTO-NEXT:  %y = glow_cpu.pack_channels %x block 16 : (tensor<2x30x28x28xf32>) -> tensor<2x2x28x28x16xf32>
// AUTO-NEXT:  %y_1 = glow.pad %y low [0, 0, 1, 1, 0] high [0, 0, 1, 1, 0] value 0.0 : {{.*}} -> tensor<2x2x30x30x16xf32>
// AUTO-NEXT:  %y_2 = glow.pad %w high [0, 2, 0, 0] value 0.0 : {{.*}} -> tensor<32x32x3x3xf32>
// AUTO-NEXT:  %y_3 = glow.reshape %y_2 : {{.*}} -> tensor<2x16x32x9xf32>
// AUTO-NEXT:  %y_4 = glow.transpose %y_3 permutation [3, 0, 2, 1] : {{.*}} -> tensor<9x2x32x16xf32>
// AUTO-NEXT:  %y_5 = glow.reshape %y_4 : {{.*}} -> tensor<9x1024xf32>
// AUTO-NEXT:  %y_6 = glow.constant {{.*}} : tensor<36x9xf32>
// AUTO-NEXT:  %y_7 = glow.matmul %y_6, %y_5 : {{.*}} -> tensor<36x1024xf32>
// AUTO-NEXT:  %y_8 = glow.reshape %y_7 : {{.*}} -> tensor<36x2x32x16xf32>
// AUTO-NEXT:  %y_9 = glow.reshape %b : {{.*}} -> tensor<2x16xf32>
// AUTO-NEXT:  %y_10 = glow_cpu.winograd_convolution %y_1, %y_8, %y_9 tile 4 : {{.*}} -> tensor<2x2x28x28x16xf32>
// AUTO-NEXT:  %y_11 = glow_cpu.unpack_channels %y_10 channels 32 : {{.*}} -> tensor<2x32x28x28xf32>
// AUTO-NEXT:  func.return %y_11
// DIRECT-LABEL: @run_time_filter(
// DIRECT-NEXT:  glow.convolution
// PRODUCT-LABEL: @run_time_filter(
// PRODUCT-NOT:   winograd

// -----

// The parts of a larger filter are further channels, one part after the other. Groups have whole blocks.
func.func @parts_at_run_time(%x: tensor<1x32x28x28xf32>, %w: tensor<32x16x5x5xf32>, %b: tensor<32xf32>) -> tensor<1x32x24x24xf32> {
  %y = glow.convolution %x, %w, %b group 2 : (tensor<1x32x28x28xf32>, tensor<32x16x5x5xf32>, tensor<32xf32>) -> tensor<1x32x24x24xf32>
  func.return %y : tensor<1x32x24x24xf32>
}

// CHECK-LABEL: @parts_at_run_time(
// CHECK:       %y_5 = glow.matmul {{.*}} : (tensor<144x25xf32>, tensor<25x512xf32>) -> tensor<144x512xf32>
// CHECK-NEXT:  %y_6 = glow.reshape %y_5 : {{.*}} -> tensor<36x4x2x16x16xf32>
// CHECK-NEXT:  %y_7 = glow.transpose %y_6 permutation [0, 2, 1, 3, 4] : {{.*}} -> tensor<36x2x4x16x16xf32>
// CHECK-NEXT:  %y_8 = glow.reshape %y_7 : {{.*}} -> tensor<36x2x64x16xf32>
// CHECK:       glow_cpu.winograd_convolution {{.*}} tile 4 group 2 kernel [5, 5]

// -----

// The transform of a filter that meets few pixels takes longer than it saves; groups of few channels have no whole blocks.
func.func @not_at_run_time(%x: tensor<1x64x4x4xf32>, %w: tensor<64x64x3x3xf32>, %v: tensor<64x8x3x3xf32>, %b: tensor<64xf32>) -> (tensor<1x64x4x4xf32>, tensor<1x64x4x4xf32>) {
  %y = glow.convolution %x, %w, %b pads [1, 1, 1, 1] : (tensor<1x64x4x4xf32>, tensor<64x64x3x3xf32>, tensor<64xf32>) -> tensor<1x64x4x4xf32>
  %z = glow.convolution %x, %v, %b pads [1, 1, 1, 1] group 8 : (tensor<1x64x4x4xf32>, tensor<64x8x3x3xf32>, tensor<64xf32>) -> tensor<1x64x4x4xf32>
  func.return %y, %z : tensor<1x64x4x4xf32>, tensor<1x64x4x4xf32>
}

// AUTO-LABEL: @not_at_run_time(
// AUTO-NOT:    winograd
// CHECK-LABEL: @not_at_run_time(
// CHECK:       glow_cpu.winograd_convolution
// CHECK:       glow.convolution {{.*}} group 8
