// RUN: glow-opt %s --legalize-quantized="integer-only=true" --split-input-file | filecheck %s

// A convolution, a limit, a sum with another scale: no number is a float before the last node. The
// scales are powers of two, so multipliers are 1 and factors shifts.
func.func @sum(%x: tensor<1x1x4x4x!quant.uniform<i8:f32, 0.5>>, %y: tensor<1x1x4x4x!quant.uniform<i8:f32, 0.25>>) -> tensor<1x1x4x4xf32> {
  %k = glow.constant dense<[[[[3]]]]> : tensor<1x1x1x1xi8> : tensor<1x1x1x1x!quant.uniform<i8:f32, 0.125>>
  %b = glow.constant dense<[2.0]> : tensor<1xf32>
  %r = glow.dequantize %x : (tensor<1x1x4x4x!quant.uniform<i8:f32, 0.5>>) -> tensor<1x1x4x4xf32>
  %s = glow.dequantize %y : (tensor<1x1x4x4x!quant.uniform<i8:f32, 0.25>>) -> tensor<1x1x4x4xf32>
  %w = glow.dequantize %k : (tensor<1x1x1x1x!quant.uniform<i8:f32, 0.125>>) -> tensor<1x1x1x1xf32>
  %c = glow.convolution %r, %w, %b : (tensor<1x1x4x4xf32>, tensor<1x1x1x1xf32>, tensor<1xf32>) -> tensor<1x1x4x4xf32>
  %a = glow.relu %c : (tensor<1x1x4x4xf32>) -> tensor<1x1x4x4xf32>
  %d = glow.add %a, %s : (tensor<1x1x4x4xf32>, tensor<1x1x4x4xf32>) -> tensor<1x1x4x4xf32>
  %q = glow.quantize %d : (tensor<1x1x4x4xf32>) -> tensor<1x1x4x4x!quant.uniform<i8:f32, 1.0>>
  %e = glow.dequantize %q : (tensor<1x1x4x4x!quant.uniform<i8:f32, 1.0>>) -> tensor<1x1x4x4xf32>
  func.return %e : tensor<1x1x4x4xf32>
}

// CHECK:       func.func @sum({{.*}} {{[{]}}
// CHECK-NOT:   xf32>
// CHECK:       glow.convolution
// CHECK-NOT:   xf32>
// CHECK:       glow.relu {{.*}} : (tensor<1x1x4x4xi32>)
// CHECK-NOT:   xf32>
// CHECK:       glow.rescale
// CHECK-NOT:   xf32>
// CHECK:       glow.rescale
// CHECK-NOT:   xf32>
// CHECK:       glow.add {{.*}}xi32>
// CHECK-NOT:   xf32>
// CHECK:       glow.splat value 1
// CHECK-NEXT:  glow.splat value 12
// CHECK-NOT:   xf32>
// CHECK:       glow.rescale
// CHECK-NEXT:  glow.dequantize

// -----

// Means are sums; what is computed from single elements is a table.
func.func @mean(%x: tensor<1x2x3x!quant.uniform<u8:f32, 0.5:7>>) -> tensor<1x2x!quant.uniform<u8:f32, 0.25>> {
  %r = glow.dequantize %x : (tensor<1x2x3x!quant.uniform<u8:f32, 0.5:7>>) -> tensor<1x2x3xf32>
  %t = glow.tanh %r : (tensor<1x2x3xf32>) -> tensor<1x2x3xf32>
  %p = glow.quantize %t : (tensor<1x2x3xf32>) -> tensor<1x2x3x!quant.uniform<u8:f32, 0.01:100>>
  %s = glow.dequantize %p : (tensor<1x2x3x!quant.uniform<u8:f32, 0.01:100>>) -> tensor<1x2x3xf32>
  %m = glow.reduce_mean %s axes [2] : (tensor<1x2x3xf32>) -> tensor<1x2xf32>
  %q = glow.quantize %m : (tensor<1x2xf32>) -> tensor<1x2x!quant.uniform<u8:f32, 0.25>>
  func.return %q : tensor<1x2x!quant.uniform<u8:f32, 0.25>>
}

// CHECK:       func.func @mean({{.*}} {{[{]}}
// CHECK-NOT:   xf32>
// CHECK:       glow.int_lookup_table {{.*}} : (tensor<1x2x3x!quant.uniform<u8:f32, 0.5:7>>, tensor<256x!quant.uniform<u8:f32, 0.01:100>>)
// CHECK-NOT:   xf32>
// CHECK:       glow.reduce_sum {{.*}} : (tensor<1x2x3xi32>)
// CHECK-NOT:   xf32>
// CHECK:       glow.rescale
// CHECK-NEXT:  func.return

// -----

// A softmax has no form of integers.
func.func @softmax(%x: tensor<2x3x!quant.uniform<u8:f32, 0.5:7>>) -> tensor<2x3x!quant.uniform<u8:f32, 0.01>> {
  %r = glow.dequantize %x : (tensor<2x3x!quant.uniform<u8:f32, 0.5:7>>) -> tensor<2x3xf32>
  %t = glow.softmax %r axis 1 : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %p = glow.quantize %t : (tensor<2x3xf32>) -> tensor<2x3x!quant.uniform<u8:f32, 0.01>>
  func.return %p : tensor<2x3x!quant.uniform<u8:f32, 0.01>>
}

// CHECK-LABEL: @softmax(
// CHECK-NEXT:  glow.dequantize
// CHECK-NEXT:  glow.softmax
// CHECK-NEXT:  glow.quantize
