// RUN: glow-opt %s --split-input-file --parsing-diagnostics --verify-diagnostics | filecheck %s

// Vectors cannot be gathered by an index that another index places.
glow_nest.kernel @index(%y: memref<8xf32>, %x: memref<100xf32>, %i: memref<9xi64>, %j: memref<8xi64>) {
  glow_nest.nest parallel(n: 8) reads(%x[index(%i[index(%j[n], 9)], 100)]) writes(%y[n]) schedule<elementwise, order = [n], vector = n, lanes = 8>
}
// CHECK: expected a tile of 1 of n, on which indices depend, found 8

// -----

// A tile writes to the place of one index.
glow_nest.kernel @written(%y: memref<100xf32>, %x: memref<8xf32>, %i: memref<8xi64>) {
  glow_nest.nest parallel(n: 8) reads(%x[n]) writes(%y[n + index(%i[n], 90)]) schedule<elementwise, order = [n], vector = n, lanes = 8>
}
// CHECK: expected a tile of 1 of n, on which indices depend, found 8

// -----

// The last tile begins before the end of the one before, part of which is then visited twice.
glow_nest.kernel @twice(%y: memref<9x8xf32>, %x: memref<9x8x4xf32>) {
  glow_nest.nest parallel(i: 9, j: 8) reduce(k: 4) add f32 of(%x[32 * i + 4 * j + k]) reads(%y[i + 9 * j]) writes(%y[i + 9 * j]) in_place body {
  ^bb0(%0: f32, %1: f32):
    %2 = glow.add %0, %1 : (f32, f32) -> f32
    glow_nest.yield %2 : f32
  } schedule<reduce, order = [i, j], vector = k, lanes = 4, reduced = [k], tile = {i: 4}, rows = i, row_lanes = 4>
}
// CHECK: expected a tile of i that divides its 9 elements, because the nest writes what it reads, found 4

// -----

glow_nest.kernel @unrolled(%y: memref<8xf32>, %x: memref<8x4xf32>) {
  glow_nest.nest parallel(i: 8) reduce(k: 4) add f32 of(%x[4 * i + k]) writes(%y[i]) schedule<reduce, order = [i], vector = k, lanes = 4, reduced = [k], unrolled = [k]>
}
// CHECK: expected unrolled loops to be loops of the reduction without a tile, found k

// -----

// Steps that are emitted together are of a loop that is emitted.
glow_nest.kernel @together(%y: memref<8xf32>, %x: memref<8x4xf32>) {
  glow_nest.nest parallel(i: 8) reduce(k: 4) add f32 of(%x[4 * i + k]) writes(%y[i]) schedule<reduce, order = [i], vector = i, lanes = 8, reduced = [k], unrolled = [k], steps = 2>
}
// CHECK: expected 2 steps together of an innermost loop of the reduction of known size that is not unrolled, found k

// -----

glow_nest.kernel @none(%y: memref<8xf32>, %x: memref<8x4xf32>) {
  glow_nest.nest parallel(i: 8) reduce(k: 4) add f32 of(%x[4 * i + k]) writes(%y[i]) schedule<reduce, order = [i], vector = i, lanes = 8, reduced = [k], steps = 0>
}
// CHECK: expected at least 1 step together, found 0

// -----

glow_nest.kernel @reduction(%y: memref<8xf32>, %x: memref<8xf32>) {
  glow_nest.nest parallel(i: 8) reads(%x[i]) writes(%y[i]) schedule<reduce, order = [i], vector = i, lanes = 8>
}
// CHECK: expected a reduction for reduce, found none

// -----

glow_nest.kernel @elementwise(%y: memref<8xf32>, %x: memref<8xf32>) {
  glow_nest.nest parallel(i: 8) reduce() add f32 of(%x[i]) writes(%y[i]) schedule<elementwise, order = [i], vector = i, lanes = 8>
}
// CHECK: expected a schedule for a reduction, found elementwise

// -----

glow_nest.kernel @ahead(%y: memref<8xf32>, %x: memref<8x4xf32>) {
  glow_nest.nest parallel(i: 8) reduce(k: 4) add f32 of(%x[4 * i + k]) writes(%y[i]) schedule<reduce, order = [i], reduced = [k], prefetch_distance = {1: 64}>
}
// CHECK: expected prefetches of one of 1 reads, counted from 0, found 1

// -----

// A step of the reduction without vectors takes one element.
glow_nest.kernel @step(%y: memref<8xf32>, %x: memref<8x4xf32>) {
  glow_nest.nest parallel(i: 8) reduce(k: 4) add f32 of(%x[4 * i + k]) writes(%y[i]) schedule<reduce, order = [i], vector = i, lanes = 8, reduced = [k], tile = {k: 2}>
}
// CHECK: expected tiles of parallel loops and of the loop of vectors, found one of k

// -----

glow_nest.kernel @rows(%y: memref<8xf32>, %x: memref<8x4xf32>) {
  glow_nest.nest parallel(i: 8) reduce(k: 4) add f32 of(%x[4 * i + k]) writes(%y[i]) schedule<reduce, order = [i], vector = k, lanes = 4, reduced = [k], tile = {i: 6}, rows = i, row_lanes = 4>
}
// CHECK: expected row_lanes to be a power of two that divides the tile of i, 6, found 4

// -----

