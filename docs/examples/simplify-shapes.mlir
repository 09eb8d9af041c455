func.func @main(%x: tensor<4x6xf32>) -> tensor<4x2xf32> {
  %wide = glow.slice %x {starts = array<i64: 0, 1>, sizes = array<i64: 4, 4>, strides = array<i64: 1, 1>} : (tensor<4x6xf32>) -> tensor<4x4xf32>
  %narrow = glow.slice %wide {starts = array<i64: 0, 2>, sizes = array<i64: 4, 2>, strides = array<i64: 1, 1>} : (tensor<4x4xf32>) -> tensor<4x2xf32>
  func.return %narrow : tensor<4x2xf32>
}
