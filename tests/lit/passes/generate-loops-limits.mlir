// RUN: glow-opt %s --schedule-nests --generate-loops --split-input-file | filecheck %s
// RUN: glow-opt %s --schedule-nests --divide-nests="threads=2" --split-input-file | filecheck %s --check-prefix=TWO

// A loop over rows has full tiles, and smaller ones for the rows that are left: the last two are about as large as
// each other. The reduction of a row has all terms.

builtin.module attributes {glow.machine = #glow.machine<vector_bits = 256, vector_registers = 16, l1_bytes = 32768, l2_bytes = 1048576>} {
  glow_nest.kernel @product(%y: memref<100x16xf32>, %x: memref<100x30xf32>, %w: memref<30x16xf32>, %rows: memref<i64>) rows {
    glow_nest.nest parallel(i: 100 of rows, j: 16) reduce(t: 30) add f32 of(%x[30 * i + t], %w[16 * t + j]) writes(%y[16 * i + j])
  }
}

// CHECK-LABEL: func.func private @product(
// CHECK:         %[[NUMBER:.*]] = memref.load %{{.*}}[%[[ZERO:.*]]] : memref<1xi64>
// CHECK-NEXT:    %[[ROWS:.*]] = arith.index_cast %[[NUMBER]] : i64 to index
// CHECK-NEXT:    %[[LOW:.*]] = arith.maxsi %[[ROWS]], %[[ZERO]] : index
// CHECK-NEXT:    %[[COUNT:.*]] = arith.minsi %[[LOW]], %{{.*}} : index
// CHECK:         %[[TILES:.*]] = arith.divui %{{.*}}, %[[SIX:.*]] : index
// CHECK-NEXT:    %[[FULL:.*]] = arith.muli %[[TILES]], %[[SIX]] : index
// CHECK-NEXT:    %[[REST:.*]] = arith.subi %{{.*}}, %[[FULL]] : index
// CHECK:         %[[LAST:.*]] = arith.addi %[[REST]], %{{.*}} : index
// CHECK:         %[[FITS:.*]] = arith.cmpi sle, %[[LAST]], %[[SIX]] : index
// CHECK-NEXT:    %[[LARGER:.*]] = arith.select %[[FITS]], %[[LAST]], %{{.*}} : index
// CHECK-NEXT:    %[[SMALLER:.*]] = arith.subi %[[LAST]], %[[LARGER]] : index
// CHECK:         scf.for %{{.*}} = %[[ZERO]] to %[[STOP:.*]] step %[[SIX]] {
// CHECK:         arith.cmpi eq, %[[LARGER]], %[[FIVE:.*]] : index
// CHECK:         arith.cmpi eq, %[[SMALLER]], %[[FIVE]] : index
// CHECK:         scf.for %{{.*}} = %[[STOP]] to %{{.*}} step %[[FIVE]] {
// CHECK-COUNT-4: arith.cmpi eq, %[[LARGER]], %{{.*}} : index
// CHECK-NEXT:    arith.select
// CHECK-NEXT:    arith.addi
// CHECK-NEXT:    arith.cmpi eq, %[[SMALLER]], %{{.*}} : index
// CHECK-NOT:     arith.cmpi eq
// CHECK:         func.return

// TWO-LABEL: @product(
// TWO:         schedule<{{.*}}> split<0 to 0>

// -----

// Where vectors run over the rows of a reduction, the last vector leaves out the lanes that were
// counted, and those behind the rows.

builtin.module attributes {glow.machine = #glow.machine<vector_bits = 256, vector_registers = 16, l1_bytes = 32768, l2_bytes = 1048576>} {
  glow_nest.kernel @sum(%y: memref<1xf32>, %x: memref<100xf32>, %rows: memref<i64>) rows {
    glow_nest.nest parallel(i: 1) reduce(t: 100 of rows) add f32 of(%x[t]) writes(%y[i]) schedule<reduce, order = [i], vector = t, lanes = 8, reduced = [t]>
  }
}

// CHECK-LABEL: func.func private @sum(
// CHECK:         %[[COUNT:.*]] = arith.minsi
// CHECK:         %[[FULL:.*]] = arith.muli %{{.*}}, %[[EIGHT:.*]] : index
// CHECK-NEXT:    %[[SUM:.*]] = scf.for %{{.*}} = %{{.*}} to %[[FULL]] step %[[EIGHT]] iter_args(
// CHECK:         scf.for %[[AT:.*]] = %[[FULL]] to %[[COUNT]] step %[[EIGHT]] iter_args(%[[OLD:.*]] = %[[SUM]])
// CHECK-NEXT:      %[[START:.*]] = arith.minsi %[[AT]], %{{.*}} : index
// CHECK-NEXT:      %[[VISITED:.*]] = arith.subi %[[FULL]], %[[START]] : index
// CHECK-NEXT:      %[[UNTIL:.*]] = arith.subi %[[COUNT]], %[[START]] : index
// CHECK:           vector.create_mask %[[VISITED]] : vector<8xi1>
// CHECK:           vector.create_mask %[[UNTIL]] : vector<8xi1>
// CHECK:           glow_vec.select %{{.*}}, %{{.*}}, %[[OLD]]

// -----

// A loop joins those inside of it, with as many values for each row. An outer loop without a limit stays apart.

builtin.module attributes {glow.machine = #glow.machine<vector_bits = 256, vector_registers = 16, l1_bytes = 32768, l2_bytes = 1048576>} {
  glow_nest.kernel @joined(%y: memref<7x100x16xf32>, %x: memref<7x100x16xf32>, %rows: memref<i64>) rows {
    glow_nest.nest parallel(b: 7, i: 100 of rows, j: 16) reads(%x[1600 * b + 16 * i + j]) writes(%y[1600 * b + 16 * i + j]) raw
  }
}

// TWO-LABEL: @joined(
// TWO:         glow_nest.nest parallel(b: 7, ij: 1600 of 16 * rows) reads(%x[1600 * b + ij])
