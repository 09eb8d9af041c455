// Two kernels one after the other, each with enough work to divide.
func.func @main(%x: tensor<16x1024xf32> {glow.name = "x"}) -> (tensor<16x1024xf32> {glow.name = "y"}) {
  %a = glow.relu %x : (tensor<16x1024xf32>) -> tensor<16x1024xf32>
  %y = glow.neg %a : (tensor<16x1024xf32>) -> tensor<16x1024xf32>
  func.return %y : tensor<16x1024xf32>
}
