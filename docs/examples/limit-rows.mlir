func.func @main(%x: tensor<512x8xf32> {glow.name = "x"}) -> (tensor<8x8xf32> {glow.name = "y"}) {
  %e = glow.exp %x : (tensor<512x8xf32>) -> tensor<512x8xf32>
  %y = glow.matmul %e, %x transpose_lhs true : (tensor<512x8xf32>, tensor<512x8xf32>) -> tensor<8x8xf32>
  func.return %y : tensor<8x8xf32>
}
