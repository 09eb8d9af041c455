// RUN: glow-opt %s --irgen --stack-ops | filecheck %s
// RUN: glow-opt %s --irgen --stack-ops | glow-opt | filecheck %s

// Elementwise neighbours move into the loops of a formula, as into those of other operators.
func.func @main(%x: tensor<3x4xf32>, %w: tensor<5x4xf32>, %r: tensor<3x5xf32>) -> tensor<3x5xf32> {
  %a = glow.generic %x, %w formula "y[b, i] = sum(k) x[b, k] * w[i, k]" : (tensor<3x4xf32>, tensor<5x4xf32>) -> tensor<3x5xf32>
  %b = glow.add %a, %r : (tensor<3x5xf32>, tensor<3x5xf32>) -> tensor<3x5xf32>
  %c = glow.relu %b : (tensor<3x5xf32>) -> tensor<3x5xf32>
  func.return %c : tensor<3x5xf32>
}

// CHECK:      glow_inst.generic @out [[Y:%.*]], @in %x, @in %w formula "y[b, i] = sum(k) x[b, k] * w[i, k]" : memref<3x5xf32>, memref<3x4xf32>, memref<5x4xf32> epilogue @in %r
// CHECK:        glow.add
// CHECK-NEXT:   glow.relu
// CHECK-NOT:  glow_inst.relu
