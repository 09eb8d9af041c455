// RUN: glow-opt %s | glow-opt | filecheck %s
// RUN: glow-opt %s --print-op-generic | glow-opt | filecheck %s
// RUN: glow-opt %s --print-op-generic | filecheck %s --check-prefix=GENERIC

// Both sizes of tiles; the result need not be a multiple of them.

func.func @winograd(%x: tensor<1x4x58x58x16xf32>, %u: tensor<36x8x64x16xf32>, %b: tensor<8x16xf32>, %x1: tensor<2x1x9x12x8xf32>,
    %u1: tensor<16x3x8x8xf32>, %b1: tensor<3x8xf32>, %p: tensor<36x3x1x3x8x8x2xbf16>, %x3: tensor<2x1x6x9x12x8xf32>,
    %u3: tensor<16x3x24x8xf32>, %u5: tensor<12x3x32x8xf32>, %row: tensor<2x1x12x8xf32>, %u1d: tensor<6x3x8x8xf32>, %u20: tensor<20x3x8x8xf32>) {
  %four = glow_cpu.winograd_convolution %x, %u, %b tile 4 : (tensor<1x4x58x58x16xf32>, tensor<36x8x64x16xf32>, tensor<8x16xf32>) -> tensor<1x8x56x56x16xf32>
  %two = glow_cpu.winograd_convolution %x1, %u1, %b1 tile 2 : (tensor<2x1x9x12x8xf32>, tensor<16x3x8x8xf32>, tensor<3x8xf32>) -> tensor<2x3x7x10x8xf32>
  // A filter in parts, whose only pair of blocks of input channels lacks one.
  %parts = glow_cpu.winograd_convolution %x1, %p, %b1 tile 4 : (tensor<2x1x9x12x8xf32>, tensor<36x3x1x3x8x8x2xbf16>, tensor<3x8xf32>) -> tensor<2x3x7x10x8xf32>
  // Windows of three slices.
  %slices = glow_cpu.winograd_convolution %x3, %u3, %b1 tile 2 : (tensor<2x1x6x9x12x8xf32>, tensor<16x3x24x8xf32>, tensor<3x8xf32>) -> tensor<2x3x4x7x10x8xf32>
  // Four parts of 3 x 2.
  %large = glow_cpu.winograd_convolution %x1, %u5, %b1 tile 2 kernel [5, 4] : (tensor<2x1x9x12x8xf32>, tensor<12x3x32x8xf32>, tensor<3x8xf32>) -> tensor<2x3x5x9x8xf32>
  // A transform along one dimension.
  %line = glow_cpu.winograd_convolution %row, %u1d, %b1 tile 4 : (tensor<2x1x12x8xf32>, tensor<6x3x8x8xf32>, tensor<3x8xf32>) -> tensor<2x3x10x8xf32>
  %column = glow_cpu.winograd_convolution %x1, %u1d, %b1 tile 4 kernel [3, 1] : (tensor<2x1x9x12x8xf32>, tensor<6x3x8x8xf32>, tensor<3x8xf32>) -> tensor<2x3x7x12x8xf32>
  // A transform of even rows, and one of odd rows.
  %steps = glow_cpu.winograd_convolution %x1, %u20, %b1 tile 2 strides [2, 1] : (tensor<2x1x9x12x8xf32>, tensor<20x3x8x8xf32>, tensor<3x8xf32>) -> tensor<2x3x4x10x8xf32>
  // Each second row, from the first and from the second one on, is an image of its own.
  %apart = glow_cpu.winograd_convolution %x1, %u1, %b1 tile 2 dilations [2, 1] : (tensor<2x1x9x12x8xf32>, tensor<16x3x8x8xf32>, tensor<3x8xf32>) -> tensor<2x3x5x10x8xf32>
  func.return
}

