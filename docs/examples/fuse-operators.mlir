func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %root = glow.splat value 1.4142135381698608 : tensor<4xf32>
  %one = glow.splat value 1.0 : tensor<4xf32>
  %half = glow.splat value 0.5 : tensor<4xf32>
  %quotient = glow.div %x, %root : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %erf = glow.erf %quotient : (tensor<4xf32>) -> tensor<4xf32>
  %sum = glow.add %erf, %one : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %product = glow.mul %x, %sum : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %y = glow.mul %product, %half : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  func.return %y : tensor<4xf32>
}
