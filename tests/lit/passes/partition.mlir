// RUN: glow-opt %s --partition="devices=interpreter,interpreter" --verify-partitions --split-input-file | filecheck %s

// Annotations decide. The graph returns an argument as well.
func.func @main(%x: tensor<4xf32> {glow.name = "x"}) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) {
  %a = glow.neg %x {glow.device = "interpreter0"} : (tensor<4xf32>) -> tensor<4xf32>
  %b = glow.exp %a {glow.device = "interpreter1"} : (tensor<4xf32>) -> tensor<4xf32>
  %c = glow.add %a, %b {glow.device = "interpreter0"} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  func.return %c, %x, %a : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
}

// CHECK:       builtin.module attributes {glow.devices = [{name = "interpreter0", backend = "interpreter"}, {name = "interpreter1", backend = "interpreter"}]} {
// CHECK-NEXT:    func.func private @partition_0(%x: tensor<4xf32>) -> tensor<4xf32>
// CHECK-SAME:    attributes {glow.device = "interpreter0", glow.backend = "interpreter", glow.cost = {{[0-9.e-]+}} : f64, glow.weight_bytes = 0 : i64, glow.activation_bytes = 32 : i64} {
// CHECK-NEXT:      %a = glow.neg %x
// CHECK-NEXT:      func.return %a
// CHECK-NEXT:    }
// CHECK-NEXT:    func.func private @partition_1(%a: tensor<4xf32>) -> tensor<4xf32> attributes {glow.device = "interpreter1"
// CHECK-NEXT:      %b = glow.exp %a {glow.device = "interpreter1"}
// CHECK-NEXT:      func.return %b
// CHECK-NEXT:    }
// CHECK-NEXT:    func.func private @partition_2(%a: tensor<4xf32>, %b: tensor<4xf32>) -> tensor<4xf32> attributes {glow.device = "interpreter0"
// CHECK-NEXT:      %c = glow.add %a, %b
// CHECK-NEXT:      func.return %c
// CHECK-NEXT:    }
// CHECK-NEXT:    func.func @main(%x: tensor<4xf32> {glow.name = "x"}) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) {
// CHECK-NEXT:      %a = func.call @partition_0(%x)
// CHECK-NEXT:      %b = func.call @partition_1(%a)
// CHECK-NEXT:      %c = func.call @partition_2(%a, %b)
// CHECK-NEXT:      func.return %c, %x, %a

// -----

// What is computed between conversions stays together, and the quantized tensor crosses the border.
func.func @main(%x: tensor<1x8x!quant.uniform<i8:f32, 0.5>>) -> (tensor<1x8xf32>, tensor<1x8xf32>) {
  %r = glow.dequantize %x : (tensor<1x8x!quant.uniform<i8:f32, 0.5>>) -> tensor<1x8xf32>
  %a = glow.tanh %r {glow.device = "interpreter1"} : (tensor<1x8xf32>) -> tensor<1x8xf32>
  %b = glow.relu %a : (tensor<1x8xf32>) -> tensor<1x8xf32>
  %q = glow.quantize %b : (tensor<1x8xf32>) -> tensor<1x8x!quant.uniform<i8:f32, 0.5>>
  %s = glow.dequantize %q : (tensor<1x8x!quant.uniform<i8:f32, 0.5>>) -> tensor<1x8xf32>
  %c = glow.exp %s {glow.device = "interpreter0"} : (tensor<1x8xf32>) -> tensor<1x8xf32>
  %d = glow.sub %c, %r {glow.device = "interpreter0"} : (tensor<1x8xf32>, tensor<1x8xf32>) -> tensor<1x8xf32>
  func.return %c, %d : tensor<1x8xf32>, tensor<1x8xf32>
}

// CHECK:         func.func private @partition_0(%x: tensor<1x8x!quant.uniform<i8:f32, 0.5>>) -> tensor<1x8x!quant.uniform<i8:f32, 0.5>> attributes {glow.device = "interpreter1"
// CHECK-NEXT:      %r = glow.dequantize %x
// CHECK-NEXT:      %a = glow.tanh %r
// CHECK-NEXT:      %b = glow.relu %a
// CHECK-NEXT:      %q = glow.quantize %b
// CHECK-NEXT:      func.return %q
// CHECK:         func.func private @partition_1(%q: tensor<1x8x!quant.uniform<i8:f32, 0.5>>, %x: tensor<1x8x!quant.uniform<i8:f32, 0.5>>)
// CHECK-SAME:    -> (tensor<1x8xf32>, tensor<1x8xf32>) attributes {glow.device = "interpreter0"
// CHECK-NEXT:      %s = glow.dequantize %q
// CHECK-NEXT:      %c = glow.exp %s
// CHECK-NEXT:      %r = glow.dequantize %x
// CHECK-NEXT:      %d = glow.sub %c, %r
// CHECK-NEXT:      func.return %c, %d

// -----

// Constants are where they are used, in both partitions if need be.
func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {
  %k = glow.constant dense<[1.0, 2.0]> : tensor<2xf32>
  %n = glow.neg %k : (tensor<2xf32>) -> tensor<2xf32>
  %a = glow.add %x, %n {glow.device = "interpreter1"} : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  %b = glow.mul %a, %k {glow.device = "interpreter0"} : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  func.return %b : tensor<2xf32>
}

// CHECK:         func.func private @partition_0(%x: tensor<2xf32>) -> tensor<2xf32> attributes {glow.device = "interpreter1"
// CHECK-SAME:    glow.weight_bytes = 8 : i64, glow.activation_bytes = 16 : i64
// CHECK-NEXT:      %k = glow.constant
// CHECK-NEXT:      %n = glow.neg %k
// CHECK-NEXT:      %a = glow.add %x, %n
// CHECK-NEXT:      func.return %a
// CHECK:         func.func private @partition_1(%a: tensor<2xf32>) -> tensor<2xf32> attributes {glow.device = "interpreter0"
// CHECK-NEXT:      %k = glow.constant
// CHECK-NEXT:      %b = glow.mul %a, %k
// CHECK-NEXT:      func.return %b
