// RUN: glow-opt %s --stack-ops="epilogues=matmul" | filecheck %s

// The pooling is not named: what follows it stays a loop.

func.func @main(%x: memref<1x2x4x4xf32> {glow.qualifier = "in"}, %m: memref<4x4xf32> {glow.qualifier = "in"},
    %y: memref<1x2x2x2xf32> {glow.qualifier = "out"}, %z: memref<4x4xf32> {glow.qualifier = "out"}) {
  %p = glow_inst.alloc_activation : memref<1x2x2x2xf32>
  glow_inst.max_pool @out %p, @in %x kernel [2, 2] strides [2, 2] : memref<1x2x2x2xf32>, memref<1x2x4x4xf32>
  glow_inst.relu @out %y, @in %p : memref<1x2x2x2xf32>, memref<1x2x2x2xf32>
  glow_inst.dealloc_activation %p : memref<1x2x2x2xf32>
  %q = glow_inst.alloc_activation : memref<4x4xf32>
  glow_inst.matmul @out %q, @in %m, @in %m : memref<4x4xf32>, memref<4x4xf32>, memref<4x4xf32>
  glow_inst.relu @out %z, @in %q : memref<4x4xf32>, memref<4x4xf32>
  glow_inst.dealloc_activation %q : memref<4x4xf32>
  func.return
}

// CHECK:      glow_inst.max_pool @out %p, @in %x
// CHECK-NOT:  epilogue
// CHECK:      glow_inst.relu @out %y, @in %p
// CHECK:      glow_inst.matmul @out %z, @in %m, @in %m {{.*}} epilogue {
