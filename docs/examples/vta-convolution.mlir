// Two convolutions of 16 channels in integers, as glow-legalize-quantized leaves them. The first result is divided by 16,
// rounded, and not negative. The host quantizes the image.
!i = tensor<1x16x6x6xi32>
!q = tensor<1x16x6x6x!quant.uniform<i8:f32, 0.5>>
func.func @main(%image: tensor<1x16x6x6xf32> {glow.name = "image"}) -> (!q {glow.name = "y"}) {
  %x = glow.quantize %image : (tensor<1x16x6x6xf32>) -> !q
  %v = glow.constant dense<3> : tensor<16x16x3x3xi8>
  %w = glow.constant dense<-2> : tensor<16x16x1x1xi8>
  %b = glow.constant dense<5> : tensor<16xi32>
  %one = glow.splat value 1 : !i
  %four = glow.splat value 4 : !i
  %a = glow.convolution %x, %v, %b pads [1, 1, 1, 1] : (!q, tensor<16x16x3x3xi8>, tensor<16xi32>) -> !i
  %p = glow.relu %a : (!i) -> !i
  %h = glow.rescale %p, %one, %four : (!i, !i, !i) -> !q
  %c = glow.convolution %h, %w, %b : (!q, tensor<16x16x1x1xi8>, tensor<16xi32>) -> !i
  %y = glow.rescale %c, %one, %four : (!i, !i, !i) -> !q
  func.return %y : !q
}
