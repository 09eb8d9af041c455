func.func @main(%x: tensor<2x5xf32>) -> tensor<2x5xf32> {
  %y = glow.log_softmax %x axis 1 : (tensor<2x5xf32>) -> tensor<2x5xf32>
  func.return %y : tensor<2x5xf32>
}
