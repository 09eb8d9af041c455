// RUN: glow-opt %s | glow-opt | filecheck %s
// RUN: glow-opt %s --print-op-generic | glow-opt | filecheck %s
// RUN: glow-opt %s --print-op-generic | filecheck %s --check-prefix=GENERIC

// Conversion to and from quantized elements, and what works on them as they are.

func.func @quantization(%x: tensor<2x4xf32>, %h: tensor<4xf16>, %p: tensor<1x2x4x!quant.uniform<i8:f32, 0.1>>) {
  %q = glow.quantize %x : (tensor<2x4xf32>) -> tensor<2x4x!quant.uniform<i8:f32, 0.05:3>>
  %d = glow.dequantize %q : (tensor<2x4x!quant.uniform<i8:f32, 0.05:3>>) -> tensor<2x4xf32>
  %per_axis = glow.quantize %x : (tensor<2x4xf32>) -> tensor<2x4x!quant.uniform<u8<1:254>:f32:0, {0.05:3, 0.1}>>
  %back = glow.dequantize %per_axis : (tensor<2x4x!quant.uniform<u8<1:254>:f32:0, {0.05:3, 0.1}>>) -> tensor<2x4xf32>
  %half = glow.quantize %h : (tensor<4xf16>) -> tensor<4x!quant.uniform<i4:f16, 0.5>>
  %stored = glow.storage_cast %q : (tensor<2x4x!quant.uniform<i8:f32, 0.05:3>>) -> tensor<2x4xi8>
  %taken = glow.storage_cast %stored : (tensor<2x4xi8>) -> tensor<2x4x!quant.uniform<i8:f32, 0.25>>
  %largest = glow.max_pool %p kernel [2] strides [2] : (tensor<1x2x4x!quant.uniform<i8:f32, 0.1>>) -> tensor<1x2x2x!quant.uniform<i8:f32, 0.1>>
  %fake = glow.fake_quantize %x, %x, %x least -7 greatest 7 : (tensor<2x4xf32>, tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
  %byte = glow.fake_quantize %h, %h, %h : (tensor<4xf16>, tensor<4xf16>, tensor<4xf16>) -> tensor<4xf16>
  func.return
}

// Narrow integers, and what quantized numbers are stored as, have products that are summed in i32.
func.func @products(%x: tensor<2x4x!quant.uniform<u8:f32, 0.05:3>>, %w: tensor<3x4xi8>, %b: tensor<3xi32>, %m: tensor<2x3xi32>, %s: tensor<2x3xi32>) {
  %acc = glow.fully_connected %x, %w, %b : (tensor<2x4x!quant.uniform<u8:f32, 0.05:3>>, tensor<3x4xi8>, tensor<3xi32>) -> tensor<2x3xi32>
  %q = glow.rescale %acc, %m, %s : (tensor<2x3xi32>, tensor<2x3xi32>, tensor<2x3xi32>) -> tensor<2x3x!quant.uniform<i8:f32, 0.5>>
  %half = glow.shift_right %acc, %s : (tensor<2x3xi32>, tensor<2x3xi32>) -> tensor<2x3xi32>
  func.return
}

// CHECK:      builtin.module {
// CHECK-NEXT:   func.func @quantization(%x: tensor<2x4xf32>, %h: tensor<4xf16>, %p: tensor<1x2x4x!quant.uniform<i8:f32, 0.1>>) {
// CHECK-NEXT:     %q = glow.quantize %x : (tensor<2x4xf32>) -> tensor<2x4x!quant.uniform<i8:f32, 0.05:3>>
// CHECK-NEXT:     %d = glow.dequantize %q : (tensor<2x4x!quant.uniform<i8:f32, 0.05:3>>) -> tensor<2x4xf32>
// CHECK-NEXT:     %per_axis = glow.quantize %x : (tensor<2x4xf32>) -> tensor<2x4x!quant.uniform<u8<1:254>:f32:0, {0.05:3, 0.1}>>
// CHECK-NEXT:     %back = glow.dequantize %per_axis : (tensor<2x4x!quant.uniform<u8<1:254>:f32:0, {0.05:3, 0.1}>>) -> tensor<2x4xf32>
// CHECK-NEXT:     %half = glow.quantize %h : (tensor<4xf16>) -> tensor<4x!quant.uniform<i4:f16, 0.5>>
// CHECK-NEXT:     %stored = glow.storage_cast %q : (tensor<2x4x!quant.uniform<i8:f32, 0.05:3>>) -> tensor<2x4xi8>
// CHECK-NEXT:     %taken = glow.storage_cast %stored : (tensor<2x4xi8>) -> tensor<2x4x!quant.uniform<i8:f32, 0.25>>
// CHECK-NEXT:     %largest = glow.max_pool %p kernel [2] strides [2] : (tensor<1x2x4x!quant.uniform<i8:f32, 0.1>>) -> tensor<1x2x2x!quant.uniform<i8:f32, 0.1>>
// CHECK-NEXT:     %fake = glow.fake_quantize %x, %x, %x least -7 greatest 7 : (tensor<2x4xf32>, tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
// CHECK-NEXT:     %byte = glow.fake_quantize %h, %h, %h : (tensor<4xf16>, tensor<4xf16>, tensor<4xf16>) -> tensor<4xf16>
// CHECK-NEXT:     func.return
// CHECK-NEXT:   }
// CHECK-NEXT:   func.func @products(
// CHECK-NEXT:     %acc = glow.fully_connected %x, %w, %b : (tensor<2x4x!quant.uniform<u8:f32, 0.05:3>>, tensor<3x4xi8>, tensor<3xi32>) -> tensor<2x3xi32>
// CHECK-NEXT:     %q = glow.rescale %acc, %m, %s : (tensor<2x3xi32>, tensor<2x3xi32>, tensor<2x3xi32>) -> tensor<2x3x!quant.uniform<i8:f32, 0.5>>
// CHECK-NEXT:     %half = glow.shift_right %acc, %s : (tensor<2x3xi32>, tensor<2x3xi32>) -> tensor<2x3xi32>
// CHECK-NEXT:     func.return
// CHECK-NEXT:   }
// CHECK-NEXT: }

// GENERIC: %q = "glow.quantize"(%x) : (tensor<2x4xf32>) -> tensor<2x4x!quant.uniform<i8:f32, 0.05:3>>
// GENERIC: %d = "glow.dequantize"(%q) : (tensor<2x4x!quant.uniform<i8:f32, 0.05:3>>) -> tensor<2x4xf32>
// GENERIC: %largest = "glow.max_pool"(%p) <{kernel = array<i64: 2>, strides = array<i64: 2>, pads = array<i64: 0, 0>, dilations = array<i64: 1>,
// GENERIC-SAME: ceil_mode = false}> : (tensor<1x2x4x!quant.uniform<i8:f32, 0.1>>) -> tensor<1x2x2x!quant.uniform<i8:f32, 0.1>>
