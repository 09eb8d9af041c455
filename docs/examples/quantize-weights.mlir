func.func @main(%x: tensor<2x8xf32> {glow.name = "x"}) -> (tensor<2x1xf32> {glow.name = "y"}) {
  %w = glow.constant dense<[[-7.0], [0.0], [1.0], [2.0], [3.0], [4.0], [5.5], [8.0]]> : tensor<8x1xf32>
  %y = glow.matmul %x, %w : (tensor<2x8xf32>, tensor<8x1xf32>) -> tensor<2x1xf32>
  func.return %y : tensor<2x1xf32>
}
