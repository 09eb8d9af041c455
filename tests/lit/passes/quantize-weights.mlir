// RUN: glow-opt %s --quantize-weights="group=8" --dce --split-input-file | filecheck %s

// A constant matrix becomes groups of 8 numbers of a column, two of them in a byte.
func.func @main(%x: tensor<2x8xf32> {glow.name = "x"}) -> (tensor<2x1xf32> {glow.name = "y"}) {
  %w = glow.constant dense<[[-7.0], [0.0], [1.0], [2.0], [3.0], [4.0], [5.0], [8.0]]> : tensor<8x1xf32>
  %y = glow.matmul %x, %w : (tensor<2x8xf32>, tensor<8x1xf32>) -> tensor<2x1xf32>
  func.return %y : tensor<2x1xf32>
}

// CHECK-LABEL: @main(
// CHECK-DAG:   glow.constant dense<{{\[\[\[}}112, 152, 186, 252]]]> : tensor<1x1x4xui8>
// CHECK-DAG:   glow.constant dense<1.000000e+00> : tensor<1x1xf32>
// CHECK-DAG:   glow.constant dense<7> : tensor<1x1xui8>
// CHECK:       glow.block_quantized_matmul %x, {{.*}} bits 4 input_bits 8 {glow.weight_error = 0.000000e+00 : f64}

// -----

// A product with a matrix that is not constant stays as it is, and so does the other one's bias.
func.func @main(%x: tensor<2x8xf32> {glow.name = "x"}, %v: tensor<1x3xf32> {glow.name = "v"})
    -> (tensor<2x1xf32> {glow.name = "y"}, tensor<2x3xf32> {glow.name = "z"}) {
  %w = glow.constant dense<[[-7.0, 0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 8.0]]> : tensor<1x8xf32>
  %b = glow.constant dense<[0.5]> : tensor<1xf32>
  %y = glow.fully_connected %x, %w, %b : (tensor<2x8xf32>, tensor<1x8xf32>, tensor<1xf32>) -> tensor<2x1xf32>
  %z = glow.matmul %y, %v : (tensor<2x1xf32>, tensor<1x3xf32>) -> tensor<2x3xf32>
  func.return %y, %z : tensor<2x1xf32>, tensor<2x3xf32>
}

// CHECK-LABEL: @main(
// CHECK:       glow.block_quantized_matmul %x
// CHECK:       glow.add
// CHECK:       glow.matmul
