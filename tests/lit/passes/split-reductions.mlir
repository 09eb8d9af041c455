// RUN: glow-opt %s --split-reductions --split-input-file | filecheck %s

// A long sum becomes sums of parts in scratch, and their sum.

// CHECK-LABEL: glow_nest.kernel @long
// CHECK-NEXT: %scratch = glow_nest.scratch : memref<32xf32>
// CHECK-NEXT: glow_nest.nest parallel(part: 32, row: 1) reduce(k: 32768) add f32 of(%x[32768 * part + k + row]) writes(%scratch[part + row])
// CHECK-NEXT: glow_nest.nest parallel() reduce(part: 32) add f32 of(%scratch[part]) writes(%y[0])
glow_nest.kernel @long(%y: memref<1xf32>, %x: memref<1048576xf32>) {
  glow_nest.nest parallel() reduce(k: 1048576) add f32 of(%x[k]) writes(%y[0])
}

// -----

// A short one stays, and so does one that has a schedule.

// CHECK-LABEL: glow_nest.kernel @short
// CHECK-NEXT: glow_nest.nest parallel() reduce(k: 100) add f32 of(%x[k]) writes(%y[0])
// CHECK-NEXT: }
glow_nest.kernel @short(%y: memref<1xf32>, %x: memref<100xf32>) {
  glow_nest.nest parallel() reduce(k: 100) add f32 of(%x[k]) writes(%y[0])
}

// CHECK-LABEL: glow_nest.kernel @scheduled
// CHECK-NEXT: glow_nest.nest parallel() reduce(k: 1048576) add f32 of(%x[k]) writes(%y[0]) schedule
// CHECK-NEXT: }
glow_nest.kernel @scheduled(%y: memref<1xf32>, %x: memref<1048576xf32>) {
  glow_nest.nest parallel() reduce(k: 1048576) add f32 of(%x[k]) writes(%y[0]) schedule<reduce, order = [], vector = k, lanes = 16, reduced = [k]>
}
