func.func @main(%x: tensor<4x6xf32>) -> tensor<4x2xf32> {
  %wide = glow.slice %x starts [0, 1] sizes [4, 4] : (tensor<4x6xf32>) -> tensor<4x4xf32>
  %narrow = glow.slice %wide starts [0, 2] sizes [4, 2] : (tensor<4x4xf32>) -> tensor<4x2xf32>
  func.return %narrow : tensor<4x2xf32>
}
