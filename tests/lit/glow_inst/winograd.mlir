// RUN: glow-opt %s | glow-opt | filecheck %s
// RUN: glow-opt %s --print-op-generic | glow-opt | filecheck %s

func.func @winograd(%y: memref<1x8x56x56x16xf32>, %x: memref<1x4x58x58x16xf32>, %u: memref<36x8x64x16xf32>, %b: memref<8x16xf32>) {
  glow_inst.winograd_convolution @out %y, @in %x, @in %u, @in %b tile 4 : memref<1x8x56x56x16xf32>, memref<1x4x58x58x16xf32>, memref<36x8x64x16xf32>, memref<8x16xf32>
  func.return
}

// CHECK: glow_inst.winograd_convolution @out %y, @in %x, @in %u, @in %b tile 4 : memref<1x8x56x56x16xf32>, memref<1x4x58x58x16xf32>, memref<36x8x64x16xf32>, memref<8x16xf32>
