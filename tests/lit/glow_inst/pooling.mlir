// RUN: glow-opt %s | glow-opt | filecheck %s
// RUN: glow-opt %s --print-op-generic | glow-opt | filecheck %s

func.func @pools(%y: memref<1x8x2x2xf32>, %x: memref<1x8x4x4xf32>, %n: memref<1x8x2x2xi64>, %d: memref<5xf32>, %m: memref<5x3x3xf32>) {
  glow_inst.lp_pool @out %y, @in %x kernel [2, 2] strides [2, 2] p 3 : memref<1x8x2x2xf32>, memref<1x8x4x4xf32>
  glow_inst.max_pool_places @out %n, @in %x, @in %y kernel [2, 2] strides [2, 2] : memref<1x8x2x2xi64>, memref<1x8x4x4xf32>, memref<1x8x2x2xf32>
  glow_inst.determinant @out %d, @in %m : memref<5xf32>, memref<5x3x3xf32>
  func.return
}

// CHECK: glow_inst.lp_pool @out %y, @in %x p 3 kernel [2, 2] strides [2, 2] : memref<1x8x2x2xf32>, memref<1x8x4x4xf32>
// CHECK: glow_inst.max_pool_places @out %n, @in %x, @in %y kernel [2, 2] strides [2, 2] : memref<1x8x2x2xi64>, memref<1x8x4x4xf32>, memref<1x8x2x2xf32>
// CHECK: glow_inst.determinant @out %d, @in %m : memref<5xf32>, memref<5x3x3xf32>
