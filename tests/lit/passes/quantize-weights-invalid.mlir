// RUN: not glow-opt %s --quantize-weights="group=16" 2>&1 | filecheck %s
// RUN: not glow-opt %s --quantize-weights="storage=u3" 2>&1 | filecheck %s --check-prefix=STORAGE
// RUN: not glow-opt %s --quantize-weights="group=12" 2>&1 | filecheck %s --check-prefix=GROUP
// RUN: not glow-opt %s --quantize-weights="group=8 keep-float=y" 2>&1 | filecheck %s --check-prefix=NONE

func.func @main(%x: tensor<2x24xf32> {glow.name = "x"}) -> (tensor<2x1xf32> {glow.name = "y"}) {
  %w = glow.constant dense<0.5> : tensor<24x1xf32>
  %y = glow.matmul %x, %w : (tensor<2x24xf32>, tensor<24x1xf32>) -> tensor<2x1xf32>
  func.return %y : tensor<2x1xf32>
}

// CHECK: error: glow-quantize-weights: y: a group of 16 weights does not divide 24 rows; choose another group, or keep the product in float
// STORAGE: expected weights of u4 or u8, found 'u3'
// GROUP: expected a group of weights to be a multiple of 8, found 12
// NONE: error: glow-quantize-weights: no weights are quantized: y stays float: it is kept in float
