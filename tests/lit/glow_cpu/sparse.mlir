// RUN: glow-opt %s | glow-opt | filecheck %s
// RUN: glow-opt %s --print-op-generic | glow-opt | filecheck %s

// Products of vectors many of whose elements are zero.

func.func @sparse(%x: tensor<1x1x4xf32>, %v: tensor<4xf16>, %w: tensor<4x9xf32>, %u: tensor<4x2xf16>) {
  %row = glow_cpu.sparse_vector_matmul %x, %w : (tensor<1x1x4xf32>, tensor<4x9xf32>) -> tensor<1x1x9xf32>
  %vector = glow_cpu.sparse_vector_matmul %v, %u : (tensor<4xf16>, tensor<4x2xf16>) -> tensor<2xf16>
  func.return
}

// CHECK:      func.func @sparse(
// CHECK-NEXT:     %row = glow_cpu.sparse_vector_matmul %x, %w : (tensor<1x1x4xf32>, tensor<4x9xf32>) -> tensor<1x1x9xf32>
// CHECK-NEXT:     %vector = glow_cpu.sparse_vector_matmul %v, %u : (tensor<4xf16>, tensor<4x2xf16>) -> tensor<2xf16>
// CHECK-NEXT:     func.return
