// RUN: glow-opt %s --fold-constants --split-input-file | filecheck %s --check-prefix ALL
// RUN: glow-opt %s --fold-constants="keep-quantized=true" --split-input-file | filecheck %s --check-prefix KEEP

// A dequantization says what integers a constant is made of; quantization of constants is folded.
func.func @weights() -> tensor<2xf32> {
  %a = glow.constant dense<[1.0, -2.0]> : tensor<2xf32>
  %q = glow.quantize %a : (tensor<2xf32>) -> tensor<2x!quant.uniform<i8:f32, 0.5:3>>
  %r = glow.dequantize %q : (tensor<2x!quant.uniform<i8:f32, 0.5:3>>) -> tensor<2xf32>
  func.return %r : tensor<2xf32>
}

// ALL-LABEL:  @weights(
// ALL-NEXT:   %r = glow.constant dense<[1.000000e+00, -2.000000e+00]> : tensor<2xf32>

// KEEP-LABEL: @weights(
// KEEP-NEXT:  %q = glow.constant dense<[5, -1]> : tensor<2xi8> : tensor<2x!quant.uniform<i8:f32, 0.5:3>>
// KEEP-NEXT:  %r = glow.dequantize %q

// -----

// A splat with a scale for each row is not the same everywhere.
func.func @by_row() -> tensor<2x2x!quant.uniform<i8:f32:0, {0.5, 0.25:1}>> {
  %a = glow.splat value 2.0 : tensor<2x2xf32>
  %q = glow.quantize %a : (tensor<2x2xf32>) -> tensor<2x2x!quant.uniform<i8:f32:0, {0.5, 0.25:1}>>
  func.return %q : tensor<2x2x!quant.uniform<i8:f32:0, {0.5, 0.25:1}>>
}

// ALL-LABEL:  @by_row(
// ALL-NEXT:   %q = glow.constant dense<{{\[\[}}4, 4], [9, 9]]> : tensor<2x2xi8> : tensor<2x2x!quant.uniform<i8:f32:0, {0.5, 0.25:1}>>
// KEEP-LABEL: @by_row(
// KEEP-NEXT:  %q = glow.constant dense<{{\[\[}}4, 4], [9, 9]]> : tensor<2x2xi8> : tensor<2x2x!quant.uniform<i8:f32:0, {0.5, 0.25:1}>>
