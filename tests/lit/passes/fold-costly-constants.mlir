// RUN: glow-opt %s --fold-constants="max-elements=3" --split-input-file | filecheck %s

// A sum of two vectors is larger than these. Its sine takes more operations than a read of memory.
func.func @sines(%x: tensor<3x3xf32>) -> tensor<3x3xf32> {
  %a = glow.constant dense<[1.0, 2.0, 3.0]> : tensor<3xf32>
  %b = glow.constant dense<[[0.5], [1.5], [2.5]]> : tensor<3x1xf32>
  %c = glow.broadcast %a : (tensor<3xf32>) -> tensor<3x3xf32>
  %d = glow.broadcast %b : (tensor<3x1xf32>) -> tensor<3x3xf32>
  %e = glow.add %c, %d : (tensor<3x3xf32>, tensor<3x3xf32>) -> tensor<3x3xf32>
  %f = glow.sin %e : (tensor<3x3xf32>) -> tensor<3x3xf32>
  %y = glow.mul %x, %f : (tensor<3x3xf32>, tensor<3x3xf32>) -> tensor<3x3xf32>
  func.return %y : tensor<3x3xf32>
}

// CHECK-LABEL: @sines(
// CHECK-NEXT:  %f = glow.constant dense<{{\[\[}}9.974950e-01, 0.598472{{[0-9]+}}, -0.350783{{[0-9]+}}], {{.*}}> : tensor<3x3xf32>
// CHECK-NEXT:  %y = glow.mul %x, %f : (tensor<3x3xf32>, tensor<3x3xf32>) -> tensor<3x3xf32>
// CHECK-NEXT:  func.return %y : tensor<3x3xf32>

// -----

// The sum alone is computed where it is used.
func.func @sums(%x: tensor<3x3xf32>) -> tensor<3x3xf32> {
  %a = glow.constant dense<[1.0, 2.0, 3.0]> : tensor<3xf32>
  %b = glow.constant dense<[[0.5], [1.5], [2.5]]> : tensor<3x1xf32>
  %c = glow.broadcast %a : (tensor<3xf32>) -> tensor<3x3xf32>
  %d = glow.broadcast %b : (tensor<3x1xf32>) -> tensor<3x3xf32>
  %e = glow.add %c, %d : (tensor<3x3xf32>, tensor<3x3xf32>) -> tensor<3x3xf32>
  %y = glow.mul %x, %e : (tensor<3x3xf32>, tensor<3x3xf32>) -> tensor<3x3xf32>
  func.return %y : tensor<3x3xf32>
}

// CHECK-LABEL: @sums(
// CHECK:       %e = glow.add %c, %d : (tensor<3x3xf32>, tensor<3x3xf32>) -> tensor<3x3xf32>
// CHECK-NEXT:  %y = glow.mul %x, %e : (tensor<3x3xf32>, tensor<3x3xf32>) -> tensor<3x3xf32>

// -----

// What an input takes part in is computed.
func.func @of_an_input(%x: tensor<3x3xf32>) -> tensor<3x3xf32> {
  %a = glow.constant dense<[1.0, 2.0, 3.0]> : tensor<3xf32>
  %c = glow.broadcast %a : (tensor<3xf32>) -> tensor<3x3xf32>
  %e = glow.add %c, %x : (tensor<3x3xf32>, tensor<3x3xf32>) -> tensor<3x3xf32>
  %y = glow.sin %e : (tensor<3x3xf32>) -> tensor<3x3xf32>
  func.return %y : tensor<3x3xf32>
}

// CHECK-LABEL: @of_an_input(
// CHECK:       %y = glow.sin %e : (tensor<3x3xf32>) -> tensor<3x3xf32>
