// RUN: glow-opt %s | glow-opt | filecheck %s
// RUN: glow-opt %s --print-op-generic | glow-opt | filecheck %s

func.func @transposed(%y: memref<1x6x9x9xf32>, %x: memref<1x4x5x5xf32>, %w: memref<4x6x1x1xf32>, %b: memref<6xf32>) {
  glow_inst.transposed_convolution @out %y, @in %x, @in %w, @in %b strides [2, 2] : memref<1x6x9x9xf32>, memref<1x4x5x5xf32>, memref<4x6x1x1xf32>, memref<6xf32>
  func.return
}

// CHECK: glow_inst.transposed_convolution @out %y, @in %x, @in %w, @in %b strides [2, 2] : memref<1x6x9x9xf32>, memref<1x4x5x5xf32>, memref<4x6x1x1xf32>, memref<6xf32>
