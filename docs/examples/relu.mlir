func.func @main(%x: tensor<2x20xf32> {glow.name = "x"}) -> (tensor<2x20xf32> {glow.name = "y"}) {
  %y = glow.relu %x : (tensor<2x20xf32>) -> tensor<2x20xf32>
  func.return %y : tensor<2x20xf32>
}
