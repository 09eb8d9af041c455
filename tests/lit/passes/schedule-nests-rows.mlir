// RUN: glow-opt %s --set-machine="vector-bits=512 vector-registers=32 l2-bytes=524288" --build-nests --schedule-nests --split-input-file | filecheck %s
// RUN: glow-opt %s --set-machine="vector-bits=512 vector-registers=32 l2-bytes=524288" --build-nests --schedule-nests --generate-loops --split-input-file | filecheck %s --check-prefix=LOOPS

// All rows prefetch the next panel together: each step prefetches two elements of it.

// CHECK: prefetch_lines = <read = 1, first = 768 * %p + 4 * i + 2 * t + 768>
// LOOPS: glow_vec.prefetch

func.func @main(%x: memref<256x16xf32> {glow.name = "x", glow.qualifier = "in"}, %y: memref<256x144xf32> {glow.name = "y", glow.qualifier = "out"})
    attributes {glow.arena_size = 0 : i64, glow.weights_size = 9216 : i64} {
  %w = glow_inst.weight dense<0.5> : tensor<3x16x48xf32> {offset = 0 : i64} : memref<3x16x48xf32>
  glow_inst.packed_matmul @out %y, @in %x, @in %w columns 144 : memref<256x144xf32>, memref<256x16xf32>, memref<3x16x48xf32>
  func.return
}

// -----

// A call may have fewer rows. So the first two tiles of 8 rows prefetch all of the next panel, and later ones nothing
// behind its end. The tiles of 8 to 4 rows prefetch two lines in each step. Those of fewer, which are the only ones of a
// call, prefetch none.

// CHECK: prefetch_lines = <read = 1, first = 768 * %p + 48 * i + 24 * t + 768, count = 2, apart = 16, end = 768 * %p + 1536>, tile = {j: 3, i: 8}
// LOOPS-COUNT-10: glow_vec.prefetch
// LOOPS-NOT: glow_vec.prefetch

func.func @main(%x: memref<256x16xf32> {glow.name = "x", glow.rows = array<i64: 0>, glow.qualifier = "in"}, %n: memref<i64> {glow.name = "n", glow.row_count, glow.qualifier = "in"}, %y: memref<256x144xf32> {glow.name = "y", glow.qualifier = "out"})
    attributes {glow.arena_size = 0 : i64, glow.weights_size = 9216 : i64} {
  %w = glow_inst.weight dense<0.5> : tensor<3x16x48xf32> {offset = 0 : i64} : memref<3x16x48xf32>
  glow_inst.packed_matmul @out %y, @in %x, @in %w columns 144 : memref<256x144xf32>, memref<256x16xf32>, memref<3x16x48xf32>
  func.return
}
