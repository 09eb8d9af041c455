func.func @main(%x: tensor<1x3xf32>) -> tensor<1x1xf32> {
  %wq = glow.constant dense<0.5> : tensor<3x2xf32>
  %wk = glow.constant dense<0.25> : tensor<3x2xf32>
  %two = glow.splat value 2.0 : tensor<1x2xf32>
  %three = glow.splat value 3.0 : tensor<1x2xf32>
  %q = glow.matmul %x, %wq : (tensor<1x3xf32>, tensor<3x2xf32>) -> tensor<1x2xf32>
  %query = glow.add %q, %two : (tensor<1x2xf32>, tensor<1x2xf32>) -> tensor<1x2xf32>
  %k = glow.matmul %x, %wk : (tensor<1x3xf32>, tensor<3x2xf32>) -> tensor<1x2xf32>
  %key = glow.add %k, %three : (tensor<1x2xf32>, tensor<1x2xf32>) -> tensor<1x2xf32>
  %y = glow.matmul %query, %key transpose_rhs true : (tensor<1x2xf32>, tensor<1x2xf32>) -> tensor<1x1xf32>
  func.return %y : tensor<1x1xf32>
}
