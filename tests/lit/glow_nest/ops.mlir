// RUN: glow-opt %s | glow-opt | filecheck %s
// RUN: glow-opt %s --print-op-generic | glow-opt | filecheck %s

// A nest reads, reduces, and writes what its body makes of the sum. Without a body, it writes what
// it is given.

// CHECK-LABEL: glow_nest.kernel @product(%y: memref<6x8xf32>, %x: memref<6x5xf32>, %w: memref<5x8xf32>, %b: memref<8xf32>) {
// CHECK-NEXT: glow_nest.nest parallel(i: 6, j: 8) reduce(k: 5) add f32 of(%x[5 * i + k], %w[8 * k + j]) reads(%b[j]) writes(%y[8 * i + j]) body {
// CHECK-NEXT: ^bb0(%0: f32, %1: f32):
// CHECK-NEXT:   %2 = glow.add %0, %1 : (f32, f32) -> f32
// CHECK-NEXT:   %3 = glow.splat value 0.0 : f32
// CHECK-NEXT:   %4 = glow.maximum %2, %3 : (f32, f32) -> f32
// CHECK-NEXT:   glow_nest.yield %4 : f32
// CHECK-NEXT: }
// CHECK-NEXT: glow_nest.nest parallel(i: 8) reads(%y[i + 8]) writes(%y[-i + 7]) raw
// CHECK-NEXT: }
glow_nest.kernel @product(%y: memref<6x8xf32>, %x: memref<6x5xf32>, %w: memref<5x8xf32>, %b: memref<8xf32>) {
  glow_nest.nest parallel(i: 6, j: 8) reduce(k: 5) add f32 of(%x[5 * i + k], %w[8 * k + j]) reads(%b[j]) writes(%y[8 * i + j]) body {
  ^bb0(%sum: f32, %bias: f32):
    %0 = glow.add %sum, %bias : (f32, f32) -> f32
    %zero = glow.splat {value = 0.0 : f64} : f32
    %1 = glow.maximum %0, %zero : (f32, f32) -> f32
    glow_nest.yield %1 : f32
  }
  glow_nest.nest parallel(i: 8) reads(%y[8 + i]) writes(%y[7 - i]) raw
}

// Loops around nests have variables, which places may use; scratch is memory for the kernel alone.
// Places may come from tables, and from memory.

// CHECK-LABEL: glow_nest.kernel @steps(%y: memref<4x8xf32>, %x: memref<4x8xf32>, %at: memref<8xi32>) threads 2 {
// CHECK-NEXT: %scratch = glow_nest.scratch : memref<8xf32>
// CHECK-NEXT: glow_nest.repeat %n to 4 divided 1 private(%scratch) {
// CHECK-NEXT:   glow_nest.nest parallel(i: 8) reads(%x[8 * %n + [7, 6, 5, 4, 3, 2, 1, 0][i]]) writes(%scratch[i]) raw
// CHECK-NEXT:   glow_nest.nest parallel(i: 8) reads(%scratch[1 * index(%at[i], 8)]) writes(%y[8 * %n + i]) raw
// CHECK-NEXT: }
// CHECK-NEXT: glow_nest.barrier
// CHECK-NEXT: glow_nest.nest parallel(i: 8) reduce(k: 4) maximum f32 of(%y[i + 8 * k]) writes(%scratch[i])
// CHECK-SAME: schedule<reduce, order = [i], vector = i, lanes = 8, reduced = [k], tile = {i: 1}> split<0 to 0, drawn>
glow_nest.kernel @steps(%y: memref<4x8xf32>, %x: memref<4x8xf32>, %at: memref<8xi32>) threads 2 {
  %scratch = glow_nest.scratch : memref<8xf32>
  glow_nest.repeat %n to 4 divided 1 private(%scratch) {
    glow_nest.nest parallel(i: 8) reads(%x[8 * %n + [7, 6, 5, 4, 3, 2, 1, 0][i]]) writes(%scratch[i]) raw
    glow_nest.nest parallel(i: 8) reads(%scratch[1 * index(%at[i], 8)]) writes(%y[8 * %n + i]) raw
  }
  glow_nest.barrier
  glow_nest.nest parallel(i: 8) reduce(k: 4) maximum f32 of(%y[i + 8 * k]) writes(%scratch[i])
    schedule<reduce, order = [i], vector = i, lanes = 8, reduced = [k], tile = {i: 1}> split<0 to 0, drawn>
}

// A list of the places where a row is not zero, and a loop over pairs of them.

