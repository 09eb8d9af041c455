// A network of f32. Its last node is to stay in f32.
func.func @main(%x: tensor<1x4xf32> {glow.name = "x"}) -> (tensor<1x2xf32> {glow.name = "y"}) {
  %w = glow.constant dense<[[1.0, 0.1, -2.0, 70000.0], [0.5, 3.0, 1.0, 1.0]]> : tensor<2x4xf32>
  %b = glow.constant dense<[0.5, -0.5]> : tensor<2xf32>
  %z = glow.fully_connected %x, %w, %b : (tensor<1x4xf32>, tensor<2x4xf32>, tensor<2xf32>) -> tensor<1x2xf32>
  %r = glow.relu %z : (tensor<1x2xf32>) -> tensor<1x2xf32>
  %y = glow.softmax %r axis 1 : (tensor<1x2xf32>) -> tensor<1x2xf32>
  func.return %y : tensor<1x2xf32>
}
