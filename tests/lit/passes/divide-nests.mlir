// RUN: glow-opt %s --set-machine="vector-bits=256 vector-registers=16" --schedule-nests --divide-nests="threads=2" --split-input-file | filecheck %s
// RUN: glow-opt %s --set-machine="vector-bits=256 vector-registers=16" --schedule-nests --divide-nests --split-input-file | filecheck %s --check-prefix=ONE
// RUN: not glow-opt %s --divide-nests="threads=0" --split-input-file 2>&1 | filecheck %s --check-prefix=BAD

// Threads take parts of the loops of a large nest. One thread needs none.

// CHECK-LABEL: glow_nest.kernel @large
// CHECK-SAME:    threads 2 {
// CHECK:         } schedule<{{.*}}> split<0 to 0>
// CHECK-NEXT:  }
// ONE: glow_nest.kernel @large
// ONE-NOT:     threads 2
// ONE-NOT:     split
// BAD: glow-divide-nests: expected threads to be at least 1, found 0
glow_nest.kernel @large(%y: memref<64x256xf32>, %x: memref<64x256xf32>) {
  glow_nest.nest parallel(i: 64, j: 256) reads(%x[256 * i + j]) writes(%y[256 * i + j]) body {
  ^bb0(%0: f32):
    %1 = glow.exp %0 : (f32) -> f32
    glow_nest.yield %1 : f32
  }
}

// -----

// They wait where one reads what another has written: here columns of rows.

// CHECK-LABEL: glow_nest.kernel @columns
// CHECK:         } schedule<{{.*}}> split<0 to 0>
// CHECK-NEXT:    glow_nest.barrier
// CHECK-NEXT:    glow_nest.nest
// CHECK:         } schedule<{{.*}}> split<0 to 0>
// CHECK-NEXT:  }
glow_nest.kernel @columns(%y: memref<64x64xf32>, %x: memref<64x64xf32>, %t: memref<64x64xf32>) {
  glow_nest.nest parallel(i: 64, j: 64) reads(%x[64 * i + j]) writes(%t[64 * i + j]) body {
  ^bb0(%0: f32):
    %1 = glow.exp %0 : (f32) -> f32
    glow_nest.yield %1 : f32
  }
  glow_nest.nest parallel(i: 64, j: 64) reads(%t[64 * j + i]) writes(%y[64 * i + j]) body {
  ^bb0(%0: f32):
    %1 = glow.exp %0 : (f32) -> f32
    glow_nest.yield %1 : f32
  }
}

// -----

// Nests on different memory do not wait.

// CHECK-LABEL: glow_nest.kernel @apart
// CHECK:         } schedule<{{.*}}> split<0 to 0>
// CHECK-NOT:     glow_nest.barrier
// CHECK:         } schedule<{{.*}}> split<0 to 0>
// CHECK-NEXT:  }
glow_nest.kernel @apart(%y: memref<64x64xf32>, %z: memref<64x64xf32>, %x: memref<64x64xf32>) {
  glow_nest.nest parallel(i: 64, j: 64) reads(%x[64 * i + j]) writes(%y[64 * i + j]) body {
  ^bb0(%0: f32):
    %1 = glow.exp %0 : (f32) -> f32
    glow_nest.yield %1 : f32
  }
  glow_nest.nest parallel(i: 64, j: 64) reads(%x[64 * j + i]) writes(%z[64 * i + j]) body {
  ^bb0(%0: f32):
    %1 = glow.exp %0 : (f32) -> f32
    glow_nest.yield %1 : f32
  }
}

// -----

// A small nest is quicker than its division.

// CHECK-LABEL: glow_nest.kernel @small
// CHECK-NOT:     split
glow_nest.kernel @small(%y: memref<7xf32>, %x: memref<7xf32>) {
  glow_nest.nest parallel(i: 7) reads(%x[i]) writes(%y[i]) body {
  ^bb0(%0: f32):
    %1 = glow.neg %0 : (f32) -> f32
    glow_nest.yield %1 : f32
  }
}

// -----

// What is divided stays so.

// CHECK-LABEL: glow_nest.kernel @divided
// CHECK-SAME:    threads 3 {
// CHECK-NOT:     split
glow_nest.kernel @divided(%y: memref<64x256xf32>, %x: memref<64x256xf32>) threads 3 {
  glow_nest.nest parallel(i: 64, j: 256) reads(%x[256 * i + j]) writes(%y[256 * i + j]) body {
  ^bb0(%0: f32):
    %1 = glow.exp %0 : (f32) -> f32
    glow_nest.yield %1 : f32
  }
}

// -----

// Columns of the same rows, in pieces of 128 bytes, for which hardly anything is computed: threads divide the rows.

// CHECK-LABEL: glow_nest.kernel @pieces
// CHECK-NEXT:    glow_nest.repeat %p to 2 {
// CHECK:           } schedule<{{.*}}> split<{{.*}}>
glow_nest.kernel @pieces(%y: memref<500x64xf32>, %x: memref<500x64xf32>) {
  glow_nest.repeat %p to 2 {
    glow_nest.nest parallel(i: 500, j: 32) reads(%x[64 * i + 32 * %p + j]) writes(%y[64 * i + 32 * %p + j]) body {
    ^bb0(%0: f32):
      %1 = glow.exp %0 : (f32) -> f32
      glow_nest.yield %1 : f32
    }
  }
}

// -----

// Pieces of 1 KiB are far enough apart.

// CHECK-LABEL: glow_nest.kernel @columns_of_threads
// CHECK-NEXT:    glow_nest.repeat %p to 16 divided 1 {
// CHECK-NOT:       split
glow_nest.kernel @columns_of_threads(%y: memref<50x512xf32>, %x: memref<50x512xf32>) {
  glow_nest.repeat %p to 16 {
    glow_nest.nest parallel(i: 50, j: 32) reads(%x[512 * i + 32 * %p + j]) writes(%y[512 * i + 32 * %p + j]) body {
    ^bb0(%0: f32):
      %1 = glow.exp %0 : (f32) -> f32
      glow_nest.yield %1 : f32
    }
  }
}

// -----

// Nor do short pieces matter that take long to compute.

// CHECK-LABEL: glow_nest.kernel @long
// CHECK-NEXT:    glow_nest.repeat %p to 2 divided 1 {
// CHECK-NOT:       split
glow_nest.kernel @long(%y: memref<50x64xf32>, %x: memref<50x512xf32>, %w: memref<512x64xf32>) {
  glow_nest.repeat %p to 2 {
    glow_nest.nest parallel(i: 50, j: 32) reduce(t: 512) add f32 of(%x[512 * i + t], %w[64 * t + 32 * %p + j]) writes(%y[64 * i + 32 * %p + j])
  }
}