// CHECK-LABEL: glow_nest.kernel @list
// CHECK: glow_nest.list_nonzeros t: 9 in %numbers[t] count %count[0] of %x[t]
// CHECK-NEXT: glow_nest.repeat_listed %a, %b t: 9 in %numbers[t] count %count[0] after 4 {
// CHECK-NEXT:   glow_nest.nest parallel(j: 5) reads(%y[j], %w[5 * %a + j], %w[5 * %b + j]) writes(%y[j]) in_place body {
glow_nest.kernel @list(%y: memref<5xf32>, %x: memref<9xf32>, %w: memref<9x5xf32>) {
  %numbers = glow_nest.scratch : memref<9xi32>
  %count = glow_nest.scratch : memref<1xi32>
  glow_nest.list_nonzeros t: 9 in %numbers[t] count %count[0] of %x[t]
  glow_nest.repeat_listed %a, %b t: 9 in %numbers[t] count %count[0] after 4 {
    glow_nest.nest parallel(j: 5) reads(%y[j], %w[5 * %a + j], %w[5 * %b + j]) writes(%y[j]) in_place body {
    ^bb0(%0: f32, %1: f32, %2: f32):
      %3 = glow.add %0, %1 : (f32, f32) -> f32
      %4 = glow.add %3, %2 : (f32, f32) -> f32
      glow_nest.yield %4 : f32
    }
  }
}

// A map computes what is reduced. A program calls kernels.

// CHECK-LABEL: glow_nest.kernel @squares
// CHECK: add f32 of(%x[k]) map {
// CHECK: glow_nest.call @squares(@out %y, @in %x) : memref<1xf32>, memref<7xf32>
glow_nest.kernel @squares(%y: memref<1xf32>, %x: memref<7xf32>) {
  glow_nest.nest parallel() reduce(k: 7) add f32 of(%x[k]) map {
  ^bb0(%0: f32):
    %1 = glow.mul %0, %0 : (f32, f32) -> f32
    glow_nest.yield %1 : f32
  } writes(%y[0])
}
func.func @main(%x: memref<7xf32> {glow.name = "x", glow.qualifier = "in"}, %y: memref<1xf32> {glow.name = "y", glow.qualifier = "out"}) {
  glow_nest.call @squares(@out %y, @in %x) : memref<1xf32>, memref<7xf32>
  func.return
}

// Prefetches are a part of schedules: vectors some elements ahead, a line of the panel that the next
// iteration of the loop around reads, and what the next tile reads.

// CHECK-LABEL: glow_nest.kernel @prefetches
// CHECK: glow_nest.repeat %p to 4 {
// CHECK-NEXT: glow_nest.nest parallel(i: 8, j: 16) reduce(t: 32) add f32 of(%x[32 * i + t], %w[512 * %p + 16 * t + j]) writes(%y[64 * i + 16 * %p + j])
// CHECK-SAME: schedule<reduce, order = [i, j], vector = j, lanes = 16, reduced = [t], prefetch_distance = {1: 1024}, prefetch_lines = <read = 1,
// CHECK-SAME: first = 512 * %p + 16 * t + 64 * i + 512, end = 512 * %p + 1024>, tile = {i: 4}>
// CHECK: glow_nest.nest parallel(j: 5)
// CHECK-SAME: schedule<elementwise, order = [j], prefetch_distance = {0: 128}>
// CHECK: schedule<register_tile, order = [i, j], vector = j, lanes = 16, reduced = [t], prefetch_lines = <read = 1, first = 16 * t + 512, count = 2,
// CHECK-SAME: apart = 16>, vectors = 1, parts = {i: [0 to 8 by 4]}, prefetch_next_tile = {0: i}>
glow_nest.kernel @prefetches(%y: memref<8x64xf32>, %x: memref<8x32xf32>, %w: memref<4x32x16xf32>) {
  glow_nest.repeat %p to 4 {
    glow_nest.nest parallel(i: 8, j: 16) reduce(t: 32) add f32 of(%x[32 * i + t], %w[512 * %p + 16 * t + j]) writes(%y[64 * i + 16 * %p + j])
      schedule<reduce, order = [i, j], vector = j, lanes = 16, reduced = [t], prefetch_distance = {1: 1024}, prefetch_lines = <read = 1, first = 512 * %p + 16 * t + 64 * i + 512, end = 512 * %p + 1024>, tile = {i: 4}>
  }
  glow_nest.nest parallel(j: 5) reads(%w[j]) writes(%y[j]) schedule<elementwise, order = [j], prefetch_distance = {0: 128}>
  glow_nest.nest parallel(i: 8, j: 16) reduce(t: 32) add f32 of(%x[32 * i + t], %w[16 * t + j]) writes(%y[64 * i + j])
    schedule<register_tile, order = [i, j], vector = j, lanes = 16, reduced = [t], prefetch_lines = <read = 1, first = 16 * t + 512, count = 2,
        apart = 16>, vectors = 1, parts = {i: [0 to 8 by 4]}, prefetch_next_tile = {0: i}>
}

