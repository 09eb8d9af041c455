// RUN: glow-opt %s | glow-opt | filecheck %s
// RUN: glow-opt %s --print-op-generic | glow-opt | filecheck %s

// Quantized element types, as MLIR's quant dialect writes them.

%per_tensor = "test.op"() : () -> tensor<4x!quant.uniform<i8:f32, 0.05:3>>
%no_zero_point = "test.op"() : () -> tensor<4x!quant.uniform<i8:f32, 0.05>>
%written_zero = "test.op"() : () -> tensor<4x!quant.uniform<i8:f32, 0.05:0>>
%negative = "test.op"() : () -> tensor<4x!quant.uniform<i8:f32, 1.0e-07:-128>>
%unsigned = "test.op"() : () -> tensor<4x!quant.uniform<u8:f16, 2.0:255>>
%narrow = "test.op"() : () -> tensor<4x!quant.uniform<i8<-127:127>:f32, 0.1>>
%whole_range = "test.op"() : () -> tensor<4x!quant.uniform<i8<-128:127>:f32, 0.1>>
%four_bits = "test.op"() : () -> tensor<4x!quant.uniform<u4:bf16, 0.1:7>>
%wide = "test.op"() : () -> tensor<4x!quant.uniform<i32:f64, 1.2345678901234567e-12>>
%per_axis = "test.op"() : () -> tensor<4x3x!quant.uniform<i8:f32:1, {0.05:3, 0.1, 2.0:-5}>>
%per_axis_narrow = "test.op"() : () -> tensor<2x!quant.uniform<u8<1:254>:f32:0, {0.05:3, 0.1}>>
%one_scale = "test.op"() : () -> tensor<1x!quant.uniform<i16:f32:0, {0.5}>>
%memory = "test.op"() : () -> memref<4x3x!quant.uniform<i8:f32:1, {0.05:3, 0.1, 2.0:-5}>>
%strided = "test.op"() : () -> memref<4x!quant.uniform<i8:f32, 0.05:3>, strided<[2], offset: 1>>
%alone = "test.op"() : () -> !quant.uniform<i8:f32, 0.05:3>

// CHECK:      builtin.module {
// CHECK-NEXT:   %per_tensor = "test.op"() : () -> tensor<4x!quant.uniform<i8:f32, 0.05:3>>
// CHECK-NEXT:   %no_zero_point = "test.op"() : () -> tensor<4x!quant.uniform<i8:f32, 0.05>>
// CHECK-NEXT:   %written_zero = "test.op"() : () -> tensor<4x!quant.uniform<i8:f32, 0.05>>
// CHECK-NEXT:   %negative = "test.op"() : () -> tensor<4x!quant.uniform<i8:f32, 1.0e-07:-128>>
// CHECK-NEXT:   %unsigned = "test.op"() : () -> tensor<4x!quant.uniform<u8:f16, 2.0:255>>
// CHECK-NEXT:   %narrow = "test.op"() : () -> tensor<4x!quant.uniform<i8<-127:127>:f32, 0.1>>
// CHECK-NEXT:   %whole_range = "test.op"() : () -> tensor<4x!quant.uniform<i8:f32, 0.1>>
// CHECK-NEXT:   %four_bits = "test.op"() : () -> tensor<4x!quant.uniform<u4:bf16, 0.1:7>>
// CHECK-NEXT:   %wide = "test.op"() : () -> tensor<4x!quant.uniform<i32:f64, 1.2345678901234567e-12>>
// CHECK-NEXT:   %per_axis = "test.op"() : () -> tensor<4x3x!quant.uniform<i8:f32:1, {0.05:3, 0.1, 2.0:-5}>>
// CHECK-NEXT:   %per_axis_narrow = "test.op"() : () -> tensor<2x!quant.uniform<u8<1:254>:f32:0, {0.05:3, 0.1}>>
// CHECK-NEXT:   %one_scale = "test.op"() : () -> tensor<1x!quant.uniform<i16:f32:0, {0.5}>>
// CHECK-NEXT:   %memory = "test.op"() : () -> memref<4x3x!quant.uniform<i8:f32:1, {0.05:3, 0.1, 2.0:-5}>>
// CHECK-NEXT:   %strided = "test.op"() : () -> memref<4x!quant.uniform<i8:f32, 0.05:3>, strided<[2], offset: 1>>
// CHECK-NEXT:   %alone = "test.op"() : () -> !quant.uniform<i8:f32, 0.05:3>
// CHECK-NEXT: }

