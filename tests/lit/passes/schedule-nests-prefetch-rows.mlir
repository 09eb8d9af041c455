// RUN: glow-opt %s --schedule-nests | filecheck %s
// RUN: glow-opt %s --schedule-nests | glow-opt --generate-loops | filecheck %s --check-prefix=LOOPS

module attributes {glow.machine = #glow.machine<vector_bits = 256, vector_registers = 16, l1_bytes = 32768, l2_bytes = 524288, l3_bytes = 33554432>} {

// Pixels two apart: behind the last tile of a row is a row that nothing reads. So a tile prefetches
// the one in the next row.

// CHECK: glow_nest.kernel @strided
// CHECK: parallel(ob: 32, h: 14, w: 14, o: 8)
// CHECK-SAME: schedule<register_tile, order = [ob, h, w, o]
// CHECK-SAME: prefetch_next_tile = {0: h}
// LOOPS: glow_vec.prefetch
glow_nest.kernel @strided(%y: memref<1x32x14x14x8xf32>, %x: memref<1x64x28x28x8xf32>, %w: memref<32x64x8x8xf32>) {
  glow_nest.nest parallel(ob: 32, h: 14, w: 14, o: 8) reduce(cb: 64, c: 8) add f32 of(%x[6272 * cb + 448 * h + 16 * w + c], %w[4096 * ob + 64 * cb + 8 * c + o]) writes(%y[1568 * ob + 112 * h + 8 * w + o])
}

// Rows that follow each other are one loop. So many pixels meet the filters of a tile that lines do
// not pay. A prime number of blocks of channels has no chunks, so filters are prefetched at a
// distance.

// CHECK: glow_nest.kernel @dense
// CHECK: parallel(ob: 32, hw: 784, o: 8)
// CHECK-SAME: prefetch_distance = {1: 1024}
// CHECK-SAME: prefetch_next_tile = {0: hw}>
glow_nest.kernel @dense(%y: memref<1x32x28x28x8xf32>, %x: memref<1x61x28x28x8xf32>, %w: memref<32x61x8x8xf32>) {
  glow_nest.nest parallel(ob: 32, h: 28, w: 28, o: 8) reduce(cb: 61, c: 8) add f32 of(%x[6272 * cb + 224 * h + 8 * w + c], %w[3904 * ob + 64 * cb + 8 * c + o]) writes(%y[6272 * ob + 224 * h + 8 * w + o])
}

// Here only the rows of the result do not follow each other: it has a border. Behind the last tile
// of a row is the next row of the image.

// CHECK: glow_nest.kernel @bordered
// CHECK: parallel(ob: 32, h: 28, w: 28, o: 8)
// CHECK-SAME: prefetch_next_tile = {0: w}
glow_nest.kernel @bordered(%y: memref<1x32x30x30x8xf32>, %x: memref<1x64x28x28x8xf32>, %w: memref<32x64x8x8xf32>) {
  glow_nest.nest parallel(ob: 32, h: 28, w: 28, o: 8) reduce(cb: 64, c: 8) add f32 of(%x[6272 * cb + 224 * h + 8 * w + c], %w[4096 * ob + 64 * cb + 8 * c + o]) writes(%y[7200 * ob + 240 * h + 8 * w + o])
}

// An image that stays near is not prefetched.

// CHECK: glow_nest.kernel @near
// CHECK-NOT: prefetch_next_tile
glow_nest.kernel @near(%y: memref<1x32x7x7x8xf32>, %x: memref<1x16x14x14x8xf32>, %w: memref<32x16x8x8xf32>) {
  glow_nest.nest parallel(ob: 32, h: 7, w: 7, o: 8) reduce(cb: 16, c: 8) add f32 of(%x[1568 * cb + 224 * h + 16 * w + c], %w[1024 * ob + 64 * cb + 8 * c + o]) writes(%y[392 * ob + 56 * h + 8 * w + o])
}

// Filters of a chunk stay in the first cache while all pixels meet them.

// CHECK: glow_nest.kernel @chunks
// CHECK-NOT: prefetch_distance
// CHECK: chunks = <number = chunk, inside = t>
glow_nest.kernel @chunks(%y: memref<32x49x8xf32>, %x: memref<64x49x8xf32>, %w: memref<32x512x8xf32>) {
  glow_nest.nest parallel(o: 32, t: 49, k: 8) reduce(c: 64, l: 8) add f32 of(%x[392 * c + 8 * t + l], %w[4096 * o + 64 * c + 8 * l + k]) writes(%y[392 * o + 8 * t + k]) raw
}
}
