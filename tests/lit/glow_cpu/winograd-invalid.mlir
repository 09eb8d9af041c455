// RUN: glow-opt %s --split-input-file --verify-diagnostics | filecheck %s

// CHECK: 'glow_cpu.winograd_convolution' op (%r): expected a tile of 2 or 4, found 3
%x, %u, %b = "test.op"() : () -> (tensor<1x1x9x9x8xf32>, tensor<25x1x8x8xf32>, tensor<1x8xf32>)
%r = glow_cpu.winograd_convolution %x, %u, %b tile 3 : (tensor<1x1x9x9x8xf32>, tensor<25x1x8x8xf32>, tensor<1x8xf32>) -> tensor<1x1x7x7x8xf32>

// -----

// CHECK: 'glow_cpu.winograd_convolution' op (%r): expected a transformed filter of shape (16, 1, 16, 8), found tensor<16x1x8x8xf32>
%x, %u, %b = "test.op"() : () -> (tensor<1x2x9x9x8xf32>, tensor<16x1x8x8xf32>, tensor<1x8xf32>)
%r = glow_cpu.winograd_convolution %x, %u, %b tile 2 : (tensor<1x2x9x9x8xf32>, tensor<16x1x8x8xf32>, tensor<1x8xf32>) -> tensor<1x1x7x7x8xf32>

// -----

// CHECK: 'glow_cpu.winograd_convolution' op (%r): expected a bias of rank 2, found tensor<8xf32>
%x, %u, %b = "test.op"() : () -> (tensor<1x1x9x9x8xf32>, tensor<16x1x8x8xf32>, tensor<8xf32>)
%r = glow_cpu.winograd_convolution %x, %u, %b tile 2 : (tensor<1x1x9x9x8xf32>, tensor<16x1x8x8xf32>, tensor<8xf32>) -> tensor<1x1x7x7x8xf32>

// -----

// CHECK: 'glow_cpu.winograd_convolution' op (%r): expected an input of at least 3 x 3, found tensor<1x1x2x9x8xf32>
%x, %u, %b = "test.op"() : () -> (tensor<1x1x2x9x8xf32>, tensor<16x1x8x8xf32>, tensor<1x8xf32>)
%r = glow_cpu.winograd_convolution %x, %u, %b tile 2 : (tensor<1x1x2x9x8xf32>, tensor<16x1x8x8xf32>, tensor<1x8xf32>) -> tensor<1x1x0x7x8xf32>

// -----

// CHECK: 'glow_cpu.winograd_convolution' op (%r): expected float elements, found tensor<1x1x9x9x8xi32>
%x, %u, %b = "test.op"() : () -> (tensor<1x1x9x9x8xi32>, tensor<16x1x8x8xi32>, tensor<1x8xi32>)
%r = glow_cpu.winograd_convolution %x, %u, %b tile 2 : (tensor<1x1x9x9x8xi32>, tensor<16x1x8x8xi32>, tensor<1x8xi32>) -> tensor<1x1x7x7x8xi32>

// -----

// CHECK: 'glow_cpu.winograd_convolution' op (%r): expected a transformed filter of shape (36, 1, 2, 3, 8, 8, 2), found tensor<36x1x3x3x8x8x2xbf16>
%x, %u, %b = "test.op"() : () -> (tensor<1x3x9x9x8xf32>, tensor<36x1x3x3x8x8x2xbf16>, tensor<1x8xf32>)
%r = glow_cpu.winograd_convolution %x, %u, %b tile 4 : (tensor<1x3x9x9x8xf32>, tensor<36x1x3x3x8x8x2xbf16>, tensor<1x8xf32>) -> tensor<1x1x7x7x8xf32>

// -----