// A reduction may have a range that memory tells, and bytes may be read as an element of another type.

// CHECK-LABEL: glow_nest.kernel @bags
// CHECK-NEXT: glow_nest.nest parallel(b: 3, c: 6) reduce(t: 9) range t from %at[b] to %at[b + 1] add f32 of(%x[c + 10 * index(%rows[t], 5)], %x[10 * index(%rows[t], 5) + 6] as f32) map {
// CHECK:      } writes(%y[6 * b + c]) schedule<reduce, order = [b, c], vector = c, lanes = 2, reduced = [t], prefetch_steps = {0: 4}, tile = {c: 3}>
glow_nest.kernel @bags(%y: memref<3x6xf32>, %at: memref<4xi64>, %rows: memref<9xi32>, %x: memref<5x10xui8>) {
  glow_nest.nest parallel(b: 3, c: 6) reduce(t: 9) range t from %at[b] to %at[b + 1] add f32 of(%x[c + 10 * index(%rows[t], 5)], %x[10 * index(%rows[t], 5) + 6] as f32) map {
  ^bb0(%q: ui8, %scale: f32):
    %0 = glow.cast %q : (ui8) -> f32
    %1 = glow.mul %0, %scale : (f32, f32) -> f32
    glow_nest.yield %1 : f32
  } writes(%y[6 * b + c]) schedule<reduce, order = [b, c], vector = c, lanes = 2, reduced = [t], prefetch_steps = {0: 4}, tile = {c: 3}>
}

// A map may compute several values, each of which has a sum of its own.

// CHECK-LABEL: glow_nest.kernel @moments
// CHECK: reduce(k: 7) add f32 of(%x[7 * i + k]) values 2 map {
// CHECK: } writes(%y[i]) body {
// CHECK-NEXT: ^bb{{[0-9]+}}(%{{[0-9]+}}: f32, %{{[0-9]+}}: f32):
glow_nest.kernel @moments(%y: memref<3xf32>, %x: memref<3x7xf32>) {
  glow_nest.nest parallel(i: 3) reduce(k: 7) add f32 of(%x[7 * i + k]) values 2 map {
  ^bb0(%0: f32):
    %1 = glow.mul %0, %0 : (f32, f32) -> f32
    glow_nest.yield %0, %1 : f32, f32
  } writes(%y[i]) body {
  ^bb0(%sum: f32, %squares: f32):
    %2 = glow.mul %sum, %sum : (f32, f32) -> f32
    %3 = glow.sub %squares, %2 : (f32, f32) -> f32
    glow_nest.yield %3 : f32
  }
}

// Loops may be limited to the number of rows that the last argument holds, loops inside of one over
// blocks of rows to the rest of the block.
// CHECK-LABEL: glow_nest.kernel @rows(%y: memref<64x8xf32>, %x: memref<64x8xf32>, %rows: memref<i64>) rows {
// CHECK-NEXT:   glow_nest.nest parallel(i: 256 of 4 * rows from 8, j: 2) reads(%x[2 * i + j]) writes(%y[2 * i + j])
// CHECK-NEXT:   glow_nest.repeat %b to 4 of rows by 16 opens {
// CHECK-NEXT:     glow_nest.nest parallel(i: 16 of rest, j: 8) reads(%x[128 * %b + 8 * i + j]) writes(%y[128 * %b + 8 * i + j])
// CHECK-NEXT:     glow_nest.repeat %one to 1 of -1 * rest from -2 {
// CHECK-NEXT:       glow_nest.nest parallel(j: 8) reads(%x[128 * %b + j]) writes(%y[128 * %b + j])
// CHECK-NEXT:     }
// CHECK-NEXT:   }
glow_nest.kernel @rows(%y: memref<64x8xf32>, %x: memref<64x8xf32>, %rows: memref<i64>) rows {
  glow_nest.nest parallel(i: 256 of 4 * rows from 8, j: 2) reads(%x[2 * i + j]) writes(%y[2 * i + j])
  glow_nest.repeat %b to 4 of rows by 16 opens {
    glow_nest.nest parallel(i: 16 of rest, j: 8) reads(%x[128 * %b + 8 * i + j]) writes(%y[128 * %b + 8 * i + j])
    glow_nest.repeat %one to 1 of -1 * rest from -2 {
      glow_nest.nest parallel(j: 8) reads(%x[128 * %b + j]) writes(%y[128 * %b + j])
    }
  }
}
