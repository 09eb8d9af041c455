func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %a = glow.broadcast %x : (tensor<4xf32>) -> tensor<1000x4xf32>
  %b = glow.exp %a : (tensor<1000x4xf32>) -> tensor<1000x4xf32>
  %c = glow.sin %a : (tensor<1000x4xf32>) -> tensor<1000x4xf32>
  %p = glow.reduce_sum %b axes [0] : (tensor<1000x4xf32>) -> tensor<4xf32>
  %q = glow.reduce_sum %c axes [0] : (tensor<1000x4xf32>) -> tensor<4xf32>
  %y = glow.add %p, %q : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  func.return %y : tensor<4xf32>
}
