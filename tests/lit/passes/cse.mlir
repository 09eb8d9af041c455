// RUN: glow-opt %s --cse --split-input-file | filecheck %s

// Equal nodes on equal operands are computed once; constants too.
func.func @equal(%x: tensor<4xf32>) -> tensor<4xf32> {
  %a = glow.constant dense<[1.0, 2.0, 3.0, 4.0]> : tensor<4xf32>
  %b = glow.constant dense<[1.0, 2.0, 3.0, 4.0]> : tensor<4xf32>
  %c = glow.add %x, %a : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %d = glow.add %x, %b : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %e = glow.mul %c, %d : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  func.return %e : tensor<4xf32>
}

// CHECK-LABEL: @equal(
// CHECK-NEXT:  %a = glow.constant dense<[1.000000e+00, 2.000000e+00, 3.000000e+00, 4.000000e+00]> : tensor<4xf32>
// CHECK-NEXT:  %c = glow.add %x, %a : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
// CHECK-NEXT:  %e = glow.mul %c, %c : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
// CHECK-NEXT:  func.return %e : tensor<4xf32>

// -----

// References to the same bytes are equal, without a look at the bytes.
func.func @references() -> (tensor<8xf32>, tensor<8xf32>, tensor<8xf32>) {
  %a = glow.constant #glow.blob<"absent.bin", 0, 32> : tensor<8xf32>
  %b = glow.constant #glow.blob<"absent.bin", 0, 32> : tensor<8xf32>
  %c = glow.constant #glow.blob<"absent.bin", 32, 32> : tensor<8xf32>
  func.return %a, %b, %c : tensor<8xf32>, tensor<8xf32>, tensor<8xf32>
}

// CHECK-LABEL: @references(
// CHECK-NEXT:  %a = glow.constant #glow.blob<"absent.bin", 0, 32> : tensor<8xf32>
// CHECK-NEXT:  %c = glow.constant #glow.blob<"absent.bin", 32, 32> : tensor<8xf32>
// CHECK-NEXT:  func.return %a, %a, %c : tensor<8xf32>, tensor<8xf32>, tensor<8xf32>

// -----

// Other properties make another node.
func.func @properties(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %a = glow.leaky_relu %x alpha 0.1 : (tensor<4xf32>) -> tensor<4xf32>
  %b = glow.leaky_relu %x alpha 0.2 : (tensor<4xf32>) -> tensor<4xf32>
  func.return %a, %b : tensor<4xf32>, tensor<4xf32>
}

// CHECK-LABEL: @properties(
// CHECK-NEXT:  %a = glow.leaky_relu %x alpha 0.1 : (tensor<4xf32>) -> tensor<4xf32>
// CHECK-NEXT:  %b = glow.leaky_relu %x alpha 0.2 : (tensor<4xf32>) -> tensor<4xf32>
// CHECK-NEXT:  func.return %a, %b : tensor<4xf32>, tensor<4xf32>
