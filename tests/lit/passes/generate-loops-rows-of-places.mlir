// RUN: glow-opt %s --generate-loops --split-input-file | filecheck %s

// Where the places that a table lists lie in rows, here of three, tiles of the list are a loop, which computes them.

glow_nest.kernel @rows(%y: memref<3x5x8xf32>, %x: memref<9x8xf32>, %w: memref<8x8xf32>) {
  glow_nest.nest parallel(p: 9, o: 8) reduce(c: 8) add f32 of(%x[8 * p + c], %w[8 * c + o]) writes(%y[o + [0, 8, 16, 40, 48, 56, 80, 88, 96][p]]) schedule<register_tile, order = [p, o], vector = o, lanes = 8, reduced = [c], vectors = 1, parts = {p: [0 to 8 by 4, 8 to 9 by 1]}, listed = p>
}

// CHECK-LABEL: func.func private @rows
// CHECK-DAG:     %[[FOUR:.*]] = arith.constant 4 : index
// CHECK-DAG:     %[[THREE:.*]] = arith.constant 3 : index
// CHECK-DAG:     %[[SIXTEEN:.*]] = arith.constant 16 : index
// CHECK-DAG:     %[[EIGHT:.*]] = arith.constant 8 : index
// CHECK-DAG:     %[[LAST:.*]] = arith.constant 96 : index
// CHECK:         scf.for %[[P:.*]] = %{{.*}} to %[[EIGHT]] step %[[FOUR]] {
// CHECK:           scf.for
// CHECK-COUNT-4:     vector.fma
// CHECK:           %[[ROW:.*]] = arith.divui %[[P]], %[[THREE]] : index
// CHECK-NEXT:      %[[JUMPS:.*]] = arith.muli %[[ROW]], %[[SIXTEEN]] : index
// CHECK-NEXT:      %[[STEPS:.*]] = arith.muli %[[P]], %[[EIGHT]] : index
// CHECK-NEXT:      %[[AT:.*]] = arith.addi %[[JUMPS]], %[[STEPS]] : index
// CHECK-NEXT:      vector.store %{{.*}}, %{{.*}}[%[[AT]]]
// CHECK-COUNT-3:   arith.divui
// CHECK-NOT:       arith.divui
// CHECK:         vector.store %{{.*}}, %{{.*}}[%[[LAST]]]

// -----

// Other tables, and those of the terms of a reduction, have code of their own for each tile.

glow_nest.kernel @scattered(%y: memref<16x8xf32>, %x: memref<4x8xf32>, %w: memref<8x8xf32>) {
  glow_nest.nest parallel(p: 4, o: 8) reduce(c: 8) add f32 of(%x[8 * p + c], %w[8 * c + o]) writes(%y[o + [0, 8, 32, 96][p]]) schedule<register_tile, order = [p, o], vector = o, lanes = 8, reduced = [c], vectors = 1, parts = {p: [0 to 4 by 2]}, listed = p>
}

// CHECK-LABEL: func.func private @scattered
// CHECK-NOT:     arith.divui
// CHECK:         scf.for
// CHECK-COUNT-2:   vector.fma
// CHECK:         scf.for
// CHECK-COUNT-2:   vector.fma

// -----

glow_nest.kernel @terms(%y: memref<4x8xf32>, %x: memref<16x8xf32>, %w: memref<8x8xf32>) {
  glow_nest.nest parallel(p: 4, o: 8) reduce(c: 8) add f32 of(%x[c + [0, 8, 32, 40][p]], %w[8 * c + o]) writes(%y[8 * p + o]) schedule<register_tile, order = [p, o], vector = o, lanes = 8, reduced = [c], vectors = 1, parts = {p: [0 to 4 by 2]}, listed = p>
}

// CHECK-LABEL: func.func private @terms
// CHECK-NOT:     arith.divui
// CHECK:         scf.for
// CHECK-COUNT-2:   vector.fma
// CHECK:         scf.for
// CHECK-COUNT-2:   vector.fma
