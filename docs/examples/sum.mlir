// The sum of many numbers: one result, too few for threads and register tiles.
func.func @main(%x: tensor<100000xf32> {glow.name = "x"}) -> (tensor<f32> {glow.name = "y"}) {
  %y = glow.reduce_sum %x axes [0] : (tensor<100000xf32>) -> tensor<f32>
  func.return %y : tensor<f32>
}
