func.func @main(%x: tensor<1x4x20x20xf32>) -> tensor<1x4x20x20xf32> {
  %y = glow.max_pool %x kernel [5, 5] pads [2, 2, 2, 2] : (tensor<1x4x20x20xf32>) -> tensor<1x4x20x20xf32>
  func.return %y : tensor<1x4x20x20xf32>
}
