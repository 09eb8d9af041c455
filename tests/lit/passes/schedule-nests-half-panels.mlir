// RUN: glow-opt %s --set-machine="vector-bits=256 vector-registers=16 l2-bytes=524288" --build-nests --schedule-nests --split-input-file | filecheck %s

// Seven rows meet one half of a panel after the other. Each step reads a half of a line of weights, which come from
// far, and prefetches two other lines, one of them of the next panel.

// CHECK: schedule<reduce, order = [i, j], vector = j, lanes = 8, reduced = [t], prefetch_distance = {1: 1024}, prefetch_lines = <read = 1, first = 6144 * %p + 877 * i + 16 * t + 6144>, tile = {i: 7}>

func.func @main(%x: memref<7x384xf32> {glow.name = "x", glow.qualifier = "in"}, %y: memref<7x384xf32> {glow.name = "y", glow.qualifier = "out"})
    attributes {glow.arena_size = 0 : i64, glow.weights_size = 589824 : i64} {
  %w = glow_inst.weight dense<0.5> : tensor<24x384x16xf32> {offset = 0 : i64} : memref<24x384x16xf32>
  glow_inst.packed_matmul @out %y, @in %x, @in %w columns 384 : memref<7x384xf32>, memref<7x384xf32>, memref<24x384x16xf32>
  func.return
}

// -----

// Weights that stay in the second cache are not prefetched.

// CHECK: schedule<reduce,
// CHECK-NOT: prefetch

func.func @main(%x: memref<7x32xf32> {glow.name = "x", glow.qualifier = "in"}, %y: memref<7x32xf32> {glow.name = "y", glow.qualifier = "out"})
    attributes {glow.arena_size = 0 : i64, glow.weights_size = 4096 : i64} {
  %w = glow_inst.weight dense<0.5> : tensor<2x32x16xf32> {offset = 0 : i64} : memref<2x32x16xf32>
  glow_inst.packed_matmul @out %y, @in %x, @in %w columns 32 : memref<7x32xf32>, memref<7x32xf32>, memref<2x32x16xf32>
  func.return
}
