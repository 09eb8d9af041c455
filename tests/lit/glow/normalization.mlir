// RUN: glow-opt %s | glow-opt | filecheck %s
// RUN: glow-opt %s --print-op-generic | glow-opt | filecheck %s
// RUN: glow-opt %s --print-op-generic | filecheck %s --check-prefix=GENERIC

// Normalisation and softmax.

func.func @normalization(%x: tensor<1x8x4x4xf32>, %c: tensor<8xf32>, %h: tensor<3x5xf16>) {
  %batch = glow.batch_norm %x, %c, %c, %c, %c epsilon 0.001 : (tensor<1x8x4x4xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>) -> tensor<1x8x4x4xf32>
  %local = glow.local_response_norm %x size 5 beta 0.5 k 2.0 : (tensor<1x8x4x4xf32>) -> tensor<1x8x4x4xf32>
  %softmax = glow.softmax %h axis 1 : (tensor<3x5xf16>) -> tensor<3x5xf16>
  %log = glow.log_softmax %h axis 0 : (tensor<3x5xf16>) -> tensor<3x5xf16>
  func.return
}

// CHECK:      builtin.module {
// CHECK-NEXT:   func.func @normalization(%x: tensor<1x8x4x4xf32>, %c: tensor<8xf32>, %h: tensor<3x5xf16>) {
// CHECK-NEXT:     %batch = glow.batch_norm %x, %c, %c, %c, %c epsilon 0.001 : (tensor<1x8x4x4xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>) -> tensor<1x8x4x4xf32>
// CHECK-NEXT:     %local = glow.local_response_norm %x size 5 beta 0.5 k 2.0 : (tensor<1x8x4x4xf32>) -> tensor<1x8x4x4xf32>
// CHECK-NEXT:     %softmax = glow.softmax %h axis 1 : (tensor<3x5xf16>) -> tensor<3x5xf16>
// CHECK-NEXT:     %log = glow.log_softmax %h axis 0 : (tensor<3x5xf16>) -> tensor<3x5xf16>
// CHECK-NEXT:     func.return
// CHECK-NEXT:   }
// CHECK-NEXT: }

// GENERIC: %batch = "glow.batch_norm"(%x, %c, %c, %c, %c) <{epsilon = 1.000000e-03 : f64}> : (tensor<1x8x4x4xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>) -> tensor<1x8x4x4xf32>
// GENERIC: %local = "glow.local_response_norm"(%x) <{size = 5 : i64, beta = 5.000000e-01 : f64, k = 2.000000e+00 : f64, alpha = 1.000000e-04 : f64}> : (tensor<1x8x4x4xf32>) -> tensor<1x8x4x4xf32>
// GENERIC: %softmax = "glow.softmax"(%h) <{axis = 1 : i64}> : (tensor<3x5xf16>) -> tensor<3x5xf16>
// GENERIC: %log = "glow.log_softmax"(%h) <{axis = 0 : i64}> : (tensor<3x5xf16>) -> tensor<3x5xf16>
