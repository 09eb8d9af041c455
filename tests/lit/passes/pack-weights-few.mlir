// RUN: glow-opt %s --set-machine="vector-bits=256 vector-registers=16" --pack-weights --split-input-file | filecheck %s

// A matrix of up to four columns stays as it is; for a single row, one whose columns fill less than two vectors.
func.func @few_columns(%x: tensor<3x5xf32>, %y: tensor<1x5xf32>) -> (tensor<3x4xf32>, tensor<3x4xf32>, tensor<1x15xf32>) {
  %w = glow.constant dense<1.0> : tensor<5x4xf32>
  %v = glow.constant dense<2.0> : tensor<4x5xf32>
  %b = glow.constant dense<3.0> : tensor<4xf32>
  %m = glow.constant dense<4.0> : tensor<5x15xf32>
  %r = glow.matmul %x, %w : (tensor<3x5xf32>, tensor<5x4xf32>) -> tensor<3x4xf32>
  %s = glow.fully_connected %x, %v, %b : (tensor<3x5xf32>, tensor<4x5xf32>, tensor<4xf32>) -> tensor<3x4xf32>
  %t = glow.matmul %y, %m : (tensor<1x5xf32>, tensor<5x15xf32>) -> tensor<1x15xf32>
  func.return %r, %s, %t : tensor<3x4xf32>, tensor<3x4xf32>, tensor<1x15xf32>
}

// CHECK-LABEL: @few_columns(
// CHECK-NOT:     packed_matmul
// CHECK:         glow.matmul %x,
// CHECK-NEXT:    glow.fully_connected %x,
// CHECK-NEXT:    glow.matmul %y,

// -----

// Of more columns, a panel has zeros behind the last one.
func.func @more_columns(%x: tensor<3x5xf32>, %y: tensor<1x5xf32>) -> (tensor<3x5xf32>, tensor<1x16xf32>) {
  %w = glow.constant dense<1.0> : tensor<5x5xf32>
  %m = glow.constant dense<4.0> : tensor<5x16xf32>
  %r = glow.matmul %x, %w : (tensor<3x5xf32>, tensor<5x5xf32>) -> tensor<3x5xf32>
  %t = glow.matmul %y, %m : (tensor<1x5xf32>, tensor<5x16xf32>) -> tensor<1x16xf32>
  func.return %r, %t : tensor<3x5xf32>, tensor<1x16xf32>
}

// CHECK-LABEL: @more_columns(
// CHECK:         glow_cpu.packed_matmul %x, %{{.*}} columns 5 : (tensor<3x5xf32>, tensor<1x5x8xf32>) -> tensor<3x5xf32>
// CHECK:         glow_cpu.packed_matmul %y, %{{.*}} columns 16 : (tensor<1x5xf32>, tensor<1x5x16xf32>) -> tensor<1x16xf32>
