// RUN: glow-opt %s --set-machine="vector-bits=256 vector-registers=16" --build-nests --split-reductions --schedule-nests | filecheck %s

// One row meets weights: each step reads a whole row of a panel, because a vector that one sum needs
// takes no register for itself, and prefetches what follows 256 elements later.

// CHECK: glow_nest.kernel @k_packed_matmul
// CHECK: schedule<reduce, order = [part, j], vector = j, lanes = 8, reduced = [t], prefetch_distance = {1: 256}, tile = {j: 8}>

// Two rows share the vectors, which stay in registers.

// CHECK: glow_nest.kernel @k_packed_matmul
// CHECK: schedule<reduce, order = [part, i, j], vector = j, lanes = 8, reduced = [t], tile = {j: 4, i: 2}>

func.func @main(%x: memref<1x512xf32> {glow.name = "x", glow.qualifier = "in"}, %v: memref<2x512xf32> {glow.name = "v", glow.qualifier = "in"},
    %y: memref<1x128xf32> {glow.name = "y", glow.qualifier = "out"}, %z: memref<2x128xf32> {glow.name = "z", glow.qualifier = "out"})
    attributes {glow.arena_size = 0 : i64, glow.weights_size = 262144 : i64} {
  %w = glow_inst.weight dense<0.5> : tensor<2x512x64xf32> {offset = 0 : i64} : memref<2x512x64xf32>
  glow_inst.packed_matmul @out %y, @in %x, @in %w columns 128 : memref<1x128xf32>, memref<1x512xf32>, memref<2x512x64xf32>
  glow_inst.packed_matmul @out %z, @in %v, @in %w columns 128 : memref<2x128xf32>, memref<2x512xf32>, memref<2x512x64xf32>
  func.return
}
