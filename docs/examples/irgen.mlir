func.func @main(%x: tensor<2x3xf32> {glow.name = "x"}) -> (tensor<3x2xf32> {glow.name = "y"}) {
  %a = glow.relu %x : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %b = glow.reshape %a : (tensor<2x3xf32>) -> tensor<3x2xf32>
  %y = glow.exp %b : (tensor<3x2xf32>) -> tensor<3x2xf32>
  func.return %y : tensor<3x2xf32>
}
