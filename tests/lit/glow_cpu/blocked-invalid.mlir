// RUN: glow-opt %s --split-input-file --verify-diagnostics | filecheck %s

// Operators on blocked layouts that do not verify.

// CHECK: 'glow_cpu.pack_channels' op (%r): expected block of at least 1, found 0
%x = "test.op"() : () -> tensor<1x24x9xf32>
%r = glow_cpu.pack_channels %x block 0 : (tensor<1x24x9xf32>) -> tensor<1x24x9x1xf32>

// -----

// CHECK: 'glow_cpu.unpack_channels' op (%r): expected channels that 2 blocks of 16 hold, found 33
%x = "test.op"() : () -> tensor<1x2x9x16xf32>
%r = glow_cpu.unpack_channels %x channels 33 : (tensor<1x2x9x16xf32>) -> tensor<1x33x9xf32>

// -----

// CHECK: 'glow_cpu.blocked_convolution' op (%r): index cb runs over 2 values, but dimension 1 of filter has 1; found input tensor<1x2x9x16xf32>, filter tensor<3x1x3x16x16xf32>, bias tensor<3x16xf32>
%x, %w, %b = "test.op"() : () -> (tensor<1x2x9x16xf32>, tensor<3x1x3x16x16xf32>, tensor<3x16xf32>)
%r = glow_cpu.blocked_convolution %x, %w, %b : (tensor<1x2x9x16xf32>, tensor<3x1x3x16x16xf32>, tensor<3x16xf32>) -> tensor<1x3x7x16xf32>

// -----

// CHECK: 'glow_cpu.blocked_convolution' op (%r): expected bias of rank 2, found rank 1; found input tensor<1x2x9x16xf32>, filter tensor<3x2x3x16x16xf32>, bias tensor<48xf32>
%x, %w, %b = "test.op"() : () -> (tensor<1x2x9x16xf32>, tensor<3x2x3x16x16xf32>, tensor<48xf32>)
%r = glow_cpu.blocked_convolution %x, %w, %b : (tensor<1x2x9x16xf32>, tensor<3x2x3x16x16xf32>, tensor<48xf32>) -> tensor<1x3x7x16xf32>

// -----

// CHECK: 'glow_cpu.blocked_convolution' op (%r): expected a filter that fits into the input
%x, %w, %b = "test.op"() : () -> (tensor<1x2x2x16xf32>, tensor<3x2x3x16x16xf32>, tensor<3x16xf32>)
%r = glow_cpu.blocked_convolution %x, %w, %b : (tensor<1x2x2x16xf32>, tensor<3x2x3x16x16xf32>, tensor<3x16xf32>) -> tensor<1x3x0x16xf32>

// -----

// CHECK: 'glow_cpu.blocked_convolution' op (%r): expected 2 groups of whole blocks, found input tensor<1x4x9x16xf32> and filter tensor<3x2x3x16x16xf32>
%x, %w, %b = "test.op"() : () -> (tensor<1x4x9x16xf32>, tensor<3x2x3x16x16xf32>, tensor<3x16xf32>)
%r = glow_cpu.blocked_convolution %x, %w, %b group 2 : (tensor<1x4x9x16xf32>, tensor<3x2x3x16x16xf32>, tensor<3x16xf32>) -> tensor<1x3x7x16xf32>

// -----

// CHECK: 'glow_cpu.blocked_depthwise_convolution' op (%r): index c runs over 16 values, but dimension 2 of filter has 8; found input tensor<1x2x9x16xf32>,
// CHECK-SAME: filter tensor<2x3x8xf32>, bias tensor<2x16xf32>
%x, %w, %b = "test.op"() : () -> (tensor<1x2x9x16xf32>, tensor<2x3x8xf32>, tensor<2x16xf32>)
%r = glow_cpu.blocked_depthwise_convolution %x, %w, %b : (tensor<1x2x9x16xf32>, tensor<2x3x8xf32>, tensor<2x16xf32>) -> tensor<1x2x7x16xf32>

// -----

// CHECK: 'glow_cpu.lane_sum_convolution' op (%r): index o runs over 3 values, but dimension 0 of bias has 16; found input tensor<1x2x9x16xf32>,
// CHECK-SAME: filter tensor<3x2x3x16xf32>, bias tensor<16xf32>
%x, %w, %b = "test.op"() : () -> (tensor<1x2x9x16xf32>, tensor<3x2x3x16xf32>, tensor<16xf32>)
%r = glow_cpu.lane_sum_convolution %x, %w, %b : (tensor<1x2x9x16xf32>, tensor<3x2x3x16xf32>, tensor<16xf32>) -> tensor<1x3x7xf32>

// -----

// CHECK: 'glow_cpu.blocked_max_pool' op (%r): expected input of rank 4 to 6, found tensor<2x9x16xf32>
%x = "test.op"() : () -> tensor<2x9x16xf32>
%r = glow_cpu.blocked_max_pool %x strides [2] kernel [2] : (tensor<2x9x16xf32>) -> tensor<2x4x16xf32>
