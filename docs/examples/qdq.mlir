// A convolution in QDQ form: i8 activations and weights, u8 results.
func.func @main(%x: tensor<1x1x4x4x!quant.uniform<i8:f32, 0.5:3>>) -> tensor<1x2x4x4x!quant.uniform<u8:f32, 0.25>> {
  %k = glow.constant dense<[[[[1]]], [[[-2]]]]> : tensor<2x1x1x1xi8> : tensor<2x1x1x1x!quant.uniform<i8:f32:0, {0.1, 0.2}>>
  %b = glow.constant dense<[1.0, -0.5]> : tensor<2xf32>
  %r = glow.dequantize %x : (tensor<1x1x4x4x!quant.uniform<i8:f32, 0.5:3>>) -> tensor<1x1x4x4xf32>
  %w = glow.dequantize %k : (tensor<2x1x1x1x!quant.uniform<i8:f32:0, {0.1, 0.2}>>) -> tensor<2x1x1x1xf32>
  %c = glow.convolution %r, %w, %b
     : (tensor<1x1x4x4xf32>, tensor<2x1x1x1xf32>, tensor<2xf32>) -> tensor<1x2x4x4xf32>
  %y = glow.relu %c : (tensor<1x2x4x4xf32>) -> tensor<1x2x4x4xf32>
  %q = glow.quantize %y : (tensor<1x2x4x4xf32>) -> tensor<1x2x4x4x!quant.uniform<u8:f32, 0.25>>
  func.return %q : tensor<1x2x4x4x!quant.uniform<u8:f32, 0.25>>
}
