// RUN: glow-opt %s --split-input-file --verify-diagnostics | filecheck %s

// CHECK: 'glow.layer_norm' op (%r): index j runs over 4 values, but dimension 0 of bias has 8; found input tensor<8x4xf32>, scale tensor<4xf32>, bias tensor<8xf32>
%x, %s, %b = "test.op"() : () -> (tensor<8x4xf32>, tensor<4xf32>, tensor<8xf32>)
%r = glow.layer_norm %x, %s, %b axis 1 : (tensor<8x4xf32>, tensor<4xf32>, tensor<8xf32>) -> tensor<8x4xf32>

// -----

// CHECK: 'glow.rms_norm' op (%r): expected axis in 0 to 1, found 2
%x, %s = "test.op"() : () -> (tensor<8x4xf32>, tensor<4xf32>)
%r = glow.rms_norm %x, %s axis 2 : (tensor<8x4xf32>, tensor<4xf32>) -> tensor<8x4xf32>

// -----

// CHECK: 'glow.rms_norm' op (%r): expected float elements, found tensor<8x4xi32>
%x, %s = "test.op"() : () -> (tensor<8x4xi32>, tensor<4xi32>)
%r = glow.rms_norm %x, %s axis 1 : (tensor<8x4xi32>, tensor<4xi32>) -> tensor<8x4xi32>

// -----

// CHECK: 'glow.group_norm' op (%r): expected groups that divide 8 channels evenly
%x, %s = "test.op"() : () -> (tensor<1x8x4xf32>, tensor<8xf32>)
%r = glow.group_norm %x, %s, %s groups 3 : (tensor<1x8x4xf32>, tensor<8xf32>, tensor<8xf32>) -> tensor<1x8x4xf32>
