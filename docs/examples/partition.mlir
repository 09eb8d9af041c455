// Two branches of a quantized tensor: one computes with integers, the other with floats.
func.func @main(%x: tensor<1x8x!quant.uniform<i8:f32, 0.5>>) -> (tensor<1x4xf32>, tensor<1x8xf32>) {
  %r = glow.dequantize %x : (tensor<1x8x!quant.uniform<i8:f32, 0.5>>) -> tensor<1x8xf32>
  %k = glow.splat value 3 : tensor<4x8x!quant.uniform<i8:f32, 0.25>>
  %w = glow.dequantize %k : (tensor<4x8x!quant.uniform<i8:f32, 0.25>>) -> tensor<4x8xf32>
  %b = glow.constant dense<[1.0, -0.5, 0.0, 2.0]> : tensor<4xf32>
  %c = glow.fully_connected %r, %w, %b : (tensor<1x8xf32>, tensor<4x8xf32>, tensor<4xf32>) -> tensor<1x4xf32>
  %q = glow.quantize %c : (tensor<1x4xf32>) -> tensor<1x4x!quant.uniform<i8:f32, 0.5>>
  %y = glow.dequantize %q : (tensor<1x4x!quant.uniform<i8:f32, 0.5>>) -> tensor<1x4xf32>
  %e = glow.exp %r : (tensor<1x8xf32>) -> tensor<1x8xf32>
  func.return %y, %e : tensor<1x4xf32>, tensor<1x8xf32>
}