// CHECK:      builtin.module {
// CHECK-NEXT:   func.func @winograd(%x: tensor<1x4x58x58x16xf32>, %u: tensor<36x8x64x16xf32>, %b: tensor<8x16xf32>, %x1: tensor<2x1x9x12x8xf32>,
// CHECK-SAME:   %u1: tensor<16x3x8x8xf32>, %b1: tensor<3x8xf32>, %p: tensor<36x3x1x3x8x8x2xbf16>, %x3: tensor<2x1x6x9x12x8xf32>,
// CHECK-SAME:   %u3: tensor<16x3x24x8xf32>, %u5: tensor<12x3x32x8xf32>, %row: tensor<2x1x12x8xf32>, %u1d: tensor<6x3x8x8xf32>, %u20: tensor<20x3x8x8xf32>) {
// CHECK-NEXT:     %four = glow_cpu.winograd_convolution %x, %u, %b tile 4 : (tensor<1x4x58x58x16xf32>, tensor<36x8x64x16xf32>, tensor<8x16xf32>) -> tensor<1x8x56x56x16xf32>
// CHECK-NEXT:     %two = glow_cpu.winograd_convolution %x1, %u1, %b1 tile 2 : (tensor<2x1x9x12x8xf32>, tensor<16x3x8x8xf32>, tensor<3x8xf32>) -> tensor<2x3x7x10x8xf32>
// CHECK-NEXT:     %parts = glow_cpu.winograd_convolution %x1, %p, %b1 tile 4 : (tensor<2x1x9x12x8xf32>, tensor<36x3x1x3x8x8x2xbf16>, tensor<3x8xf32>) -> tensor<2x3x7x10x8xf32>
// CHECK-NEXT:     %slices = glow_cpu.winograd_convolution %x3, %u3, %b1 tile 2 : (tensor<2x1x6x9x12x8xf32>, tensor<16x3x24x8xf32>, tensor<3x8xf32>) -> tensor<2x3x4x7x10x8xf32>
// CHECK-NEXT:     %large = glow_cpu.winograd_convolution %x1, %u5, %b1 tile 2 kernel [5, 4] : (tensor<2x1x9x12x8xf32>, tensor<12x3x32x8xf32>, tensor<3x8xf32>) -> tensor<2x3x5x9x8xf32>
// CHECK-NEXT:     %line = glow_cpu.winograd_convolution %row, %u1d, %b1 tile 4 : (tensor<2x1x12x8xf32>, tensor<6x3x8x8xf32>, tensor<3x8xf32>) -> tensor<2x3x10x8xf32>
// CHECK-NEXT:     %column = glow_cpu.winograd_convolution %x1, %u1d, %b1 tile 4 kernel [3, 1] : (tensor<2x1x9x12x8xf32>, tensor<6x3x8x8xf32>, tensor<3x8xf32>) -> tensor<2x3x7x12x8xf32>
// CHECK-NEXT:     %steps = glow_cpu.winograd_convolution %x1, %u20, %b1 tile 2 strides [2, 1] : (tensor<2x1x9x12x8xf32>, tensor<20x3x8x8xf32>, tensor<3x8xf32>) -> tensor<2x3x4x10x8xf32>
// CHECK-NEXT:     %apart = glow_cpu.winograd_convolution %x1, %u1, %b1 tile 2 dilations [2, 1] : (tensor<2x1x9x12x8xf32>, tensor<16x3x8x8xf32>, tensor<3x8xf32>) -> tensor<2x3x5x10x8xf32>
// CHECK-NEXT:     func.return
// CHECK-NEXT:   }
// CHECK-NEXT: }

// GENERIC: %four = "glow_cpu.winograd_convolution"(%x, %u, %b) <{tile = 4 : i64, kernel = array<i64: 3, 3>, dilations = array<i64: 1, 1>, strides = array<i64: 1, 1>, pool = 1 : i64, group = 1 : i64}> : (tensor<1x4x58x58x16xf32>,
// GENERIC-SAME: tensor<36x8x64x16xf32>, tensor<8x16xf32>) -> tensor<1x8x56x56x16xf32>
