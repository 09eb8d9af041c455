// A product of matrices, stated as a formula, with a rectifier after it.
func.func @main(%x: tensor<3x4xf32> {glow.name = "x"}, %w: tensor<5x4xf32> {glow.name = "w"}) -> (tensor<3x5xf32> {glow.name = "y"}) {
  %p = glow.generic %x, %w formula "y[b, i] = sum(k) x[b, k] * w[i, k]" : (tensor<3x4xf32>, tensor<5x4xf32>) -> tensor<3x5xf32>
  %y = glow.relu %p : (tensor<3x5xf32>) -> tensor<3x5xf32>
  func.return %y : tensor<3x5xf32>
}
