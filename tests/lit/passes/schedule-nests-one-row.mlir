// RUN: glow-opt %s --set-machine="vector-bits=256 vector-registers=16 l2-bytes=524288" --build-nests --schedule-nests | filecheck %s
// RUN: glow-opt %s --set-machine="vector-bits=256 vector-registers=16 l2-bytes=524288" --build-nests --schedule-nests | glow-opt --print-op-generic | glow-opt | filecheck %s
// RUN: glow-opt %s --set-machine="vector-bits=256 vector-registers=16 l2-bytes=524288" --build-nests --schedule-nests --generate-loops | filecheck %s --check-prefix=LOOPS

// One row meets several panels at a time, which come from far: six streams, each of which goes on in the next tile.
// A vector that one sum needs takes no register for itself. Each stream is prefetched 80 elements ahead, all of them
// together 2,048 bytes.

// CHECK: glow_nest.kernel @k_packed_matmul
// CHECK: schedule<reduce, order = [p, j], vector = j, lanes = 8, reduced = [t], prefetch_distance = {1: 80}, tile = {j: 2, p: 6}, spread = p>

// The second panel of a tile is four panels behind the first one. Of each line, one vector prefetches.

// LOOPS: func.func private @k_packed_matmul
// LOOPS: %[[APART:.*]] = arith.constant 32768 : index
// LOOPS-COUNT-6: glow_vec.prefetch
// LOOPS-NOT: glow_vec.prefetch
// LOOPS: arith.addi %{{.*}}, %[[APART]] : index
// LOOPS: func.func private @k_packed_matmul

// A tile that does not divide the panels becomes smaller: three of 27 panels.

// CHECK: glow_nest.kernel @k_packed_matmul
// CHECK: tile = {j: 2, p: 3}, spread = p>

// Weights that stay near are no streams. Two rows share vectors, which stay in registers; those that come from far are prefetched
// 4,096 bytes ahead, and a line of the next panel in each step.

// CHECK: glow_nest.kernel @k_packed_matmul
// CHECK: schedule<reduce, order = [p, j], vector = j, lanes = 8, reduced = [t], tile = {j: 2, p: 6}>
// CHECK: glow_nest.kernel @k_packed_matmul
// CHECK: schedule<reduce, order = [i, j], vector = j, lanes = 8, reduced = [t], prefetch_distance = {1: 1024}, prefetch_lines = <read = 1, first = 8192 * %p + 4096 * i + 16 * t + 8192>, tile = {j: 2, i: 2}>

func.func @main(%x: memref<1x512xf32> {glow.name = "x", glow.qualifier = "in"}, %v: memref<2x512xf32> {glow.name = "v", glow.qualifier = "in"},
    %n: memref<1x16xf32> {glow.name = "n", glow.qualifier = "in"},
    %a: memref<1x384xf32> {glow.name = "a", glow.qualifier = "out"}, %b: memref<1x432xf32> {glow.name = "b", glow.qualifier = "out"},
    %c: memref<1x384xf32> {glow.name = "c", glow.qualifier = "out"}, %d: memref<2x384xf32> {glow.name = "d", glow.qualifier = "out"})
    attributes {glow.arena_size = 0 : i64, glow.weights_size = 1695744 : i64} {
  %w = glow_inst.weight dense<0.5> : tensor<24x512x16xf32> {offset = 0 : i64} : memref<24x512x16xf32>
  %u = glow_inst.weight dense<0.5> : tensor<27x512x16xf32> {offset = 786432 : i64} : memref<27x512x16xf32>
  %s = glow_inst.weight dense<0.5> : tensor<24x16x16xf32> {offset = 1671168 : i64} : memref<24x16x16xf32>
  glow_inst.packed_matmul @out %a, @in %x, @in %w columns 384 : memref<1x384xf32>, memref<1x512xf32>, memref<24x512x16xf32>
  glow_inst.packed_matmul @out %b, @in %x, @in %u columns 432 : memref<1x432xf32>, memref<1x512xf32>, memref<27x512x16xf32>
  glow_inst.packed_matmul @out %c, @in %n, @in %s columns 384 : memref<1x384xf32>, memref<1x16xf32>, memref<24x16x16xf32>
  glow_inst.packed_matmul @out %d, @in %v, @in %w columns 384 : memref<2x384xf32>, memref<2x512xf32>, memref<24x512x16xf32>
  func.return
}
