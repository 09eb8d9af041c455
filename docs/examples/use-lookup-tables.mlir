func.func @main(%x: tensor<32x32x!quant.uniform<u8:f32, 0.05:128>>) -> tensor<32x32x!quant.uniform<u8:f32, 0.004>> {
  %r = glow.dequantize %x : (tensor<32x32x!quant.uniform<u8:f32, 0.05:128>>) -> tensor<32x32xf32>
  %s = glow.sigmoid %r : (tensor<32x32xf32>) -> tensor<32x32xf32>
  %y = glow.quantize %s : (tensor<32x32xf32>) -> tensor<32x32x!quant.uniform<u8:f32, 0.004>>
  func.return %y : tensor<32x32x!quant.uniform<u8:f32, 0.004>>
}
