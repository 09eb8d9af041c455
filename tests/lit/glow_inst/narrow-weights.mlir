// RUN: glow-opt %s | glow-opt | filecheck %s
// RUN: glow-opt %s --print-op-generic | glow-opt | filecheck %s

// Products with weights of a few bits, and sums of rows that indices name.

func.func @main(%x: memref<2x40xf32>, %w: memref<5x3x8xui8>, %s: memref<5x3xf32>, %z: memref<1x1xui8>, %y: memref<2x5xf32>, %h: memref<2x32xf32>,
    %p: memref<1x2x2x8xui32>, %t: memref<1x2x8xf32>, %o: memref<1x1x1xui8>, %d: memref<10x4xf32>, %q: memref<10x6xui8>, %i: memref<5xi64>,
    %f: memref<5xf32>, %b: memref<3xi64>, %e: memref<2x4xf32>) {
  glow_inst.block_quantized_matmul @out %y, @in %x, @in %w, @in %s, @in %z bits 4 : memref<2x5xf32>, memref<2x40xf32>, memref<5x3x8xui8>, memref<5x3xf32>, memref<1x1xui8>
  glow_inst.packed_block_quantized_matmul @out %y, @in %h, @in %p, @in %t, @in %o columns 5 bits 4 : memref<2x5xf32>, memref<2x32xf32>, memref<1x2x2x8xui32>, memref<1x2x8xf32>, memref<1x1x1xui8>
  glow_inst.embedding_bag @out %e, @in %d, @in %i, @in %f, @in %b : memref<2x4xf32>, memref<10x4xf32>, memref<5xi64>, memref<5xf32>, memref<3xi64>
  glow_inst.fused_embedding_bag @out %e, @in %q, @in %i, @in %f, @in %b bits 4 half true : memref<2x4xf32>, memref<10x6xui8>, memref<5xi64>, memref<5xf32>, memref<3xi64>
  func.return
}

// CHECK:      glow_inst.block_quantized_matmul @out %y, @in %x, @in %w, @in %s, @in %z bits 4 : memref<2x5xf32>, memref<2x40xf32>, memref<5x3x8xui8>, memref<5x3xf32>, memref<1x1xui8>
// CHECK-NEXT: glow_inst.packed_block_quantized_matmul @out %y, @in %h, @in %p, @in %t, @in %o columns 5 bits 4 : memref<2x5xf32>, memref<2x32xf32>,
// CHECK-SAME: memref<1x2x2x8xui32>, memref<1x2x8xf32>, memref<1x1x1xui8>
// CHECK-NEXT: glow_inst.embedding_bag @out %e, @in %d, @in %i, @in %f, @in %b : memref<2x4xf32>, memref<10x4xf32>, memref<5xi64>, memref<5xf32>, memref<3xi64>
// CHECK-NEXT: glow_inst.fused_embedding_bag @out %e, @in %q, @in %i, @in %f, @in %b bits 4 half true : memref<2x4xf32>, memref<10x6xui8>, memref<5xi64>, memref<5xf32>, memref<3xi64>
