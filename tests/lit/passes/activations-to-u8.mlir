// RUN: glow-opt %s --activations-to-u8 --split-input-file | filecheck %s
// RUN: glow-opt %s --activations-to-u8 --activations-to-u8 --split-input-file | filecheck %s

// What is quantized here becomes u8, and what only moves it; the result of the function stays i8.
func.func @changes(%x: tensor<1x2xf32>) -> (tensor<1x3x!quant.uniform<i8:f32, 0.5:-3>>, tensor<1x3xf32>) {
  %q = glow.quantize %x : (tensor<1x2xf32>) -> tensor<1x2x!quant.uniform<i8:f32, 0.5:-3>>
  %p = glow.pad %q low [0, 1] value -3.0 : (tensor<1x2x!quant.uniform<i8:f32, 0.5:-3>>) -> tensor<1x3x!quant.uniform<i8:f32, 0.5:-3>>
  %r = glow.dequantize %p : (tensor<1x3x!quant.uniform<i8:f32, 0.5:-3>>) -> tensor<1x3xf32>
  func.return %p, %r : tensor<1x3x!quant.uniform<i8:f32, 0.5:-3>>, tensor<1x3xf32>
}

// CHECK-LABEL: @changes(
// CHECK-NEXT:  [[Q:%.*]] = glow.quantize %x : (tensor<1x2xf32>) -> tensor<1x2x!quant.uniform<u8:f32, 0.5:125>>
// CHECK-NEXT:  [[P:%.*]] = glow.pad [[Q]] {{.*}}value 125.0
// CHECK-NEXT:  [[R:%.*]] = glow.dequantize [[P]]
// CHECK-NEXT:  [[S:%.*]] = glow.quantize [[R]] : {{.*}} -> tensor<1x3x!quant.uniform<i8:f32, 0.5:-3>>
// CHECK-NEXT:  [[T:%.*]] = glow.dequantize [[P]]
// CHECK-NEXT:  func.return [[S]], [[T]]

// -----

// An argument is converted; constants, other types and scales for channels stay.
func.func @stays(%x: tensor<2x!quant.uniform<i8:f32, 0.5>>, %y: tensor<2xf32>)
    -> (tensor<2xf32>, tensor<2xf32>, tensor<2x!quant.uniform<i16:f32, 0.5>>, tensor<2x!quant.uniform<i8:f32:0, {0.5, 0.25}>>) {
  %k = glow.constant dense<[1, 2]> : tensor<2xi8> : tensor<2x!quant.uniform<i8:f32, 0.1>>
  %a = glow.dequantize %x : (tensor<2x!quant.uniform<i8:f32, 0.5>>) -> tensor<2xf32>
  %b = glow.dequantize %k : (tensor<2x!quant.uniform<i8:f32, 0.1>>) -> tensor<2xf32>
  %c = glow.quantize %y : (tensor<2xf32>) -> tensor<2x!quant.uniform<i16:f32, 0.5>>
  %d = glow.quantize %y : (tensor<2xf32>) -> tensor<2x!quant.uniform<i8:f32:0, {0.5, 0.25}>>
  func.return %a, %b, %c, %d : tensor<2xf32>, tensor<2xf32>, tensor<2x!quant.uniform<i16:f32, 0.5>>, tensor<2x!quant.uniform<i8:f32:0, {0.5, 0.25}>>
}

// CHECK-LABEL: @stays(
// CHECK:       glow.quantize {{.*}}!quant.uniform<u8:f32, 0.5:128>
// CHECK:       glow.dequantize %k
// CHECK:       glow.quantize %y {{.*}}i16
// CHECK:       glow.quantize %y {{.*}}{0.5, 0.25}
