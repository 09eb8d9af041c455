// RUN: glow-opt %s | glow-opt | filecheck %s
// RUN: glow-opt %s --print-op-generic | glow-opt | filecheck %s

// Operators that read weighted elements, and sums of windows.

func.func @resampled(%x: tensor<2x5xf32>, %p: tensor<9x2xi32>, %w: tensor<9x2xf32>, %i: tensor<2x3x35xf16>, %n: tensor<4xi64>, %q: tensor<4x10x4xi64>,
    %v: tensor<4x10x4xf32>, %f: tensor<1x8x2x2x2x2xf32>) {
  %one = glow.resample %x, %p, %w axis 1 : (tensor<2x5xf32>, tensor<9x2xi32>, tensor<9x2xf32>) -> tensor<2x9xf32>
  %two = glow.sample %i, %n, %q, %v : (tensor<2x3x35xf16>, tensor<4xi64>, tensor<4x10x4xi64>, tensor<4x10x4xf32>) -> tensor<4x3x10xf16>
  %three = glow.sample %i, %n, %q, %v largest true : (tensor<2x3x35xf16>, tensor<4xi64>, tensor<4x10x4xi64>, tensor<4x10x4xf32>) -> tensor<4x3x10xf16>
  %four = glow.fold %f image [3, 4] strides [1, 2] : (tensor<1x8x2x2x2x2xf32>) -> tensor<1x8x3x4xf32>
  func.return
}

// CHECK:      %one = glow.resample %x, %p, %w axis 1 : (tensor<2x5xf32>, tensor<9x2xi32>, tensor<9x2xf32>) -> tensor<2x9xf32>
// CHECK-NEXT: %two = glow.sample %i, %n, %q, %v : (tensor<2x3x35xf16>, tensor<4xi64>, tensor<4x10x4xi64>, tensor<4x10x4xf32>) -> tensor<4x3x10xf16>
// CHECK-NEXT: %three = glow.sample %i, %n, %q, %v largest true : (tensor<2x3x35xf16>, tensor<4xi64>, tensor<4x10x4xi64>, tensor<4x10x4xf32>) -> tensor<4x3x10xf16>
// CHECK-NEXT: %four = glow.fold %f image [3, 4] strides [1, 2] : (tensor<1x8x2x2x2x2xf32>) -> tensor<1x8x3x4xf32>
