func.func @main(%x: tensor<64x8xf32> {glow.name = "x"}) -> (tensor<64x5xf32> {glow.name = "y"}) {
  %w = glow.constant dense<0.5> : tensor<8x5xf32>
  %m = glow.matmul %x, %w : (tensor<64x8xf32>, tensor<8x5xf32>) -> tensor<64x5xf32>
  %y = glow.softmax %m axis 1 : (tensor<64x5xf32>) -> tensor<64x5xf32>
  func.return %y : tensor<64x5xf32>
}
