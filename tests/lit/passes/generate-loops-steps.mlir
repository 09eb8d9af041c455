// RUN: glow-opt %s --generate-loops --split-input-file | filecheck %s

// Four steps of nine are a loop that is written out, and the last one comes behind. Of a line of the second factor, which four of
// its vectors share, they prefetch each once.
glow_nest.kernel @together(%y: memref<2x4xf32>, %x: memref<2x9xf32>, %w: memref<9x4xf32>) {
  glow_nest.nest parallel(i: 2, j: 4) reduce(t: 9) add f32 of(%x[9 * i + t], %w[4 * t + j]) writes(%y[4 * i + j]) schedule<reduce, order = [i, j], vector = j, lanes = 4, reduced = [t], steps = 4, prefetch_distance = {1: 8}, tile = {i: 2}>
}
// CHECK-LABEL: func.func private @together
// CHECK-DAG:     %[[NINE:.*]] = arith.constant 9 : index
// CHECK-DAG:     %[[EIGHT:.*]] = arith.constant 8 : index
// CHECK-DAG:     %[[FOUR:.*]] = arith.constant 4 : index
// CHECK:         scf.for %{{.*}} = %{{.*}} to %[[EIGHT]] step %[[FOUR]]
// CHECK:           glow_vec.prefetch
// CHECK-NOT:       glow_vec.prefetch
// CHECK:           scf.for %{{.*}} = %{{.*}} to %[[FOUR]] step
// CHECK-COUNT-2:     vector.fma
// CHECK-NOT:         vector.fma
// CHECK:             scf.yield
// CHECK:           } {written_out}
// CHECK:         glow_vec.prefetch
// CHECK-COUNT-2: vector.fma
// CHECK-NOT:     vector.fma

// -----

// All steps together need no other loop.
glow_nest.kernel @all(%y: memref<2x4xf32>, %x: memref<2x3xf32>, %w: memref<3x4xf32>) {
  glow_nest.nest parallel(i: 2, j: 4) reduce(t: 3) add f32 of(%x[3 * i + t], %w[4 * t + j]) writes(%y[4 * i + j]) schedule<reduce, order = [i, j], vector = j, lanes = 4, reduced = [t], steps = 3, tile = {i: 2}>
}
// CHECK-LABEL:   func.func private @all
// CHECK:         scf.for
// CHECK-COUNT-2: vector.fma
// CHECK-NOT:     vector.fma
// CHECK:         } {written_out}
// CHECK-NOT:     scf.for

// -----

// A part of less than a quarter of a loop has single steps.
glow_nest.kernel @parts(%y: memref<1x9x8xf32>, %x: memref<1x9x8xf32>, %w: memref<1x1x8x8xf32>) {
  glow_nest.nest parallel(p: 9, o: 8) reduce(c: 8) add f32 of(%x[8 * p + c], %w[8 * c + o]) writes(%y[8 * p + o]) schedule<register_tile, order = [p, o], vector = o, lanes = 8, reduced = [c], steps = 8, vectors = 1, parts = {p: [0 to 8 by 4, 8 to 9 by 1]}>
}
// CHECK-LABEL:    func.func private @parts
// CHECK:         scf.for
// CHECK:           scf.for
// CHECK-COUNT-4:     vector.fma
// CHECK-NOT:         vector.fma
// CHECK:           } {written_out}
// CHECK:         scf.for
// CHECK:           vector.fma
// CHECK-NOT:       vector.fma
// CHECK:         }
// CHECK-NOT:     written_out

// -----

// A loop of an elementwise nest is written out as well. What is small and for one call lies on the stack.
glow_nest.kernel @rows(%y: memref<3x8xf32>, %x: memref<3x8xf32>) {
  %s = glow_nest.scratch : memref<24xf32>
  glow_nest.nest parallel(ij: 24) reads(%x[ij]) writes(%s[ij]) body {
  ^bb0(%0: f32):
    %1 = glow.mul %0, %0 : (f32, f32) -> f32
    glow_nest.yield %1 : f32
  } schedule<elementwise, order = [ij], vector = ij, lanes = 8>
  glow_nest.nest parallel(i: 3, j: 8) reads(%s[8 * i + j], %s[j]) writes(%y[8 * i + j]) body {
  ^bb0(%0: f32, %1: f32):
    %2 = glow.add %0, %1 : (f32, f32) -> f32
    glow_nest.yield %2 : f32
  } schedule<elementwise, order = [i, j], vector = j, lanes = 8, written_out = i>
}
// CHECK-LABEL: func.func private @rows(%{{[^:]*}}: memref<3x8xf32>, %{{[^:]*}}: memref<3x8xf32>) {
// CHECK:         memref.alloca() {alignment = 64 : i64} : memref<24xf32>
// CHECK:         scf.for
// CHECK-NOT:     written_out
// CHECK:         scf.for
// CHECK:         } {written_out}
// CHECK-NEXT:    func.return
