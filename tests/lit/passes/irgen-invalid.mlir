// RUN: not glow-opt %s --irgen --split-input-file --allow-unregistered-dialect 2>&1 | filecheck %s

func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {
  %a = "test.op"(%x) : (tensor<2xf32>) -> tensor<2xf32>
  func.return %a : tensor<2xf32>
}
// CHECK: irgen-invalid.mlir:4:{{[0-9]+}}: error: glow-irgen: 'test.op' op (%a): expected only nodes of the glow dialect
