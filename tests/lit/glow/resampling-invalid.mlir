// RUN: glow-opt %s --split-input-file --verify-diagnostics | filecheck %s

// CHECK: 'glow.resample' op (%r): expected weights of shape (9, 2), found tensor<9x3xf32>
%x, %p, %w = "test.op"() : () -> (tensor<2x5xf32>, tensor<9x2xi32>, tensor<9x3xf32>)
%r = glow.resample %x, %p, %w axis 1 : (tensor<2x5xf32>, tensor<9x2xi32>, tensor<9x3xf32>) -> tensor<2x9xf32>

// -----

// CHECK: 'glow.resample' op (%r): expected weights of f32, found tensor<9x2xf16>
%x, %p, %w = "test.op"() : () -> (tensor<2x5xf16>, tensor<9x2xi32>, tensor<9x2xf16>)
%r = glow.resample %x, %p, %w axis 1 : (tensor<2x5xf16>, tensor<9x2xi32>, tensor<9x2xf16>) -> tensor<2x9xf16>

// -----

// CHECK: 'glow.resample' op (%r): expected axis in 0 to 1, found 2
%x, %p, %w = "test.op"() : () -> (tensor<2x5xf32>, tensor<9x2xi32>, tensor<9x2xf32>)
%r = glow.resample %x, %p, %w axis 2 : (tensor<2x5xf32>, tensor<9x2xi32>, tensor<9x2xf32>) -> tensor<2x9xf32>

// -----

// CHECK: 'glow.sample' op (%r): expected places of i32 or i64, found tensor<1xf32>
%x, %n, %p, %w = "test.op"() : () -> (tensor<2x3x5xf32>, tensor<1xf32>, tensor<1x4x2xi32>, tensor<1x4x2xf32>)
%r = glow.sample %x, %n, %p, %w : (tensor<2x3x5xf32>, tensor<1xf32>, tensor<1x4x2xi32>, tensor<1x4x2xf32>) -> tensor<1x3x4xf32>

// -----

// CHECK: 'glow.sample' op (%r): expected images with elements, found tensor<2x3x0xf32>
%x, %n, %p, %w = "test.op"() : () -> (tensor<2x3x0xf32>, tensor<1xi32>, tensor<1x4x2xi32>, tensor<1x4x2xf32>)
%r = glow.sample %x, %n, %p, %w : (tensor<2x3x0xf32>, tensor<1xi32>, tensor<1x4x2xi32>, tensor<1x4x2xf32>) -> tensor<1x3x4xf32>

// -----

// CHECK: 'glow.fold' op (%r): expected windows of rank 6, found tensor<1x8x2x2xf32>
%x = "test.op"() : () -> tensor<1x8x2x2xf32>
%r = glow.fold %x image [3, 4] : (tensor<1x8x2x2xf32>) -> tensor<1x8x3x4xf32>
