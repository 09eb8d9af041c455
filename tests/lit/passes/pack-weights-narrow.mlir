// RUN: glow-opt %s --set-machine="vector-bits=64 vector-registers=16" --pack-weights --dce --split-input-file | filecheck %s

// Constant weights of 4 bits become words in panels, and the input gets zeros up to the last block.
func.func @packed(%x: tensor<1x5xf32>) -> tensor<1x3xf32> {
  %w = glow.constant dense<[[[1, 2, 3, 4]], [[5, 6, 7, 8]], [[9, 10, 11, 12]]]> : tensor<3x1x4xui8>
  %s = glow.constant dense<[[1.0], [2.0], [3.0]]> : tensor<3x1xf32>
  %z = glow.splat value 8 : tensor<1x1xui8>
  %r = glow.block_quantized_matmul %x, %w, %s, %z bits 4 input_bits 8 : (tensor<1x5xf32>, tensor<3x1x4xui8>, tensor<3x1xf32>, tensor<1x1xui8>) -> tensor<1x3xf32>
  func.return %r : tensor<1x3xf32>
}

// CHECK-LABEL: @packed(
// CHECK-DAG:   glow.constant dense<{{\[\[\[\[}}67305985, 134678021]]], {{\[\[\[}}202050057, 0]]]]> : tensor<2x1x1x2xui32>
// CHECK-DAG:   glow.constant dense<{{\[\[\[}}1.000000e+00, 2.000000e+00]], {{\[\[}}3.000000e+00, 0.000000e+00]]]> : tensor<2x1x2xf32>
// CHECK-DAG:   glow.pad %x high [0, 3]
// CHECK:       glow_cpu.packed_block_quantized_matmul {{.*}} columns 3 bits 4 input_bits 8

// -----

// Weights that are not constant, and blocks that are no whole words, stay.
func.func @not_packed(%x: tensor<1x5xf32>, %v: tensor<3x1x4xui8>) -> (tensor<1x3xf32>, tensor<1x3xf32>) {
  %w = glow.constant dense<[[[1, 2, 3]], [[4, 5, 6]], [[7, 8, 9]]]> : tensor<3x1x3xui8>
  %s = glow.constant dense<[[1.0], [2.0], [3.0]]> : tensor<3x1xf32>
  %z = glow.splat value 8 : tensor<1x1xui8>
  %r = glow.block_quantized_matmul %x, %v, %s, %z bits 4 : (tensor<1x5xf32>, tensor<3x1x4xui8>, tensor<3x1xf32>, tensor<1x1xui8>) -> tensor<1x3xf32>
  %q = glow.block_quantized_matmul %x, %w, %s, %z bits 4 : (tensor<1x5xf32>, tensor<3x1x3xui8>, tensor<3x1xf32>, tensor<1x1xui8>) -> tensor<1x3xf32>
  func.return %r, %q : tensor<1x3xf32>, tensor<1x3xf32>
}

// CHECK-LABEL: @not_packed(
// CHECK-NOT:   packed
// CHECK:       glow.block_quantized_matmul %x, %v
// CHECK:       glow.block_quantized_matmul %x, %w
