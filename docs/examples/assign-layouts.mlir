func.func @main(%x: tensor<1x1x4x4xf32>) -> tensor<1x4x4x4xf32> {
  %f = glow.constant dense<[[[[1.0]]], [[[2.0]]], [[[3.0]]], [[[4.0]]]]> : tensor<4x1x1x1xf32>
  %b = glow.constant dense<[0.5, -0.5, 1.5, -1.5]> : tensor<4xf32>
  %y = glow.convolution %x, %f, %b : (tensor<1x1x4x4xf32>, tensor<4x1x1x1xf32>, tensor<4xf32>) -> tensor<1x4x4x4xf32>
  %r = glow.relu %y : (tensor<1x4x4x4xf32>) -> tensor<1x4x4x4xf32>
  func.return %r : tensor<1x4x4x4xf32>
}
