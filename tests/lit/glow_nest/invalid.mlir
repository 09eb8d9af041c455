// RUN: glow-opt %s --split-input-file --parsing-diagnostics --verify-diagnostics | filecheck %s

glow_nest.kernel @outside(%y: memref<8xf32>, %x: memref<8xf32>) {
  glow_nest.nest parallel(i: 8) reads(%x[i + 1]) writes(%y[i])
}
// CHECK: expected accesses to %x from element 0 to 7, found one from 1 to 8

// -----

glow_nest.kernel @loops(%y: memref<8xf32>, %x: memref<8xf32>) {
  glow_nest.nest parallel(i: 8) reads(%x[k]) writes(%y[i])
}
// CHECK: expected a loop of this nest (i), found k

// -----

glow_nest.kernel @combination(%y: memref<1xf32>, %x: memref<8xf32>) {
  glow_nest.nest parallel() reduce(k: 8) subtract f32 of(%x[k]) writes(%y[0])
}
// CHECK: expected a combination that has an identity (add, mul, maximum, minimum, largest_number), found subtract

// -----

glow_nest.kernel @values(%y: memref<1xf32>, %x: memref<8xf32>) {
  glow_nest.nest parallel() reduce(k: 8) add f32 of(%x[k]) values 1 map {
  ^bb0(%0: f32):
    glow_nest.yield %0 : f32
  } writes(%y[0])
}
// CHECK: expected several values, found 1: one needs no number

// -----

glow_nest.kernel @fewer(%y: memref<1xf32>, %x: memref<8xf32>) {
  glow_nest.nest parallel() reduce(k: 8) add f32 of(%x[k]) values 2 map {
  ^bb0(%0: f32):
    glow_nest.yield %0 : f32
  } writes(%y[0])
}
// CHECK: expected results of the body of types f32, f32, found f32

// -----

glow_nest.kernel @body(%y: memref<8xf32>, %x: memref<8xi32>) {
  glow_nest.nest parallel(i: 8) reads(%x[i]) writes(%y[i]) body {
  ^bb0(%0: f32):
    glow_nest.yield %0 : f32
  }
}
// CHECK: expected arguments of the body of types i32, found f32

// -----

glow_nest.kernel @table(%y: memref<8xf32>, %x: memref<8xf32>) {
  glow_nest.nest parallel(i: 8) reads(%x[[0, 1, 2][i]]) writes(%y[i])
}
// CHECK: expected a table of 8 places, one for each value of i, found 3

// -----

glow_nest.kernel @vectors(%y: memref<8x4xf32>, %x: memref<8xf32>) {
  glow_nest.nest parallel(i: 8) reads(%x[i]) writes(%y[4 * i]) schedule<elementwise, order = [i], vector = i, lanes = 8>
}
// CHECK: expected vectors along a loop that is contiguous in memory, found i, along which writes are 4 apart

// -----

glow_nest.kernel @kind(%y: memref<8xf32>, %x: memref<8xf32>) {
  glow_nest.nest parallel(i: 8) reads(%x[i]) writes(%y[i]) schedule<magic, order = [i]>
}
// CHECK: expected a schedule of elementwise, register_transpose, reduce, lane_permutation, gathered_dot, register_tile, amx_tile, found magic

// -----

glow_nest.kernel @fields(%y: memref<8xf32>, %x: memref<8xf32>) {
  glow_nest.nest parallel(i: 8) reads(%x[i]) writes(%y[i]) schedule<elementwise, order = [i], tile = {i: 4}>
}
// CHECK: expected one of vector, lanes, prefetch_distance, written_out, found tile

// -----

glow_nest.kernel @repeat(%y: memref<8xf32>) {
  glow_nest.repeat %n to 2 divided 2 {
    glow_nest.barrier
  }
}
// CHECK: expected 2 perfectly nested loops to divide

// -----

glow_nest.kernel @prefetch(%y: memref<8xf32>, %x: memref<8xf32>) {
  glow_nest.nest parallel(i: 8) reads(%x[i]) writes(%y[i]) schedule<elementwise, order = [i], prefetch_distance = {1: 64}>
}
// CHECK: expected prefetches of one of 1 reads, counted from 0, found 1

// -----

glow_nest.kernel @around(%y: memref<8xf32>, %x: memref<8x4xf32>) {
  glow_nest.nest parallel(i: 8) reduce(k: 4) add f32 of(%x[4 * i + k]) writes(%y[i]) schedule<reduce, order = [i], reduced = [k], prefetch_lines = <read = 0, first = 4 * p>>
}
// CHECK: expected a loop of this nest (i, k), found p

