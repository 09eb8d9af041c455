func.func @main(%x: tensor<100x4xf32>) -> tensor<4xf32> {
  %a = glow.exp %x : (tensor<100x4xf32>) -> tensor<100x4xf32>
  %b = glow.reduce_sum %a axes [0] : (tensor<100x4xf32>) -> tensor<4xf32>
  %w = glow.broadcast %b : (tensor<4xf32>) -> tensor<500x4xf32>
  %c = glow.sin %w : (tensor<500x4xf32>) -> tensor<500x4xf32>
  %d = glow.reduce_sum %c axes [0] : (tensor<500x4xf32>) -> tensor<4xf32>
  %e = glow.broadcast %d : (tensor<4xf32>) -> tensor<100x4xf32>
  %f = glow.mul %a, %e : (tensor<100x4xf32>, tensor<100x4xf32>) -> tensor<100x4xf32>
  %y = glow.reduce_sum %f axes [0] : (tensor<100x4xf32>) -> tensor<4xf32>
  func.return %y : tensor<4xf32>
}
