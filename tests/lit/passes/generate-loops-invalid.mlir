// RUN: not xdsl-opt %s -p glow-build-nests 2>&1 | filecheck %s

// Memory must be planned first.

func.func @main(%x: memref<8xf32> {glow.name = "x", glow.qualifier = "in"}, %y: memref<8xf32> {glow.name = "y", glow.qualifier = "out"}) {
  glow_inst.copy @out %y, @in %x : memref<8xf32>, memref<8xf32>
  func.return
}

// CHECK: main has no glow.arena_size: run glow-allocate before glow-build-nests