// -----

glow_nest.kernel @range_of_parallel(%y: memref<8xf32>, %x: memref<8x4xf32>, %at: memref<9xi64>) {
  glow_nest.nest parallel(i: 8) reduce(k: 4) range i from %at[0] to %at[1] add f32 of(%x[4 * i + k]) writes(%y[i])
}
// CHECK: expected a range of a loop of the reduction, found one of i

// -----

glow_nest.kernel @range_of_floats(%y: memref<8xf32>, %x: memref<8x4xf32>) {
  glow_nest.nest parallel(i: 8) reduce(k: 4) range k from %x[i] to %x[i + 1] add f32 of(%x[4 * i + k]) writes(%y[i])
}
// CHECK: expected a range of integers, found f32

// -----

glow_nest.kernel @range_that_moves(%y: memref<8xf32>, %x: memref<8x4xf32>, %at: memref<9xi64>) {
  glow_nest.nest parallel(i: 8) reduce(k: 4) range k from %at[k] to %at[i + 1] add f32 of(%x[4 * i + k]) writes(%y[i])
}
// CHECK: expected a range that depends on no loop of the reduction

// -----

glow_nest.kernel @floats_as_bytes(%y: memref<8xf32>, %x: memref<8xf32>) {
  glow_nest.nest parallel(i: 5) reads(%x[i] as i32) writes(%y[i])
}
// CHECK: expected bytes that are read as i32, found f32

// -----

glow_nest.kernel @beyond_the_bytes(%y: memref<8xf32>, %x: memref<8xui8>) {
  glow_nest.nest parallel(i: 6) reads(%x[i] as f32) writes(%y[i])
}
// CHECK: expected accesses to %x from element 0 to 7, found one from 0 to 8

// -----

glow_nest.kernel @no_number(%y: memref<8xf32>, %x: memref<8xf32>) rows {
  glow_nest.nest parallel(i: 8) reads(%x[i]) writes(%y[i])
}
// CHECK: expected the number of rows, an i64, as the last argument

// -----

glow_nest.kernel @no_rows(%y: memref<8xf32>, %x: memref<8xf32>, %n: memref<i64>) {
  glow_nest.nest parallel(i: 8 of rows) reads(%x[i]) writes(%y[i])
}
// CHECK: expected a kernel with a number of rows, since a loop has a limit

// -----

glow_nest.kernel @no_block(%y: memref<8xf32>, %x: memref<8xf32>, %n: memref<i64>) rows {
  glow_nest.repeat %b to 2 of rows by 4 {
    glow_nest.nest parallel(i: 4 of rest) reads(%x[4 * %b + i]) writes(%y[4 * %b + i])
  }
}
// CHECK: expected a loop that opens blocks around one limited to their rest

// -----

glow_nest.kernel @no_granule(%y: memref<8xf32>, %x: memref<8xf32>, %n: memref<i64>) rows {
  glow_nest.nest parallel(i: 8 of rows by 0) reads(%x[i]) writes(%y[i])
}
// CHECK: expected a factor other than 0 and at least 1 row

// -----

glow_nest.kernel @negative_granule(%y: memref<8xf32>, %x: memref<8xf32>, %n: memref<i64>) rows {
  glow_nest.nest parallel(i: 8 of rows from -2 by -1) reads(%x[i]) writes(%y[i])
}
// CHECK: expected a factor other than 0 and at least 1 row

// -----

glow_nest.kernel @order(%y: memref<8xf32>, %x: memref<8xf32>) {
  glow_nest.nest parallel(i: 8) reads(%x[i]) writes(%y[i]) body {
  ^bb0(%0: f32):
    %1 = glow.add %2, %0 : (f32, f32) -> f32
    %2 = glow.mul %0, %0 : (f32, f32) -> f32
    glow_nest.yield %1 : f32
  }
}
// CHECK: glow.add in a body uses what is not defined before it there

// -----

glow_nest.kernel @nowhere(%y: memref<8xf32>, %x: memref<8xf32>) {
  glow_nest.nest parallel(i: 8) reads(%x[i]) writes(%y[i]) body {
  ^bb0(%0: f32):
    glow_nest.yield %1 : f32
  }
}
// CHECK: a result of a body is not defined there
