// RUN: glow-opt %s | glow-opt | filecheck %s
// RUN: glow-opt %s --print-op-generic | glow-opt | filecheck %s

// Products with packed weights.

func.func @packed(%x: tensor<2x3x4xf32>, %v: tensor<4xf16>, %w: tensor<2x4x8xf32>, %u: tensor<1x4x8xf16>) {
  %rows = glow_cpu.packed_matmul %x, %w columns 9 : (tensor<2x3x4xf32>, tensor<2x4x8xf32>) -> tensor<2x3x9xf32>
  %row = glow_cpu.packed_matmul %v, %u columns 8 : (tensor<4xf16>, tensor<1x4x8xf16>) -> tensor<8xf16>
  func.return
}

// CHECK:      func.func @packed(
// CHECK-NEXT:     %rows = glow_cpu.packed_matmul %x, %w columns 9 : (tensor<2x3x4xf32>, tensor<2x4x8xf32>) -> tensor<2x3x9xf32>
// CHECK-NEXT:     %row = glow_cpu.packed_matmul %v, %u columns 8 : (tensor<4xf16>, tensor<1x4x8xf16>) -> tensor<8xf16>
// CHECK-NEXT:     func.return
