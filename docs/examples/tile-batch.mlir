func.func @main(%x: tensor<2x4x4x8xf32>) -> tensor<2x4x4x8xf32> {
  %y = glow.exp %x : (tensor<2x4x4x8xf32>) -> tensor<2x4x4x8xf32>
  %r = glow.relu %y : (tensor<2x4x4x8xf32>) -> tensor<2x4x4x8xf32>
  func.return %r : tensor<2x4x4x8xf32>
}
