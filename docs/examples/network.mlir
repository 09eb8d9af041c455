// A convolution with batch normalisation, a residual sum, and a hard-swish.
func.func @main(%x: tensor<1x2x4x4xf32> {glow.name = "x"}) -> (tensor<1x2x4x4xf32> {glow.name = "y"}) {
  %w = glow.constant dense<[[[[1.0]], [[2.0]]], [[[3.0]], [[4.0]]]]> : tensor<2x2x1x1xf32>
  %b = glow.constant dense<[0.5, -0.5]> : tensor<2xf32>
  %scale = glow.constant dense<[2.0, 4.0]> : tensor<2xf32>
  %zero = glow.splat value 0.0 : tensor<2xf32>
  %one = glow.splat value 1.0 : tensor<2xf32>
  %conv = glow.convolution %x, %w, %b : (tensor<1x2x4x4xf32>, tensor<2x2x1x1xf32>, tensor<2xf32>) -> tensor<1x2x4x4xf32>
  %norm = glow.batch_norm %conv, %scale, %zero, %zero, %one epsilon 0.0 : (tensor<1x2x4x4xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>) -> tensor<1x2x4x4xf32>
  %relu = glow.relu %norm : (tensor<1x2x4x4xf32>) -> tensor<1x2x4x4xf32>
  %sum = glow.add %relu, %x : (tensor<1x2x4x4xf32>, tensor<1x2x4x4xf32>) -> tensor<1x2x4x4xf32>
  %y = glow.hard_swish %sum : (tensor<1x2x4x4xf32>) -> tensor<1x2x4x4xf32>
  func.return %y : tensor<1x2x4x4xf32>
}
