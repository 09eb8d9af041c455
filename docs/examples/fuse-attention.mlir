func.func @main(%q: tensor<2x7x4xf32>, %k: tensor<2x9x4xf32>, %v: tensor<2x9x3xf32>, %mask: tensor<2x7x9xf32>) -> tensor<2x7x3xf32> {
  %product = glow.matmul %q, %k transpose_rhs true : (tensor<2x7x4xf32>, tensor<2x9x4xf32>) -> tensor<2x7x9xf32>
  %half = glow.splat value 0.5 : tensor<2x7x9xf32>
  %scores = glow.mul %product, %half : (tensor<2x7x9xf32>, tensor<2x7x9xf32>) -> tensor<2x7x9xf32>
  %masked = glow.add %scores, %mask : (tensor<2x7x9xf32>, tensor<2x7x9xf32>) -> tensor<2x7x9xf32>
  %shares = glow.softmax %masked axis 2 : (tensor<2x7x9xf32>) -> tensor<2x7x9xf32>
  %y = glow.matmul %shares, %v : (tensor<2x7x9xf32>, tensor<2x9x3xf32>) -> tensor<2x7x3xf32>
  func.return %y : tensor<2x7x3xf32>
}
