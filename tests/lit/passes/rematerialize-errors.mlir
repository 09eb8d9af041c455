// RUN: not glow-opt %s --rematerialize="budget=little" 2>&1 | filecheck %s --check-prefix=SIZE
// RUN: glow-opt %s --rematerialize="budget=1K" | filecheck %s --check-prefix=MORE

// SIZE: expected a budget such as 64MiB or a number of bytes, found 'little'

// A budget that cannot be reached leaves the graph as it is.

// MORE: func.func @main(%x: tensor<100x4xf32>) -> tensor<4xf32> {
// MORE-NEXT: %a = glow.exp
// MORE-NEXT: %b = glow.transpose
// MORE-NEXT: %y = glow.reduce_sum
// MORE-NEXT: func.return

func.func @main(%x: tensor<100x4xf32>) -> tensor<4xf32> {
  %a = glow.exp %x : (tensor<100x4xf32>) -> tensor<100x4xf32>
  %b = glow.transpose %a permutation [1, 0] : (tensor<100x4xf32>) -> tensor<4x100xf32>
  %y = glow.reduce_sum %b axes [1] : (tensor<4x100xf32>) -> tensor<4xf32>
  func.return %y : tensor<4xf32>
}
