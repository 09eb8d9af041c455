func.func @main(%x: tensor<1x3x4x5xf32>) -> tensor<1x3x4x5xf32> {
  %last = glow.transpose %x permutation [0, 2, 3, 1] : (tensor<1x3x4x5xf32>) -> tensor<1x4x5x3xf32>
  %relu = glow.relu %last : (tensor<1x4x5x3xf32>) -> tensor<1x4x5x3xf32>
  %first = glow.transpose %relu permutation [0, 3, 1, 2] : (tensor<1x4x5x3xf32>) -> tensor<1x3x4x5xf32>
  func.return %first : tensor<1x3x4x5xf32>
}
