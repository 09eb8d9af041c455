// RUN: glow-opt %s --split-input-file --verify-diagnostics | filecheck %s

// CHECK: 'glow_cpu.dot_winograd_convolution' op (%r): expected a tile of 2 or 4, found 3
%x, %u, %b = "test.op"() : () -> (tensor<1x1x9x9x8xui8>, tensor<16x1x1x4x8x2xi16>, tensor<1x8xi32>)
%r = glow_cpu.dot_winograd_convolution %x, %u, %b tile 3 : (tensor<1x1x9x9x8xui8>, tensor<16x1x1x4x8x2xi16>, tensor<1x8xi32>) -> tensor<1x1x7x7x8xi32>

// -----

// CHECK: 'glow_cpu.dot_winograd_convolution' op (%r): expected an input of bytes, found tensor<1x1x9x9x8xi16>
%x, %u, %b = "test.op"() : () -> (tensor<1x1x9x9x8xi16>, tensor<16x1x1x4x8x2xi16>, tensor<1x8xi32>)
%r = glow_cpu.dot_winograd_convolution %x, %u, %b tile 2 : (tensor<1x1x9x9x8xi16>, tensor<16x1x1x4x8x2xi16>, tensor<1x8xi32>) -> tensor<1x1x7x7x8xi32>

// -----

// CHECK: 'glow_cpu.dot_winograd_convolution' op (%r): expected a filter of i16 and a bias of i32, found tensor<16x1x1x4x8x2xi8> and tensor<1x8xi32>
%x, %u, %b = "test.op"() : () -> (tensor<1x1x9x9x8xui8>, tensor<16x1x1x4x8x2xi8>, tensor<1x8xi32>)
%r = glow_cpu.dot_winograd_convolution %x, %u, %b tile 2 : (tensor<1x1x9x9x8xui8>, tensor<16x1x1x4x8x2xi8>, tensor<1x8xi32>) -> tensor<1x1x7x7x8xi32>

// -----

// CHECK: 'glow_cpu.dot_winograd_convolution' op (%r): expected blocks of pairs of channels, found tensor<1x1x9x9x7xui8>
%x, %u, %b = "test.op"() : () -> (tensor<1x1x9x9x7xui8>, tensor<16x1x1x4x8x2xi16>, tensor<1x8xi32>)
%r = glow_cpu.dot_winograd_convolution %x, %u, %b tile 2 : (tensor<1x1x9x9x7xui8>, tensor<16x1x1x4x8x2xi16>, tensor<1x8xi32>) -> tensor<1x1x7x7x8xi32>

// -----

// CHECK: 'glow_cpu.dot_winograd_convolution' op (%r): expected a transformed filter of shape (36, 1, 1, 4, 8, 2), found tensor<16x1x1x4x8x2xi16>
%x, %u, %b = "test.op"() : () -> (tensor<1x1x9x9x8xui8>, tensor<16x1x1x4x8x2xi16>, tensor<1x8xi32>)
%r = glow_cpu.dot_winograd_convolution %x, %u, %b tile 4 : (tensor<1x1x9x9x8xui8>, tensor<16x1x1x4x8x2xi16>, tensor<1x8xi32>) -> tensor<1x1x7x7x8xi32>

// -----

// CHECK: 'glow_cpu.dot_winograd_convolution' op (%r): expected an input of at least 3 x 3, found tensor<1x1x2x9x8xui8>
%x, %u, %b = "test.op"() : () -> (tensor<1x1x2x9x8xui8>, tensor<16x1x1x4x8x2xi16>, tensor<1x8xi32>)
%r = glow_cpu.dot_winograd_convolution %x, %u, %b tile 2 : (tensor<1x1x2x9x8xui8>, tensor<16x1x1x4x8x2xi16>, tensor<1x8xi32>) -> tensor<1x1x0x7x8xi32>

// -----

// CHECK: 'glow_cpu.dot_winograd_convolution' op (%r): expected a kernel of one to three sizes, one of them above the stride, found a kernel of [3, 3], dilations [1, 1] and strides [3, 3]
%x, %u, %b = "test.op"() : () -> (tensor<1x1x9x9x8xui8>, tensor<16x1x1x4x8x2xi16>, tensor<1x8xi32>)
%r = glow_cpu.dot_winograd_convolution %x, %u, %b tile 2 strides [3, 3] : (tensor<1x1x9x9x8xui8>, tensor<16x1x1x4x8x2xi16>, tensor<1x8xi32>) -> tensor<1x1x3x3x8xi32>

// -----

// CHECK: 'glow_cpu.dot_winograd_convolution' op (%r): expected a dilation or a stride along each dimension, found a kernel of [3, 3], dilations [2, 2] and strides [2, 2]
%x, %u, %b = "test.op"() : () -> (tensor<1x1x9x9x8xui8>, tensor<25x1x1x4x8x2xi16>, tensor<1x8xi32>)
%r = glow_cpu.dot_winograd_convolution %x, %u, %b tile 2 strides [2, 2] dilations [2, 2] : (tensor<1x1x9x9x8xui8>, tensor<25x1x1x4x8x2xi16>, tensor<1x8xi32>) -> tensor<1x1x3x3x8xi32>

// -----

// CHECK: 'glow_cpu.dot_winograd_convolution' op (%r): expected 2 groups of whole blocks, one for a filter in parts, found input tensor<1x3x9x9x8xui8>, filter tensor<16x2x1x4x8x2xi16> and bias tensor<2x8xi32>
%x, %u, %b = "test.op"() : () -> (tensor<1x3x9x9x8xui8>, tensor<16x2x1x4x8x2xi16>, tensor<2x8xi32>)
%r = glow_cpu.dot_winograd_convolution %x, %u, %b tile 2 group 2 : (tensor<1x3x9x9x8xui8>, tensor<16x2x1x4x8x2xi16>, tensor<2x8xi32>) -> tensor<1x2x7x7x8xi32>
