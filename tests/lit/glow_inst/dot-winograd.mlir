// RUN: glow-opt %s | glow-opt | filecheck %s
// RUN: glow-opt %s --print-op-generic | glow-opt | filecheck %s

func.func @winograd(%y: memref<1x4x56x56x8xi32>, %x: memref<1x8x58x58x8xui8>, %u: memref<36x4x8x4x8x2xi16>, %b: memref<4x8xi32>) {
  glow_inst.dot_winograd_convolution @out %y, @in %x, @in %u, @in %b tile 4 : memref<1x4x56x56x8xi32>, memref<1x8x58x58x8xui8>, memref<36x4x8x4x8x2xi16>, memref<4x8xi32>
  func.return
}

// CHECK: glow_inst.dot_winograd_convolution @out %y, @in %x, @in %u, @in %b tile 4 : memref<1x4x56x56x8xi32>, memref<1x8x58x58x8xui8>, memref<36x4x8x4x8x2xi16>, memref<4x8xi32>
