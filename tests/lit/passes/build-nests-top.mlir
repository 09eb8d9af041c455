// RUN: glow-opt %s --build-nests --split-input-file | filecheck %s

// Of a long row, elements below a lower bound of the largest ones are left out: the fifth of the maxima of 64 columns.
// What is left is listed, and sorted 64 elements at a time.

// CHECK-LABEL: glow_nest.kernel @k_top_indices
// CHECK: glow_nest.nest parallel(c: 64, i: 1) reduce(r: 32) maximum i32 of(%in[2048 * %b + 2048 * i + 64 * r + c])
// CHECK: glow_nest.nest parallel(n: 2048, i: 1) reads(%in[2048 * %b + 2048 * i + n], %scratch_1[32]) writes(%[[MASK:.*]][n]) body
// CHECK: glow_nest.list_nonzeros n: 2048 in %[[LIST:.*]][n] count %[[COUNT:.*]][0] of %[[MASK]][n]
// CHECK: glow_nest.list_nonzeros p: 32
// CHECK: glow_nest.repeat_listed %[[BLOCK:.*]] p: 32
// CHECK-NEXT: glow_nest.nest parallel(q: 64, i: 1) reads(%in[2048 * %b + 2048 * i + 1 * index(%[[LIST]][64 * %[[BLOCK]] + q], 2048)], %[[LIST]][64 * %[[BLOCK]] + q], {{.*}}, %[[COUNT]][0]) writes(%[[KEYS:.*]][q]) body
// CHECK: glow_nest.nest parallel(r: 8, i: 1) reads(%[[BEST:.*]][r + i], %[[KEYS]][-8 * r + i + 56]) writes(%[[BEST]][r + i]) in_place

func.func @main(%x: memref<1x2048xf32> {glow.name = "x", glow.qualifier = "in"}, %y: memref<1x5xi64> {glow.name = "y", glow.qualifier = "out"}) {
  glow_inst.top_indices @out %y, @in %x axis 1 k 5 : memref<1x5xi64>, memref<1x2048xf32>
  func.return
}

// -----

// Short rows are sorted several at a time, one in each lane of vectors.

// CHECK-LABEL: glow_nest.kernel @k_top_indices
// CHECK-NOT: list_nonzeros
// CHECK: glow_nest.repeat %b to 3
// CHECK-NEXT: glow_nest.nest parallel(n: 64, i: 32) reads(%in[2048 * %b + 64 * i + n]) writes(%[[COPY:.*]][32 * n + i]) raw
// CHECK: glow_nest.nest parallel(n: 64, i: 32) reads(%[[COPY]][32 * n + i], %scratch[n]) writes(%[[KEYS:.*]][32 * n + i]) body
// CHECK: glow_nest.nest parallel(g: 4, r: 1, b: 8, i: 32) reads(%[[KEYS]][512 * g + 256 * r + 32 * b + i], %[[KEYS]][512 * g - 256 * r + 32 * b + i + 256])
// CHECK-SAME: in_place

func.func @main(%x: memref<96x64xf32> {glow.name = "x", glow.qualifier = "in"}, %y: memref<96x5xi64> {glow.name = "y", glow.qualifier = "out"}) {
  glow_inst.top_indices @out %y, @in %x axis 1 k 5 : memref<96x5xi64>, memref<96x64xf32>
  func.return
}

// -----

// Of a few elements, ranks are counted.

// CHECK-LABEL: glow_nest.kernel @k_top_indices
// CHECK-NOT: in_place

func.func @main(%x: memref<96x8xf32> {glow.name = "x", glow.qualifier = "in"}, %y: memref<96x2xi64> {glow.name = "y", glow.qualifier = "out"}) {
  glow_inst.top_indices @out %y, @in %x axis 1 k 2 : memref<96x2xi64>, memref<96x8xf32>
  func.return
}
