// A convolution of 16 to 16 channels in integers; the result is divided by 16, rounded, and not negative.
func.func @main(%x: tensor<1x16x6x6xi8> {glow.name = "x"}) -> (tensor<1x16x6x6x!quant.uniform<i8:f32, 0.5>> {glow.name = "y"}) {
  %w = glow.splat {value = 3 : i64} : tensor<16x16x3x3xi8>
  %b = glow.splat {value = 5 : i64} : tensor<16xi32>
  %acc = glow.convolution %x, %w, %b {dilations = array<i64: 1, 1>, pads = array<i64: 1, 1, 1, 1>, strides = array<i64: 1, 1>} : (tensor<1x16x6x6xi8>, tensor<16x16x3x3xi8>, tensor<16xi32>) -> tensor<1x16x6x6xi32>
  %p = glow.relu %acc : (tensor<1x16x6x6xi32>) -> tensor<1x16x6x6xi32>
  %m = glow.splat {value = 1 : i64} : tensor<1x16x6x6xi32>
  %s = glow.splat {value = 4 : i64} : tensor<1x16x6x6xi32>
  %y = glow.rescale %p, %m, %s : (tensor<1x16x6x6xi32>, tensor<1x16x6x6xi32>, tensor<1x16x6x6xi32>) -> tensor<1x16x6x6x!quant.uniform<i8:f32, 0.5>>
  func.return %y : tensor<1x16x6x6x!quant.uniform<i8:f32, 0.5>>
}
