// RUN: glow-opt %s | glow-opt | filecheck %s
// RUN: glow-opt %s --print-op-generic | glow-opt | filecheck %s

func.func @resampled(%y: memref<2x9xf32>, %x: memref<2x5xf32>, %p: memref<9x2xi32>, %w: memref<9x2xf32>, %s: memref<4x3x10xf32>,
    %i: memref<2x3x35xf32>, %n: memref<4xi64>, %q: memref<4x10x4xi64>, %v: memref<4x10x4xf32>, %z: memref<1x8x3x4xf32>, %f: memref<1x8x2x2x2x2xf32>) {
  glow_inst.resample @out %y, @in %x, @in %p, @in %w axis 1 : memref<2x9xf32>, memref<2x5xf32>, memref<9x2xi32>, memref<9x2xf32>
  glow_inst.sample @out %s, @in %i, @in %n, @in %q, @in %v : memref<4x3x10xf32>, memref<2x3x35xf32>, memref<4xi64>, memref<4x10x4xi64>, memref<4x10x4xf32>
  glow_inst.fold @out %z, @in %f image [3, 4] strides [1, 2] : memref<1x8x3x4xf32>, memref<1x8x2x2x2x2xf32>
  func.return
}

// CHECK: glow_inst.resample @out %y, @in %x, @in %p, @in %w axis 1 : memref<2x9xf32>, memref<2x5xf32>, memref<9x2xi32>, memref<9x2xf32>
// CHECK: glow_inst.sample @out %s, @in %i, @in %n, @in %q, @in %v : memref<4x3x10xf32>, memref<2x3x35xf32>, memref<4xi64>, memref<4x10x4xi64>, memref<4x10x4xf32>
// CHECK: glow_inst.fold @out %z, @in %f image [3, 4] strides [1, 2] : memref<1x8x3x4xf32>, memref<1x8x2x2x2x2xf32>
