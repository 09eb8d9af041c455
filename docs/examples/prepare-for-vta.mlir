// The mean of each channel, by sums of 32 bits. The host quantizes the image, and makes floats of the result.
!s = tensor<1x16xi32>
!q = tensor<1x16x!quant.uniform<i8:f32, 0.5>>
func.func @main(%image: tensor<1x16x4x4xf32> {glow.name = "image"}) -> (tensor<1x16xf32> {glow.name = "y"}) {
  %x = glow.quantize %image : (tensor<1x16x4x4xf32>) -> tensor<1x16x4x4x!quant.uniform<i8:f32, 0.5>>
  %i = glow.storage_cast %x : (tensor<1x16x4x4x!quant.uniform<i8:f32, 0.5>>) -> tensor<1x16x4x4xi8>
  %w = glow.cast %i : (tensor<1x16x4x4xi8>) -> tensor<1x16x4x4xi32>
  %sum = glow.reduce_sum %w axes [2, 3] : (tensor<1x16x4x4xi32>) -> !s
  %one = glow.splat value 1 : !s
  %four = glow.splat value 4 : !s
  %mean = glow.rescale %sum, %one, %four : (!s, !s, !s) -> !q
  %y = glow.dequantize %mean : (!q) -> tensor<1x16xf32>
  func.return %y : tensor<1x16xf32>
}