// CHECK: 'glow_cpu.winograd_convolution' op (%r): expected a filter with elements bf16, found tensor<36x1x1x3x8x8x2xf32>
%x, %u, %b = "test.op"() : () -> (tensor<1x1x9x9x8xf32>, tensor<36x1x1x3x8x8x2xf32>, tensor<1x8xf32>)
%r = glow_cpu.winograd_convolution %x, %u, %b tile 4 : (tensor<1x1x9x9x8xf32>, tensor<36x1x1x3x8x8x2xf32>, tensor<1x8xf32>) -> tensor<1x1x7x7x8xf32>

// -----

// CHECK: 'glow_cpu.winograd_convolution' op (%r): expected an input of f32 for a filter in parts, found f16
%x, %u, %b = "test.op"() : () -> (tensor<1x1x9x9x8xf16>, tensor<36x1x1x3x8x8x2xbf16>, tensor<1x8xf16>)
%r = glow_cpu.winograd_convolution %x, %u, %b tile 4 : (tensor<1x1x9x9x8xf16>, tensor<36x1x1x3x8x8x2xbf16>, tensor<1x8xf16>) -> tensor<1x1x7x7x8xf16>

// -----

// CHECK: 'glow_cpu.winograd_convolution' op (%r): expected a filter with elements f32, found tensor<16x1x8x8xf64>
%x, %u, %b = "test.op"() : () -> (tensor<1x1x9x9x8xf32>, tensor<16x1x8x8xf64>, tensor<1x8xf32>)
%r = glow_cpu.winograd_convolution %x, %u, %b tile 2 : (tensor<1x1x9x9x8xf32>, tensor<16x1x8x8xf64>, tensor<1x8xf32>) -> tensor<1x1x7x7x8xf32>

// -----

// CHECK: 'glow_cpu.winograd_convolution' op (%r): expected a bias with elements f32, found tensor<1x8xf64>
%x, %u, %b = "test.op"() : () -> (tensor<1x1x9x9x8xf32>, tensor<16x1x8x8xf32>, tensor<1x8xf64>)
%r = glow_cpu.winograd_convolution %x, %u, %b tile 2 : (tensor<1x1x9x9x8xf32>, tensor<16x1x8x8xf32>, tensor<1x8xf64>) -> tensor<1x1x7x7x8xf32>

// -----

// CHECK: 'glow_cpu.winograd_convolution' op (%r): expected pool to divide the tile of 4, found 3
%x, %u, %b = "test.op"() : () -> (tensor<1x1x9x9x8xf32>, tensor<36x1x8x8xf32>, tensor<1x8xf32>)
%r = glow_cpu.winograd_convolution %x, %u, %b tile 4 pool 3 : (tensor<1x1x9x9x8xf32>, tensor<36x1x8x8xf32>, tensor<1x8xf32>) -> tensor<1x1x2x2x8xf32>

// -----

// CHECK: 'glow_cpu.winograd_convolution' op (%r): expected an input of at least 4 x 4, found tensor<1x1x3x9x8xf32>
%x, %u, %b = "test.op"() : () -> (tensor<1x1x3x9x8xf32>, tensor<36x1x8x8xf32>, tensor<1x8xf32>)
%r = glow_cpu.winograd_convolution %x, %u, %b tile 4 pool 2 : (tensor<1x1x3x9x8xf32>, tensor<36x1x8x8xf32>, tensor<1x8xf32>) -> tensor<1x1x0x3x8xf32>

// -----

// CHECK: 'glow_cpu.winograd_convolution' op (%r): expected 2 groups of whole blocks, one for a filter in parts, found input tensor<1x3x9x9x8xf32>, filter tensor<36x2x8x8xf32> and bias tensor<2x8xf32>
%x, %u, %b = "test.op"() : () -> (tensor<1x3x9x9x8xf32>, tensor<36x2x8x8xf32>, tensor<2x8xf32>)
%r = glow_cpu.winograd_convolution %x, %u, %b tile 4 group 2 : (tensor<1x3x9x9x8xf32>, tensor<36x2x8x8xf32>, tensor<2x8xf32>) -> tensor<1x2x7x7x8xf32>

