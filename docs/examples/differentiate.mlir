// The sum of a layer's results, differentiated with respect to its weights.
func.func @main(%x: tensor<2x4xf32> {glow.name = "x"}, %w: tensor<3x4xf32> {glow.name = "w"}) -> (tensor<f32> {glow.name = "loss"}) {
  %p = glow.matmul %x, %w transpose_rhs true : (tensor<2x4xf32>, tensor<3x4xf32>) -> tensor<2x3xf32>
  %r = glow.relu %p : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %loss = glow.reduce_sum %r axes [0, 1] : (tensor<2x3xf32>) -> tensor<f32>
  func.return %loss : tensor<f32>
}
