// RUN: glow-opt %s --split-input-file --parsing-diagnostics | filecheck %s

// Quantized types that do not parse or do not verify.

// CHECK: expected a storage type such as i8 or u8, found f32
%q = "test.op"() : () -> tensor<4x!quant.uniform<f32:f32, 0.1>>

// -----

// CHECK: Expected ':' between storage and expressed type
%q = "test.op"() : () -> tensor<4x!quant.uniform<i8 f32, 0.1>>

// -----

// CHECK: Expected ',' before the scale
%q = "test.op"() : () -> tensor<4x!quant.uniform<i8:f32>>

// -----

// CHECK: '{' expected
%q = "test.op"() : () -> tensor<4x!quant.uniform<i8:f32:0, 0.1>>

// -----

// CHECK: expected a storage type of 2 to 32 bits, found i64
%q = "test.op"() : () -> tensor<4x!quant.uniform<i64:f32, 0.1>>

// -----

// CHECK: expected a storage type of 2 to 32 bits, found i9223372036854775807
%q = "test.op"() : () -> tensor<4x!quant.uniform<i9223372036854775807:f32, 0.1>>

// -----

// CHECK: expected a storage type of 2 to 32 bits, found i1
%q = "test.op"() : () -> tensor<4x!quant.uniform<i1:f32, 0.1>>

// -----

// CHECK: expected a float expressed type, found i32
%q = "test.op"() : () -> tensor<4x!quant.uniform<i8:i32, 0.1>>

// -----

// CHECK: expected a storage range within -128:127, found -129:127
%q = "test.op"() : () -> tensor<4x!quant.uniform<i8<-129:127>:f32, 0.1>>

// -----

// CHECK: expected a storage range within 0:255, found -1:127
%q = "test.op"() : () -> tensor<4x!quant.uniform<u8<-1:127>:f32, 0.1>>

// -----

// CHECK: expected a storage range within -128:127, found 5:5
%q = "test.op"() : () -> tensor<4x!quant.uniform<i8<5:5>:f32, 0.1>>

// -----

// CHECK: expected a zero point in -128:127, found 128
%q = "test.op"() : () -> tensor<4x!quant.uniform<i8:f32, 0.1:128>>

// -----

// CHECK: expected a positive finite scale, found 0.0
%q = "test.op"() : () -> tensor<4x!quant.uniform<i8:f32, 0.0>>

// -----

// CHECK: expected a positive finite scale, found -0.5
%q = "test.op"() : () -> tensor<4x!quant.uniform<i8:f32, -0.5>>

// -----

// CHECK: expected a positive finite scale, found inf
%q = "test.op"() : () -> tensor<4x!quant.uniform<i8:f32, 1.0e999>>

// -----

// CHECK: expected an axis of at least 0, found -1
%q = "test.op"() : () -> tensor<4x!quant.uniform<i8:f32:-1, {0.1}>>

// -----

// CHECK: expected at least one scale, found none
%q = "test.op"() : () -> tensor<4x!quant.uniform<i8:f32:0, {}>>
