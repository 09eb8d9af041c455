// RUN: glow-opt %s | glow-opt | filecheck %s
// RUN: glow-opt %s --print-op-generic | glow-opt | filecheck %s
// RUN: glow-opt %s --print-op-generic | filecheck %s --check-prefix=GENERIC

// Matrix products.

func.func @matrix(%a: tensor<8x2x3xf32>, %b: tensor<8x4x3xf32>, %i: tensor<2x2xi32>, %x: tensor<5x7xbf16>, %w: tensor<3x7xbf16>, %c: tensor<3xbf16>, %d: tensor<5x3x3xf32>) {
  %batched = glow.matmul %a, %b transpose_rhs true : (tensor<8x2x3xf32>, tensor<8x4x3xf32>) -> tensor<8x2x4xf32>
  %integers = glow.matmul %i, %i : (tensor<2x2xi32>, tensor<2x2xi32>) -> tensor<2x2xi32>
  %fully = glow.fully_connected %x, %w, %c : (tensor<5x7xbf16>, tensor<3x7xbf16>, tensor<3xbf16>) -> tensor<5x3xbf16>
  %det = glow.determinant %d : (tensor<5x3x3xf32>) -> tensor<5xf32>
  func.return
}

// CHECK:      builtin.module {
// CHECK-NEXT:   func.func @matrix(%a: tensor<8x2x3xf32>, %b: tensor<8x4x3xf32>, %i: tensor<2x2xi32>, %x: tensor<5x7xbf16>, %w: tensor<3x7xbf16>, %c: tensor<3xbf16>, %d: tensor<5x3x3xf32>) {
// CHECK-NEXT:     %batched = glow.matmul %a, %b transpose_rhs true : (tensor<8x2x3xf32>, tensor<8x4x3xf32>) -> tensor<8x2x4xf32>
// CHECK-NEXT:     %integers = glow.matmul %i, %i : (tensor<2x2xi32>, tensor<2x2xi32>) -> tensor<2x2xi32>
// CHECK-NEXT:     %fully = glow.fully_connected %x, %w, %c : (tensor<5x7xbf16>, tensor<3x7xbf16>, tensor<3xbf16>) -> tensor<5x3xbf16>
// CHECK-NEXT:     %det = glow.determinant %d : (tensor<5x3x3xf32>) -> tensor<5xf32>
// CHECK-NEXT:     func.return
// CHECK-NEXT:   }
// CHECK-NEXT: }

// GENERIC: %batched = "glow.matmul"(%a, %b) <{transpose_rhs = true, transpose_lhs = false}> : (tensor<8x2x3xf32>, tensor<8x4x3xf32>) -> tensor<8x2x4xf32>
// GENERIC: %fully = "glow.fully_connected"(%x, %w, %c) : (tensor<5x7xbf16>, tensor<3x7xbf16>, tensor<3xbf16>) -> tensor<5x3xbf16>
