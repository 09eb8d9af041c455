// RUN: glow-opt %s --irgen --allocate --build-nests --split-input-file | filecheck %s

// Loops over rows end with the rows of a call, in whatever dimension they are.
func.func @main(%x: tensor<24x8xf32> {glow.rows = array<i64: 0>}, %n: tensor<i64> {glow.row_count}) -> tensor<8x24xf32> {
  %e = glow.exp %x : (tensor<24x8xf32>) -> tensor<24x8xf32>
  %y = glow.transpose %e permutation [1, 0] : (tensor<24x8xf32>) -> tensor<8x24xf32>
  func.return %y : tensor<8x24xf32>
}

// CHECK:     glow_nest.kernel @k_exp_{{.*}}, %rows: memref<i64>) rows {
// CHECK-NEXT:  glow_nest.nest parallel(d0: 24 of rows, d1: 8) reads(%in[8 * d0 + d1]) writes(%out[8 * d0 + d1])
// CHECK:     glow_nest.kernel @k_copy_{{.*}}, %rows: memref<i64>) rows {
// CHECK-NEXT:  glow_nest.nest parallel(d0: 8, d1: 24 of rows) reads(%in[24 * d0 + d1]) writes(%out[24 * d0 + d1]) raw

// -----

// Sums end with them, too, also of a product by a constant with a row for each.
func.func @main(%x: tensor<1x24xf32> {glow.rows = array<i64: 1>}, %n: tensor<i64> {glow.row_count}) -> tensor<1x3xf32> {
  %w = glow.constant dense<2.0> : tensor<24x3xf32>
  %y = glow.matmul %x, %w : (tensor<1x24xf32>, tensor<24x3xf32>) -> tensor<1x3xf32>
  func.return %y : tensor<1x3xf32>
}

// CHECK: glow_nest.nest parallel(i: 1, j: 3) reduce(t: 24 of rows) add f32

// -----

// Rows that an algorithm visits in blocks: the last block may have fewer. Those behind the blocks are the rest.
func.func @main(%x: tensor<11x6xf32> {glow.rows = array<i64: 0>}, %n: tensor<i64> {glow.row_count}) -> tensor<11x6xf32> {
  %y = glow.softmax %x axis 1 : (tensor<11x6xf32>) -> tensor<11x6xf32>
  func.return %y : tensor<11x6xf32>
}

// CHECK:      glow_nest.repeat %b to 2 of rows by 4 opens {
// CHECK-NEXT:   glow_nest.nest parallel(i: 4 of rest) reduce(j: 6) largest_number f32 of(%in[24 * %b + 6 * i + j])
// CHECK:      glow_nest.nest parallel(i: 3 of rows from 8) reduce(j: 6) largest_number f32 of(%in[6 * i + j + 48])

// -----

// Rows of several texts that are one dimension are two loops, of which the inner one has a limit.
func.func @main(%x: tensor<2x24x8xf32> {glow.rows = array<i64: 1>}, %n: tensor<i64> {glow.row_count}) -> tensor<48x8xf32> {
  %r = glow.reshape %x : (tensor<2x24x8xf32>) -> tensor<48x8xf32>
  %y = glow.exp %r : (tensor<48x8xf32>) -> tensor<48x8xf32>
  func.return %y : tensor<48x8xf32>
}

// CHECK: glow_nest.nest parallel(d0t: 2, d0: 24 of rows, d1: 8) reads(%in[192 * d0t + 8 * d0 + d1]) writes(%out[192 * d0t + 8 * d0 + d1])

// -----

// One row meets several panels of weights at a time, several rows one panel after the other. Sums of whole vectors of
// the last panel go through scratch memory.
func.func @main(%x: tensor<24x64xf32> {glow.rows = array<i64: 0>}, %n: tensor<i64> {glow.row_count}) -> tensor<24x40xf32> {
  %w = glow.constant dense<0.5> : tensor<3x64x16xf32>
  %y = glow_cpu.packed_matmul %x, %w columns 40 : (tensor<24x64xf32>, tensor<3x64x16xf32>) -> tensor<24x40xf32>
  func.return %y : tensor<24x40xf32>
}

