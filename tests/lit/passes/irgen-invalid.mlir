// RUN: glow-opt %s --irgen --split-input-file --verify-diagnostics | filecheck %s

func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {
  %a = "test.op"(%x) : (tensor<2xf32>) -> tensor<2xf32>
  func.return %a : tensor<2xf32>
}
// CHECK: irgen-invalid.mlir:4:{{[0-9]+}}: error: glow-irgen: 'test.op' op (%a): expected only nodes of the glow dialect

// -----

func.func @main(%x: tensor<?xf32>) -> tensor<?xf32> {
  func.return %x : tensor<?xf32>
}
// CHECK: irgen-invalid.mlir:11:1: error: glow-irgen: 'func.func' op: expected static shapes, found tensor<?xf32>

// -----

// inputs of which only some are tensors
func.func @main(%x: tensor<2xf32>, %i: i32) -> tensor<2xf32> {
  %a = glow.relu %x : (tensor<2xf32>) -> tensor<2xf32>
  func.return %a : tensor<2xf32>
}
// CHECK: irgen-invalid.mlir:19:1: error: glow-irgen: 'func.func' op: expected a function of tensors, found (tensor<2xf32>, i32) -> tensor<2xf32>
