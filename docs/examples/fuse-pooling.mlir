func.func @main(%x: tensor<1x1x10x10x8xf32>, %u: tensor<36x1x8x8xf32>, %b: tensor<1x8xf32>) -> tensor<1x1x4x4x8xf32> {
  %0 = glow_cpu.winograd_convolution %x, %u, %b tile 4 : (tensor<1x1x10x10x8xf32>, tensor<36x1x8x8xf32>, tensor<1x8xf32>) -> tensor<1x1x8x8x8xf32>
  %1 = glow.relu %0 : (tensor<1x1x8x8x8xf32>) -> tensor<1x1x8x8x8xf32>
  %y = glow_cpu.blocked_max_pool %1 strides [2, 2] kernel [2, 2] : (tensor<1x1x8x8x8xf32>) -> tensor<1x1x4x4x8xf32>
  func.return %y : tensor<1x1x4x4x8xf32>
}
