// RUN: not glow-opt %s --quantize="dynamic=true" 2>&1 | filecheck %s

// Nothing that can be quantized is an error, which says why each product stays float.

func.func @main(%x: tensor<2x3xf32> {glow.name = "x"}, %w: tensor<3x2xf32> {glow.name = "w"}, %h: tensor<2x3xf16> {glow.name = "h"})
    -> (tensor<2x2xf32> {glow.name = "y"}, tensor<2x1xf16> {glow.name = "z"}) {
  %y = glow.matmul %x, %w : (tensor<2x3xf32>, tensor<3x2xf32>) -> tensor<2x2xf32>
  %v = glow.constant dense<[[1.0], [2.0], [0.5]]> : tensor<3x1xf16>
  %z = glow.matmul %h, %v : (tensor<2x3xf16>, tensor<3x1xf16>) -> tensor<2x1xf16>
  func.return %y, %z : tensor<2x2xf32>, tensor<2x1xf16>
}

// CHECK: error: glow-quantize: nothing is quantized, of matrix products, fully connected layers: y stays float: its weights are not constant; z stays float: it is no product of f32
