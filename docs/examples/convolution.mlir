// A convolution of 3 x 3 with a rectifier on blocks of 8 channels: 16 channels of 4 x 4 pixels become 8 of 2 x 2.
func.func @main(%x: tensor<1x2x4x4x8xf32> {glow.name = "x"}) -> (tensor<1x1x2x2x8xf32> {glow.name = "y"}) {
  %w = glow.constant dense<0.125> : tensor<1x2x3x3x8x8xf32>
  %b = glow.constant dense<0.5> : tensor<1x8xf32>
  %c = glow_cpu.blocked_convolution %x, %w, %b : (tensor<1x2x4x4x8xf32>, tensor<1x2x3x3x8x8xf32>, tensor<1x8xf32>) -> tensor<1x1x2x2x8xf32>
  %y = glow.relu %c : (tensor<1x1x2x2x8xf32>) -> tensor<1x1x2x2x8xf32>
  func.return %y : tensor<1x1x2x2x8xf32>
}
