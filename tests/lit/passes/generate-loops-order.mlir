// RUN: glow-opt %s --divide-nests="threads=2" --generate-loops | filecheck %s
// RUN: glow-opt %s --generate-loops | filecheck %s --check-prefix=ONE

// Tiles of two sizes have code of their own. A thread visits both in each iteration of the outer
// loop, as one thread does, so that the rows of %in_1 are still in its caches.

glow_nest.kernel @k_products(%out: memref<3x42x8xf32>, %in: memref<42x256xf32>, %in_1: memref<3x256x8xf32>) {
  glow_nest.nest parallel(b: 3, w: 42, o: 8) reduce(c: 256) add f32 of(%in[256 * w + c], %in_1[2048 * b + 8 * c + o]) writes(%out[336 * b + 8 * w + o]) body {
  ^bb0(%0: f32):
    glow_nest.yield %0 : f32
  } schedule<register_tile, order = [b, w, o], vector = o, lanes = 8, reduced = [c], prefetch_distance = {1: 1024}, vectors = 1, parts = {w: [0 to 40 by 4, 40 to 42 by 2]}>
}
func.func @main(%x: memref<42x256xf32> {glow.name = "x", glow.qualifier = "in"}, %f: memref<3x256x8xf32> {glow.name = "f", glow.qualifier = "in"},
    %y: memref<3x42x8xf32> {glow.name = "y", glow.qualifier = "out"})
    attributes {glow.arena_size = 0 : i64, glow.weights_size = 0 : i64} {
  glow_nest.call @k_products(@out %y, @in %x, @in %f) : memref<3x42x8xf32>, memref<42x256xf32>, memref<3x256x8xf32>
  func.return
}

// CHECK-LABEL: func.func private @k_products(
// CHECK:         scf.if
// CHECK:           scf.for
// CHECK:             scf.for
// CHECK:               scf.for
// CHECK:                 vector.fma
// CHECK:             scf.for
// CHECK:               scf.for
// CHECK:                 vector.fma
// CHECK-NOT:     scf.for
// CHECK:         func.call @glow_next

// What is prefetched ahead of the reads of a tile is in the buffer, for the last tile too.
// ONE-LABEL: func.func private @k_products(
// ONE-DAG:     %[[AHEAD:.*]] = arith.constant 1024 : index
// ONE-DAG:     %[[LAST:.*]] = arith.constant 3079 : index
// ONE:         scf.for %[[B:.*]] = %
// ONE:           %[[PANEL:.*]] = arith.muli %[[B]], %
// ONE:           scf.for %
// ONE:             %[[INSIDE:.*]] = arith.minsi %[[PANEL]], %[[LAST]] : index
// ONE:             scf.for %
// ONE:               %[[ROW:.*]] = arith.addi %[[INSIDE]], %
// ONE:               %[[AT:.*]] = arith.addi %[[ROW]], %[[AHEAD]] : index
// ONE:               glow_vec.prefetch %{{.*}}[%[[AT]]]
