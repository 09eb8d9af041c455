func.func @main(%x: tensor<1x1x4x4x1xf32>) -> tensor<1x1x2x2x1xf32> {
  %f = glow.constant dense<[[[[[[1.0]], [[2.0]], [[1.0]]], [[[0.0]], [[0.0]], [[0.0]]], [[[-1.0]], [[-2.0]], [[-1.0]]]]]]> : tensor<1x1x3x3x1x1xf32>
  %b = glow.constant dense<[[0.5]]> : tensor<1x1xf32>
  %y = glow_cpu.blocked_convolution %x, %f, %b : (tensor<1x1x4x4x1xf32>, tensor<1x1x3x3x1x1xf32>, tensor<1x1xf32>) -> tensor<1x1x2x2x1xf32>
  func.return %y : tensor<1x1x2x2x1xf32>
}
