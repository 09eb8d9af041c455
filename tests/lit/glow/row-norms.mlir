// RUN: glow-opt %s | glow-opt | filecheck %s
// RUN: glow-opt %s --print-op-generic | glow-opt | filecheck %s

// Normalisation of rows and of groups of channels.

func.func @norms(%x: tensor<2x8x4xf32>, %row: tensor<8x4xf32>, %c: tensor<8xf32>) {
  %layer = glow.layer_norm %x, %row, %row axis 1 epsilon 1.0e-12 : (tensor<2x8x4xf32>, tensor<8x4xf32>, tensor<8x4xf32>) -> tensor<2x8x4xf32>
  %rms = glow.rms_norm %x, %row axis 1 : (tensor<2x8x4xf32>, tensor<8x4xf32>) -> tensor<2x8x4xf32>
  %group = glow.group_norm %x, %c, %c groups 4 : (tensor<2x8x4xf32>, tensor<8xf32>, tensor<8xf32>) -> tensor<2x8x4xf32>
  func.return
}

// CHECK:      func.func @norms(
// CHECK-NEXT:     %layer = glow.layer_norm %x, %row, %row axis 1 epsilon 1.0e-12 : (tensor<2x8x4xf32>, tensor<8x4xf32>, tensor<8x4xf32>) -> tensor<2x8x4xf32>
// CHECK-NEXT:     %rms = glow.rms_norm %x, %row axis 1 : (tensor<2x8x4xf32>, tensor<8x4xf32>) -> tensor<2x8x4xf32>
// CHECK-NEXT:     %group = glow.group_norm %x, %c, %c groups 4 : (tensor<2x8x4xf32>, tensor<8xf32>, tensor<8xf32>) -> tensor<2x8x4xf32>
