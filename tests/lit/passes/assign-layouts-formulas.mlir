// RUN: glow-opt %s --assign-layouts="block=8" --dce | filecheck %s

// Operators without a rule of their own work on blocks if their formula computes each channel by
// itself, and somebody wants the result blocked.

// CHECK-LABEL: @softmax_over_space
// CHECK: glow.softmax {{.*}} axis 2 : (tensor<1x2x6x6x8xf32>) -> tensor<1x2x6x6x8xf32>
// CHECK-NOT: glow_cpu.unpack_channels
// CHECK: glow_cpu.blocked_convolution
func.func @softmax_over_space(%x: tensor<1x16x6x6xf32>) -> tensor<1x16x6x6xf32> {
  %w = glow.constant dense<1.0> : tensor<16x16x1x1xf32>
  %b = glow.splat value 0.0 : tensor<16xf32>
  %0 = glow.convolution %x, %w, %b : (tensor<1x16x6x6xf32>, tensor<16x16x1x1xf32>, tensor<16xf32>) -> tensor<1x16x6x6xf32>
  %1 = glow.softmax %0 axis 2 : (tensor<1x16x6x6xf32>) -> tensor<1x16x6x6xf32>
  %2 = glow.convolution %1, %w, %b : (tensor<1x16x6x6xf32>, tensor<16x16x1x1xf32>, tensor<16xf32>) -> tensor<1x16x6x6xf32>
  func.return %2 : tensor<1x16x6x6xf32>
}

// CHECK-LABEL: @softmax_over_channels
// CHECK: glow_cpu.unpack_channels
// CHECK-NEXT: glow.softmax {{.*}} axis 1 : (tensor<1x16x6x6xf32>)
func.func @softmax_over_channels(%x: tensor<1x16x6x6xf32>) -> tensor<1x16x6x6xf32> {
  %w = glow.constant dense<1.0> : tensor<16x16x1x1xf32>
  %b = glow.splat value 0.0 : tensor<16xf32>
  %0 = glow.convolution %x, %w, %b : (tensor<1x16x6x6xf32>, tensor<16x16x1x1xf32>, tensor<16xf32>) -> tensor<1x16x6x6xf32>
  %1 = glow.softmax %0 axis 1 : (tensor<1x16x6x6xf32>) -> tensor<1x16x6x6xf32>
  %2 = glow.convolution %1, %w, %b : (tensor<1x16x6x6xf32>, tensor<16x16x1x1xf32>, tensor<16xf32>) -> tensor<1x16x6x6xf32>
  func.return %2 : tensor<1x16x6x6xf32>
}

// What is smaller than its operand stays blocked in any case, here a maximum of 12 channels.
// CHECK-LABEL: @maximum
// CHECK: glow.reduce_max {{.*}} axes [2, 3] : (tensor<1x2x6x6x8xf32>) -> tensor<1x2x8xf32>
func.func @maximum(%x: tensor<1x16x6x6xf32>) -> tensor<1x12xf32> {
  %w = glow.constant dense<1.0> : tensor<12x16x1x1xf32>
  %b = glow.splat value 0.0 : tensor<12xf32>
  %0 = glow.convolution %x, %w, %b : (tensor<1x16x6x6xf32>, tensor<12x16x1x1xf32>, tensor<12xf32>) -> tensor<1x12x6x6xf32>
  %1 = glow.reduce_max %0 axes [2, 3] : (tensor<1x12x6x6xf32>) -> tensor<1x12xf32>
  func.return %1 : tensor<1x12xf32>
}

// The moments of groups are those of channels, which are sums over space, and few numbers.
// CHECK-LABEL: @group_norm
// CHECK: %[[X:.*]] = glow_cpu.blocked_convolution
// CHECK: glow.reduce_mean %[[X]] axes [2, 3] keep_dims true : (tensor<1x2x6x6x8xf32>) -> tensor<1x2x1x1x8xf32>
// CHECK: glow.reduce_mean {{.*}} axes [2] keep_dims true : (tensor<1x4x4xf32>) -> tensor<1x4x1xf32>
// CHECK: glow.generic %[[X]], {{.*}} formula "y[n, o, i] = (sum(s..) (x[n, o, s.., i] - mean[n, o, i]) ** 2) / count(s..)"
// CHECK-NOT: glow_cpu.unpack_channels
// CHECK: glow.div
// CHECK: glow.sub %[[X]], {{.*}} : (tensor<1x2x6x6x8xf32>, tensor<1x2x6x6x8xf32>)
// CHECK-NOT: glow_cpu.pack_channels
// CHECK: glow_cpu.blocked_convolution
func.func @group_norm(%x: tensor<1x16x6x6xf32>, %s: tensor<16xf32>) -> tensor<1x16x6x6xf32> {
  %w = glow.constant dense<1.0> : tensor<16x16x1x1xf32>
  %b = glow.splat value 0.0 : tensor<16xf32>
  %0 = glow.convolution %x, %w, %b : (tensor<1x16x6x6xf32>, tensor<16x16x1x1xf32>, tensor<16xf32>) -> tensor<1x16x6x6xf32>
  %1 = glow.group_norm %0, %s, %b groups 4 : (tensor<1x16x6x6xf32>, tensor<16xf32>, tensor<16xf32>) -> tensor<1x16x6x6xf32>
  %2 = glow.convolution %1, %w, %b : (tensor<1x16x6x6xf32>, tensor<16x16x1x1xf32>, tensor<16xf32>) -> tensor<1x16x6x6xf32>
  func.return %2 : tensor<1x16x6x6xf32>
}

// Users of a plain result: the rows of a group lie together.
// CHECK-LABEL: @plain_group_norm
// CHECK: glow_cpu.unpack_channels
// CHECK-NEXT: glow.group_norm
func.func @plain_group_norm(%x: tensor<1x16x6x6xf32>, %s: tensor<16xf32>) -> tensor<1x16x6x6xf32> {
  %w = glow.constant dense<1.0> : tensor<16x16x1x1xf32>
  %b = glow.splat value 0.0 : tensor<16xf32>
  %0 = glow.convolution %x, %w, %b : (tensor<1x16x6x6xf32>, tensor<16x16x1x1xf32>, tensor<16xf32>) -> tensor<1x16x6x6xf32>
  %1 = glow.group_norm %0, %s, %b groups 4 : (tensor<1x16x6x6xf32>, tensor<16xf32>, tensor<16xf32>) -> tensor<1x16x6x6xf32>
  func.return %1 : tensor<1x16x6x6xf32>
}
