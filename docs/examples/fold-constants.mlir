func.func @main(%x: tensor<3xf32>) -> tensor<3xf32> {
  %a = glow.constant dense<[1.0, 2.0, 3.0]> : tensor<3xf32>
  %b = glow.constant dense<[10.0, 20.0, 30.0]> : tensor<3xf32>
  %sum = glow.add %a, %b : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
  %y = glow.mul %x, %sum : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
  func.return %y : tensor<3xf32>
}
