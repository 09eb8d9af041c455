// RUN: glow-opt %s | glow-opt | filecheck %s
// RUN: glow-opt %s --print-op-generic | glow-opt | filecheck %s

// Products with weights of a few bits in panels.

func.func @main(%x: tensor<2x32xf32>, %w: tensor<1x2x2x8xui32>, %s: tensor<1x2x8xf32>, %z: tensor<1x1x1xui8>) {
  %r0 = glow_cpu.packed_block_quantized_matmul %x, %w, %s, %z columns 5 bits 4 : (tensor<2x32xf32>, tensor<1x2x2x8xui32>, tensor<1x2x8xf32>, tensor<1x1x1xui8>) -> tensor<2x5xf32>
  func.return
}

// CHECK:      %r0 = glow_cpu.packed_block_quantized_matmul %x, %w, %s, %z columns 5 bits 4 : (tensor<2x32xf32>, tensor<1x2x2x8xui32>, tensor<1x2x8xf32>, tensor<1x1x1xui8>) -> tensor<2x5xf32>
