// RUN: glow-opt %s | glow-opt | filecheck %s
// RUN: glow-opt %s --print-op-generic | glow-opt | filecheck %s

// Products with weights of a few bits.

func.func @main(%x: tensor<2x40xf32>, %w: tensor<5x3x8xui8>, %s: tensor<5x3xf32>, %z: tensor<1x1xui8>) {
  %r0 = glow.block_quantized_matmul %x, %w, %s, %z bits 4 : (tensor<2x40xf32>, tensor<5x3x8xui8>, tensor<5x3xf32>, tensor<1x1xui8>) -> tensor<2x5xf32>
  func.return
}

// CHECK:      %r0 = glow.block_quantized_matmul %x, %w, %s, %z bits 4 : (tensor<2x40xf32>, tensor<5x3x8xui8>, tensor<5x3xf32>, tensor<1x1xui8>) -> tensor<2x5xf32>