// -----

// CHECK: 'glow_cpu.winograd_convolution' op (%r): expected 2 groups of whole blocks, one for a filter in parts, found input tensor<1x4x9x9x8xf32>,
// CHECK-SAME: filter tensor<36x2x1x3x8x8x2xbf16> and bias tensor<2x8xf32>
%x, %u, %b = "test.op"() : () -> (tensor<1x4x9x9x8xf32>, tensor<36x2x1x3x8x8x2xbf16>, tensor<2x8xf32>)
%r = glow_cpu.winograd_convolution %x, %u, %b tile 4 group 2 : (tensor<1x4x9x9x8xf32>, tensor<36x2x1x3x8x8x2xbf16>, tensor<2x8xf32>) -> tensor<1x2x7x7x8xf32>

// -----

// CHECK: 'glow_cpu.winograd_convolution' op (%r): expected no pooling with a kernel of [3, 3, 3], dilations [1, 1, 1] and strides [1, 1, 1]
%x, %u, %b = "test.op"() : () -> (tensor<1x1x4x9x9x8xf32>, tensor<36x2x24x8xf32>, tensor<2x8xf32>)
%r = glow_cpu.winograd_convolution %x, %u, %b tile 4 pool 2 : (tensor<1x1x4x9x9x8xf32>, tensor<36x2x24x8xf32>, tensor<2x8xf32>) -> tensor<1x2x1x3x3x8xf32>

// -----

// CHECK: 'glow_cpu.winograd_convolution' op (%r): expected a kernel of one to three sizes, one of them above the stride, found a kernel of [1, 1], dilations [1, 1] and strides [1, 1]
%x, %u, %b = "test.op"() : () -> (tensor<1x1x9x9x8xf32>, tensor<36x2x8x8xf32>, tensor<2x8xf32>)
%r = glow_cpu.winograd_convolution %x, %u, %b tile 4 kernel [1, 1] : (tensor<1x1x9x9x8xf32>, tensor<36x2x8x8xf32>, tensor<2x8xf32>) -> tensor<1x2x9x9x8xf32>

// -----

// CHECK: 'glow_cpu.winograd_convolution' op (%r): expected no pooling with a kernel of [3, 1], dilations [1, 1] and strides [1, 1]
%x, %u, %b = "test.op"() : () -> (tensor<1x1x9x9x8xf32>, tensor<6x2x8x8xf32>, tensor<2x8xf32>)
%r = glow_cpu.winograd_convolution %x, %u, %b tile 4 pool 2 kernel [3, 1] : (tensor<1x1x9x9x8xf32>, tensor<6x2x8x8xf32>, tensor<2x8xf32>) -> tensor<1x2x3x4x8xf32>

// -----

// CHECK: 'glow_cpu.winograd_convolution' op (%r): expected a transformed filter of shape (30, 2, 8, 8), found tensor<36x2x8x8xf32>
%x, %u, %b = "test.op"() : () -> (tensor<1x1x9x9x8xf32>, tensor<36x2x8x8xf32>, tensor<2x8xf32>)
%r = glow_cpu.winograd_convolution %x, %u, %b tile 4 kernel [3, 2] : (tensor<1x1x9x9x8xf32>, tensor<36x2x8x8xf32>, tensor<2x8xf32>) -> tensor<1x2x7x8x8xf32>

// -----

// CHECK: 'glow_cpu.winograd_convolution' op (%r): expected a kernel of 3 x 3 for a filter in parts of bf16, found a kernel of [5, 5], dilations [1, 1] and strides [1, 1]
%x, %u, %b = "test.op"() : () -> (tensor<1x1x9x9x8xf32>, tensor<36x1x1x3x8x8x2xbf16>, tensor<1x8xf32>)
%r = glow_cpu.winograd_convolution %x, %u, %b tile 4 kernel [5, 5] : (tensor<1x1x9x9x8xf32>, tensor<36x1x1x3x8x8x2xbf16>, tensor<1x8xf32>) -> tensor<1x1x5x5x8xf32>

