// RUN: glow-opt %s | glow-opt | filecheck %s
// RUN: glow-opt %s --print-op-generic | glow-opt | filecheck %s
// RUN: glow-opt %s --print-op-generic | filecheck %s --check-prefix=GENERIC

// Constants in the text and by reference; the files that are referred to need not exist.

%inline = glow.constant dense<[[1.5, -2.0], [3.0, 0.1]]> : tensor<2x2xf32>
%integers = glow.constant dense<[-1, 2]> : tensor<2xi64>
%truth = glow.constant dense<[true, false]> : tensor<2xi1>
%scalar = glow.constant dense<0.333333343> : tensor<f32>
%none = glow.constant dense<> : tensor<0xf32>
%large = glow.constant #glow.blob<"model.onnx", 4096, 37632> : tensor<64x3x7x7xf32>
%quoted = glow.constant #glow.blob<"a \"b\" c.bin", 0, 4> {note = "kept"} : tensor<2xf16>
%quantized = glow.constant dense<[1, -2]> : tensor<2xi8> : tensor<2x!quant.uniform<i8:f32, 0.05:3>>
%splat = glow.splat value 0.5 : tensor<4x4xf32>
%splat_integer = glow.splat value -3 : tensor<2xi8>
%splat_infinite = glow.splat {value = 0xfff0000000000000 : f64} : tensor<2xf32>
%sizes = glow.sizes values [n, 2, 3 * n - 1 where n from 2 to 9] : tensor<1x3xi64>

// CHECK:      builtin.module {
// CHECK-NEXT:   %inline = glow.constant dense<{{\[\[}}1.500000e+00, -2.000000e+00], [3.000000e+00, 1.000000e-01{{\]\]}}> : tensor<2x2xf32>
// CHECK-NEXT:   %integers = glow.constant dense<[-1, 2]> : tensor<2xi64>
// CHECK-NEXT:   %truth = glow.constant dense<[true, false]> : tensor<2xi1>
// CHECK-NEXT:   %scalar = glow.constant dense<0.333333343> : tensor<f32>
// CHECK-NEXT:   %none = glow.constant dense<> : tensor<0xf32>
// CHECK-NEXT:   %large = glow.constant #glow.blob<"model.onnx", 4096, 37632> : tensor<64x3x7x7xf32>
// CHECK-NEXT:   %quoted = glow.constant #glow.blob<"a \22b\22 c.bin", 0, 4> {note = "kept"} : tensor<2xf16>
// CHECK-NEXT:   %quantized = glow.constant dense<[1, -2]> : tensor<2xi8> : tensor<2x!quant.uniform<i8:f32, 0.05:3>>
// CHECK-NEXT:   %splat = glow.splat value 0.5 : tensor<4x4xf32>
// CHECK-NEXT:   %splat_integer = glow.splat value -3 : tensor<2xi8>
// CHECK-NEXT:   %splat_infinite = glow.splat {value = 0xfff0000000000000 : f64} : tensor<2xf32>
// CHECK-NEXT:   %sizes = glow.sizes values [n, 2, 3 * n - 1 where n from 2 to 9] : tensor<1x3xi64>
// CHECK-NEXT: }

// GENERIC: %inline = "glow.constant"() <{value = dense<{{\[\[}}1.500000e+00, -2.000000e+00], [3.000000e+00, 1.000000e-01{{\]\]}}> : tensor<2x2xf32>}> : () -> tensor<2x2xf32>
// GENERIC: %splat = "glow.splat"() <{value = 5.000000e-01 : f64}> : () -> tensor<4x4xf32>
