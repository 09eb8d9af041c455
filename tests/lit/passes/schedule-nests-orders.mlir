// RUN: glow-opt %s --set-machine="vector-bits=256 vector-registers=16 l1-bytes=32768 l2-bytes=32768 l3-bytes=262144" --schedule-nests | filecheck %s
// RUN: glow-opt %s --set-machine="vector-bits=256 vector-registers=16 l1-bytes=32768 l2-bytes=32768 l3-bytes=65536" --schedule-nests | filecheck %s --check-prefix=MEMORY
// RUN: glow-opt %s --set-machine="vector-bits=256 vector-registers=16 l1-bytes=32768 l2-bytes=1048576" --schedule-nests | filecheck %s --check-prefix=NEAR

// An image of 96 KB, whose rows have a border, and filters of 4 KB. If L2 is small, a row stays there beside all
// filters: rows are outside blocks.

// CHECK: glow_nest.kernel @rows
// CHECK: order = [h, b, w, o]
// MEMORY: glow_nest.kernel @rows
// MEMORY: order = [h, b, w, o]
// NEAR: glow_nest.kernel @rows
// NEAR: order = [b, h, w, o]
glow_nest.kernel @rows(%y: memref<4x24x32x8xf32>, %x: memref<4x24x36x8xf32>, %f: memref<4x4x8x8xf32>) {
  glow_nest.nest parallel(b: 4, h: 24, w: 32, o: 8) reduce(c: 4, i: 8) add f32 of(%x[6912 * c + 288 * h + 8 * w + i], %f[256 * b + 64 * c + 8 * i + o]) writes(%y[6144 * b + 256 * h + 8 * w + o])
}

// Rows are too long to stay: tiles prefetch the next one while blocks are outside pixels, or blocks are inside if the
// image comes from memory.

// CHECK: glow_nest.kernel @long_rows
// CHECK: order = [b, w, o]
// CHECK-SAME: prefetch_next_tile = {0: w}
// MEMORY: glow_nest.kernel @long_rows
// MEMORY: order = [w, b, o]
// NEAR: glow_nest.kernel @long_rows
// NEAR: order = [b, w, o]
glow_nest.kernel @long_rows(%y: memref<4x768x8xf32>, %x: memref<4x768x8xf32>, %f: memref<4x4x8x8xf32>) {
  glow_nest.nest parallel(b: 4, w: 768, o: 8) reduce(c: 4, i: 8) add f32 of(%x[6144 * c + 8 * w + i], %f[256 * b + 64 * c + 8 * i + o]) writes(%y[6144 * b + 8 * w + o])
}

// Windows read pixels again, so they prefetch none, and blocks are inside.

// CHECK: glow_nest.kernel @windows
// CHECK: order = [h, w, b, o]
// CHECK-NOT: prefetch_next_tile
// NEAR: glow_nest.kernel @windows
// NEAR: order = [b, h, w, o]
glow_nest.kernel @windows(%y: memref<2x40x40x8xf32>, %x: memref<2x42x42x8xf32>, %f: memref<2x2x3x3x8x8xf32>) {
  glow_nest.nest parallel(b: 2, h: 40, w: 40, o: 8) reduce(c: 2, u: 3, vi: 24) add f32 of(%x[14112 * c + 336 * h + 336 * u + 8 * w + vi], %f[1152 * b + 576 * c + 192 * u + 8 * vi + o]) writes(%y[12800 * b + 320 * h + 8 * w + o])
}

// Filters that are large themselves are outside.

// CHECK: glow_nest.kernel @large_filters
// CHECK: order = [b, w, o]
// MEMORY: glow_nest.kernel @large_filters
// MEMORY: order = [b, w, o]
glow_nest.kernel @large_filters(%y: memref<128x768x8xf32>, %x: memref<4x768x8xf32>, %f: memref<128x4x8x8xf32>) {
  glow_nest.nest parallel(b: 128, w: 768, o: 8) reduce(c: 4, i: 8) add f32 of(%x[6144 * c + 8 * w + i], %f[256 * b + 64 * c + 8 * i + o]) writes(%y[6144 * b + 8 * w + o])
}