// -----

// CHECK: 'glow_cpu.winograd_convolution' op (%r): expected an input of at least 3 x 3 x 3, found tensor<1x1x2x9x9x8xf32>
%x, %u, %b = "test.op"() : () -> (tensor<1x1x2x9x9x8xf32>, tensor<36x2x24x8xf32>, tensor<2x8xf32>)
%r = glow_cpu.winograd_convolution %x, %u, %b tile 4 : (tensor<1x1x2x9x9x8xf32>, tensor<36x2x24x8xf32>, tensor<2x8xf32>) -> tensor<1x2x0x7x7x8xf32>

// -----

// CHECK: 'glow_cpu.winograd_convolution' op (%r): expected a transformed filter of shape (36, 2, 24, 8), found tensor<36x2x20x8xf32>
%x, %u, %b = "test.op"() : () -> (tensor<1x1x4x9x9x8xf32>, tensor<36x2x20x8xf32>, tensor<2x8xf32>)
%r = glow_cpu.winograd_convolution %x, %u, %b tile 4 : (tensor<1x1x4x9x9x8xf32>, tensor<36x2x20x8xf32>, tensor<2x8xf32>) -> tensor<1x2x3x7x7x8xf32>

// -----

// CHECK: 'glow_cpu.winograd_convolution' op (%r): expected no pooling with a kernel of [3, 3], dilations [1, 2] and strides [1, 1]
%x, %u, %b = "test.op"() : () -> (tensor<1x1x9x9x8xf32>, tensor<36x1x8x8xf32>, tensor<1x8xf32>)
%r = glow_cpu.winograd_convolution %x, %u, %b tile 4 pool 2 dilations [1, 2] : (tensor<1x1x9x9x8xf32>, tensor<36x1x8x8xf32>, tensor<1x8xf32>) -> tensor<1x1x3x2x8xf32>

// -----

// CHECK: 'glow_cpu.winograd_convolution' op (%r): expected an input of at least 5 x 9, found tensor<1x1x9x8x8xf32>
%x, %u, %b = "test.op"() : () -> (tensor<1x1x9x8x8xf32>, tensor<36x1x8x8xf32>, tensor<1x8xf32>)
%r = glow_cpu.winograd_convolution %x, %u, %b tile 4 dilations [2, 4] : (tensor<1x1x9x8x8xf32>, tensor<36x1x8x8xf32>, tensor<1x8xf32>) -> tensor<1x1x5x0x8xf32>

// -----

// CHECK: 'glow_cpu.winograd_convolution' op (%r): expected a dilation or a stride along each dimension, found a kernel of [3, 3], dilations [1, 2] and strides [1, 2]
%x, %u, %b = "test.op"() : () -> (tensor<1x1x9x9x8xf32>, tensor<54x1x8x8xf32>, tensor<1x8xf32>)
%r = glow_cpu.winograd_convolution %x, %u, %b tile 4 dilations [1, 2] strides [1, 2] : (tensor<1x1x9x9x8xf32>, tensor<54x1x8x8xf32>, tensor<1x8xf32>) -> tensor<1x1x7x3x8xf32>

// -----

// CHECK: 'glow_cpu.winograd_convolution' op (%r): expected a transformed filter of shape (25, 1, 8, 8), found tensor<16x1x8x8xf32>
%x, %u, %b = "test.op"() : () -> (tensor<1x1x9x9x8xf32>, tensor<16x1x8x8xf32>, tensor<1x8xf32>)
%r = glow_cpu.winograd_convolution %x, %u, %b tile 2 strides [2, 2] : (tensor<1x1x9x9x8xf32>, tensor<16x1x8x8xf32>, tensor<1x8xf32>) -> tensor<1x1x4x4x8xf32>
