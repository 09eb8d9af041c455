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
