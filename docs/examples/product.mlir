func.func @main(%x: tensor<2x3xf32> {glow.name = "x"}) -> (tensor<2x2xf32> {glow.name = "y"}) {
  %w = glow.constant dense<[[1.0, 0.5], [-2.54, 0.25], [0.02, -1.27]]> : tensor<3x2xf32>
  %y = glow.matmul %x, %w : (tensor<2x3xf32>, tensor<3x2xf32>) -> tensor<2x2xf32>
  func.return %y : tensor<2x2xf32>
}
