func.func @main(%x: tensor<1x2x5xf32>) -> tensor<1x2x5xf32> {
  %f = glow.constant dense<0.5> : tensor<2x2x3xf32>
  %g = glow.constant dense<2.0> : tensor<2x2x1xf32>
  %b = glow.constant dense<[1.0, 2.0]> : tensor<2xf32>
  %large = glow.convolution %x, %f, %b pads [1, 1] : (tensor<1x2x5xf32>, tensor<2x2x3xf32>, tensor<2xf32>) -> tensor<1x2x5xf32>
  %small = glow.convolution %x, %g, %b : (tensor<1x2x5xf32>, tensor<2x2x1xf32>, tensor<2xf32>) -> tensor<1x2x5xf32>
  %y = glow.add %large, %small : (tensor<1x2x5xf32>, tensor<1x2x5xf32>) -> tensor<1x2x5xf32>
  func.return %y : tensor<1x2x5xf32>
}
