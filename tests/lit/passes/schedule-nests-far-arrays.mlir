// RUN: glow-opt %s --set-machine="vector-bits=256 vector-registers=16 l3-bytes=262144" --schedule-nests | filecheck %s
// RUN: glow-opt %s --set-machine="vector-bits=256 vector-registers=16 l3-bytes=1048576" --schedule-nests | filecheck %s --check-prefix=CACHED

// A matrix of 192 KB comes from memory where the last cache has 256 KB, so its columns are outside the rows of the
// other factor, which are then read again from the cache.

// CHECK: glow_nest.kernel @far_matrix
// CHECK: order = [j, i]
// CACHED: glow_nest.kernel @far_matrix
// CACHED: order = [i, j]
glow_nest.kernel @far_matrix(%y: memref<31x768xf32>, %x: memref<31x64xf32>, %w: memref<64x768xf32>) {
  glow_nest.nest parallel(i: 31, j: 768) reduce(t: 64) add f32 of(%x[64 * i + t], %w[768 * t + j]) writes(%y[768 * i + j])
}

// The same with lanes along the terms.

// CHECK: glow_nest.kernel @far_rows
// CHECK: order = [j, i]
// CHECK-SAME: vector = t
// CACHED: glow_nest.kernel @far_rows
// CACHED: order = [i, j]
glow_nest.kernel @far_rows(%y: memref<31x768xf32>, %x: memref<31x64xf32>, %w: memref<768x64xf32>) {
  glow_nest.nest parallel(i: 31, j: 768) reduce(t: 64) add f32 of(%x[64 * i + t], %w[64 * j + t]) writes(%y[768 * i + j])
}

// A far array whose loops are outside already, and loops of both, which stay outside.

// CHECK: glow_nest.kernel @far_batch
// CHECK: order = [b, i, j]
glow_nest.kernel @far_batch(%y: memref<3x768x31xf32>, %x: memref<3x768x64xf32>, %w: memref<3x64x31xf32>) {
  glow_nest.nest parallel(b: 3, i: 768, j: 31) reduce(t: 64) add f32 of(%x[49152 * b + 64 * i + t], %w[1984 * b + 31 * t + j]) writes(%y[23808 * b + 31 * i + j])
}

// Of two arrays from memory, none is read again from a cache: the nest's order stays.

// CHECK: glow_nest.kernel @both_far
// CHECK: order = [i, j]
glow_nest.kernel @both_far(%y: memref<768x768xf32>, %x: memref<768x64xf32>, %w: memref<64x768xf32>) {
  glow_nest.nest parallel(i: 768, j: 768) reduce(t: 64) add f32 of(%x[64 * i + t], %w[768 * t + j]) writes(%y[768 * i + j])
}

// A matrix that an index chooses among several: its rows, which the other factor meets, are inside.

// CHECK: glow_nest.kernel @chosen
// CHECK: order = [j, i]
glow_nest.kernel @chosen(%y: memref<31x768xf32>, %x: memref<31x64xf32>, %w: memref<5x768x64xf32>, %number: memref<1xi64>) {
  glow_nest.nest parallel(i: 31, j: 768) reduce(t: 64) add f32 of(%x[64 * i + t], %w[49152 * index(%number[0], 5) + 64 * j + t]) writes(%y[768 * i + j])
}
