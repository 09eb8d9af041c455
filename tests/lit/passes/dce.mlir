// RUN: glow-opt %s --dce --split-input-file | filecheck %s

// What no result depends on disappears.
func.func @dead(%x: tensor<4xf32>) -> tensor<4xf32> {
  %c = glow.constant #glow.blob<"absent.bin", 0, 16> : tensor<4xf32>
  %a = glow.add %x, %c : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %b = glow.exp %a : (tensor<4xf32>) -> tensor<4xf32>
  %d = glow.relu %x : (tensor<4xf32>) -> tensor<4xf32>
  func.return %d : tensor<4xf32>
}

// CHECK-LABEL: @dead(
// CHECK-NEXT:  %d = glow.relu %x : (tensor<4xf32>) -> tensor<4xf32>
// CHECK-NEXT:  func.return %d : tensor<4xf32>

// -----

// Everything here is needed.
func.func @live(%x: tensor<4xf32>) -> tensor<4xf32> {
  %a = glow.exp %x : (tensor<4xf32>) -> tensor<4xf32>
  %b = glow.relu %a : (tensor<4xf32>) -> tensor<4xf32>
  func.return %b : tensor<4xf32>
}

// CHECK-LABEL: @live(
// CHECK-NEXT:  %a = glow.exp %x : (tensor<4xf32>) -> tensor<4xf32>
// CHECK-NEXT:  %b = glow.relu %a : (tensor<4xf32>) -> tensor<4xf32>
// CHECK-NEXT:  func.return %b : tensor<4xf32>