// CHECK:      glow_nest.repeat %b to 1 of rows by 24 opens {
// CHECK-NEXT:   glow_nest.repeat %one to 1 of -1 * rest from -2 {
// CHECK-NEXT:     glow_nest.nest parallel(i: 1, p: 2, j: 16) reduce(t: 64) add f32
// CHECK:            glow_nest.nest parallel(i: 1, j: 16) reduce(t: 64) add f32 of({{.*}}) writes(%scratch[16 * i + j])
// CHECK-NEXT:       glow_nest.nest parallel(i: 1, j: 8) reads(%scratch[16 * i + j]) writes(%out
// CHECK:        glow_nest.repeat %several to 1 of rest from 1 by 24 {
// CHECK-NEXT:     glow_nest.repeat %p to 2 {
// CHECK-NEXT:       glow_nest.nest parallel(i: 24 of rest, j: 16) reduce(t: 64) add f32
// CHECK-NEXT:     }
// CHECK-NEXT:     glow_nest.repeat %b_2 to 1 of rest by 24 opens {
// CHECK-NEXT:       glow_nest.nest parallel(i: 24 of rest, j: 16) reduce(t: 64) add f32
// CHECK-NEXT:       glow_nest.nest parallel(i: 24 of rest, j: 8) reads(

// -----

// A program without rows has no limits.
func.func @main(%x: tensor<24x8xf32>) -> tensor<24x8xf32> {
  %y = glow.exp %x : (tensor<24x8xf32>) -> tensor<24x8xf32>
  func.return %y : tensor<24x8xf32>
}

// CHECK:     glow_nest.kernel @k_exp_{{.*}}(%out: memref<24x8xf32>, %in: memref<24x8xf32>) {
// CHECK-NEXT:  glow_nest.nest parallel(d0: 24, d1: 8)

// -----

// What depends on no rows has none.
func.func @main(%x: tensor<24x8xf32> {glow.rows = array<i64: 0>}, %z: tensor<24x8xf32>, %n: tensor<i64> {glow.row_count}) -> tensor<24x8xf32> {
  %y = glow.exp %z : (tensor<24x8xf32>) -> tensor<24x8xf32>
  func.return %y : tensor<24x8xf32>
}

// CHECK:     glow_nest.nest parallel(d0: 24, d1: 8) reads

// -----

// A value may have parts without rows: these have all of their elements.
func.func @main(%x: tensor<24x8xf32> {glow.rows = array<i64: 0>}, %z: tensor<24x2xf32>, %n: tensor<i64> {glow.row_count}) -> tensor<24xf32> {
  %y = glow.concat %z, %x axis 1 : (tensor<24x2xf32>, tensor<24x8xf32>) -> tensor<24x10xf32>
  %s = glow.reduce_sum %y axes [1] : (tensor<24x10xf32>) -> tensor<24xf32>
  func.return %s : tensor<24xf32>
}

// CHECK: glow_nest.nest parallel(d0: 24, d1: 2) reads
// CHECK: glow_nest.nest parallel(d0: 24 of rows, d1: 8) reads
// CHECK: glow_nest.nest parallel(kept0: 24 of rows) reduce(r0: 10) add f32

// -----

// A window that moves within rows has temporary memory with a frame, which all rows have.
func.func @main(%x: tensor<5x3x7x9xf32> {glow.rows = array<i64: 0>}, %w: tensor<2x3x3x3xf32>, %b: tensor<2xf32>, %n: tensor<i64> {glow.row_count}) -> tensor<5x2x7x9xf32> {
  %y = glow.convolution %x, %w, %b pads [1, 1, 1, 1] : (tensor<5x3x7x9xf32>, tensor<2x3x3x3xf32>, tensor<2xf32>) -> tensor<5x2x7x9xf32>
  func.return %y : tensor<5x2x7x9xf32>
}

// CHECK:     writes(%scratch[297 * b0 + 99 * b1 + 11 * b2 + b3 + 21]) body
// CHECK:     glow_nest.nest parallel(d0: 5 of rows, d1: 3, d2: 7, d3: 9) reads(%in[{{.*}}]) writes(%scratch[297 * d0
// CHECK-NEXT: glow_nest.nest parallel(n: 5 of rows, o: 2, w0: 7, w1: 9) reduce

// -----

// An index in memory may choose an element of a row.
func.func @main(%x: tensor<24x8xf32> {glow.rows = array<i64: 0>}, %i: tensor<24x3xi64> {glow.rows = array<i64: 0>}, %n: tensor<i64> {glow.row_count}) -> tensor<24x3xf32> {
  %y = glow.gather_elements %x, %i axis 1 : (tensor<24x8xf32>, tensor<24x3xi64>) -> tensor<24x3xf32>
  func.return %y : tensor<24x3xf32>
}

// CHECK: glow_nest.nest parallel(a0: 24 of rows, j: 3) reads(%in[8 * a0 + 1 * index(%in_1[3 * a0 + j], 8)])