glow_nest.kernel @spread(%y: memref<9x8xf32>, %x: memref<4x8xf32>, %w: memref<9x4xf32>) {
  glow_nest.nest parallel(i: 9, j: 8) reduce(k: 4) add f32 of(%x[8 * k + j], %w[4 * i + k]) writes(%y[8 * i + j]) schedule<reduce, order = [i, j], vector = j, lanes = 8, reduced = [k], tile = {i: 4}, spread = i>
}
// CHECK: expected a tile that divides the 9 elements of i, over which it is spread, found 4

// -----

glow_nest.kernel @spread_vectors(%y: memref<16xf32>, %x: memref<4x16xf32>) {
  glow_nest.nest parallel(j: 16) reduce(k: 4) add f32 of(%x[16 * k + j]) writes(%y[j]) schedule<reduce, order = [j], vector = j, lanes = 8, reduced = [k], tile = {j: 2}, spread = j>
}
// CHECK: expected a tile to be spread over a parallel loop without a limit, along which neither vectors nor rows run, found j

// -----

glow_nest.kernel @copy(%y: memref<8x8xf32>, %x: memref<8x8xf32>) {
  glow_nest.nest parallel(i: 8, j: 8) reads(%x[8 * j + i]) writes(%y[8 * i + j]) raw schedule<register_transpose, order = [j, i], vector = i, lanes = 8, turned = j>
}
// CHECK: expected loads that are contiguous along j, and stores along the loop of vectors

// -----

glow_nest.kernel @chunks(%y: memref<8xf32>, %x: memref<32xf32>, %w: memref<32x8xf32>) {
  glow_nest.nest parallel(o: 8) reduce(chunk: 2, k: 16) add f32 of(%x[16 * chunk + k], %w[128 * chunk + 8 * k + o]) writes(%y[o])
      schedule<register_tile, order = [o], vector = o, lanes = 8, reduced = [k, chunk], vectors = 1, chunks = <number = chunk, inside = o>>
}
// CHECK: expected chunks whose number is the first loop of the reduction, inside a parallel loop, found chunk and o

// -----

// The sums cannot wait in %y, which the body reads.
glow_nest.kernel @chunks_in_place(%y: memref<8xf32>, %x: memref<32xf32>, %w: memref<32x8xf32>) {
  glow_nest.nest parallel(o: 8) reduce(chunk: 2, k: 16) add f32 of(%x[16 * chunk + k], %w[128 * chunk + 8 * k + o]) reads(%y[o]) writes(%y[o]) in_place body {
  ^bb0(%sum: f32, %before: f32):
    %0 = glow.add %sum, %before : (f32, f32) -> f32
    glow_nest.yield %0 : f32
  } schedule<register_tile, order = [o], vector = o, lanes = 8, reduced = [chunk, k], vectors = 1, chunks = <number = chunk, inside = o>>
}
// CHECK: expected chunks of sums that can wait where nothing else is

// -----

glow_nest.kernel @range_of_lanes(%y: memref<8xf32>, %x: memref<8x4xf32>, %at: memref<9xi64>) {
  glow_nest.nest parallel(i: 8) reduce(k: 4) range k from %at[i] to %at[i + 1] add f32 of(%x[4 * i + k]) writes(%y[i]) schedule<reduce, order = [i], vector = k, lanes = 4, reduced = [k]>
}
// CHECK: expected a loop over k, which has a range, found lanes or unrolled steps

// -----

glow_nest.kernel @range_in_tiles(%y: memref<8xf32>, %x: memref<8x4xf32>, %at: memref<9xi64>) {
  glow_nest.nest parallel(i: 8) reduce(k: 4) range k from %at[i] to %at[i + 1] add f32 of(%x[4 * i + k]) writes(%y[i]) schedule<reduce, order = [i], vector = i, lanes = 8, reduced = [k]>
}
// CHECK: expected a tile of 1 of i, on which indices depend, found 8

// -----

glow_nest.kernel @rows_ahead(%y: memref<8xf32>, %x: memref<8x4xf32>) {
  glow_nest.nest parallel(i: 8) reduce(k: 4) add f32 of(%x[4 * i + k]) writes(%y[i]) schedule<reduce, order = [i], reduced = [k], prefetch_steps = {0: 4}>
}
// CHECK: expected steps ahead of reads that an index places, found read 0

// -----

glow_nest.kernel @rows_together(%y: memref<8xf32>, %rows: memref<4xi32>, %x: memref<9x8xf32>) {
  glow_nest.nest parallel(i: 8) reduce(k: 4) add f32 of(%x[i + 8 * index(%rows[k], 9)]) writes(%y[i]) schedule<reduce, order = [i], vector = i, lanes = 8, reduced = [k], steps = 2, prefetch_steps = {0: 4}>
}
// CHECK: expected single steps where steps ahead are prefetched, found more

// -----

glow_nest.kernel @next_tile(%y: memref<8xf32>, %x: memref<32xf32>, %w: memref<32x8xf32>) {
  glow_nest.nest parallel(o: 8) reduce(k: 32) add f32 of(%x[k], %w[8 * k + o]) writes(%y[o])
      schedule<register_tile, order = [o], vector = o, lanes = 8, reduced = [k], vectors = 1, prefetch_next_tile = {1: o}>
}
// CHECK: expected the next tile of a read along a parallel loop other than that of the vectors, found 1 along o
