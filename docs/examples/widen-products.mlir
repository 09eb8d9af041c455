// A network that is stored in f16.
func.func @main(%x: tensor<2x4xf16>) -> tensor<2x3xf16> {
  %w = glow.constant dense<5.000000e-01> : tensor<4x3xf16>
  %y = glow.matmul %x, %w : (tensor<2x4xf16>, tensor<4x3xf16>) -> tensor<2x3xf16>
  func.return %y : tensor<2x3xf16>
}
