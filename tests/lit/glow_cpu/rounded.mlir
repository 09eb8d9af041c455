// RUN: glow-opt %s | glow-opt | filecheck %s
// RUN: glow-opt %s --print-op-generic | glow-opt | filecheck %s
// RUN: glow-opt %s --irgen | filecheck %s --check-prefix=INST

// Products whose operands are rounded as they are read, of single matrices and of batches.

func.func @products(%x: tensor<3x7xf32>, %w: tensor<5x7xf32>, %p: tensor<2x7x3xf32>, %q: tensor<2x7x5xf32>) -> (tensor<3x5xf32>, tensor<2x3x5xf32>) {
  %y = glow_cpu.rounded_matmul %x, %w transpose_rhs true : (tensor<3x7xf32>, tensor<5x7xf32>) -> tensor<3x5xf32>
  %z = glow_cpu.rounded_matmul %p, %q transpose_lhs true : (tensor<2x7x3xf32>, tensor<2x7x5xf32>) -> tensor<2x3x5xf32>
  func.return %y, %z : tensor<3x5xf32>, tensor<2x3x5xf32>
}

// CHECK:      func.func @products(
// CHECK-NEXT:   %y = glow_cpu.rounded_matmul %x, %w transpose_rhs true : (tensor<3x7xf32>, tensor<5x7xf32>) -> tensor<3x5xf32>
// CHECK-NEXT:   %z = glow_cpu.rounded_matmul %p, %q transpose_lhs true : (tensor<2x7x3xf32>, tensor<2x7x5xf32>) -> tensor<2x3x5xf32>

// INST: glow_inst.rounded_matmul @out %{{.*}}, @in %x, @in %w transpose_rhs true
