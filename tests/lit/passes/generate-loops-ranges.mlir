// RUN: glow-opt %s --schedule-nests --generate-loops --split-input-file | filecheck %s
// RUN: glow-opt %s --schedule-nests --divide-nests="threads=2" --split-input-file | filecheck %s --check-prefix=TWO

// A product of a sparse matrix in compressed rows: the loop over the elements of a row has bounds in
// memory, which are clamped, and carries the sums of two vectors. Each step prefetches the lines of
// the row of `x` that a later index names, from the first element to the last, and loads a row.

builtin.module attributes {glow.machine = #glow.machine<vector_bits = 256, vector_registers = 16, l1_bytes = 32768, l2_bytes = 1048576>} {
  glow_nest.kernel @csr(%y: memref<96x16xf32>, %at: memref<97xi64>, %columns: memref<900xi32>, %values: memref<900xf32>, %x: memref<50x16xf32>) {
    glow_nest.nest parallel(i: 96, j: 16) reduce(t: 900) range t from %at[i] to %at[i + 1] add f32 of(%x[16 * index(%columns[t], 50) + j], %values[t]) writes(%y[16 * i + j])
  }
  func.func @main(%at: memref<97xi64> {glow.name = "at", glow.qualifier = "in"}, %columns: memref<900xi32> {glow.name = "columns",
      glow.qualifier = "in"}, %values: memref<900xf32> {glow.name = "values", glow.qualifier = "in"}, %x: memref<50x16xf32> {glow.name = "x",
      glow.qualifier = "in"}, %y: memref<96x16xf32> {glow.name = "y", glow.qualifier = "out"}) attributes {glow.arena_size = 0 : i64, glow.weights_size = 0
      : i64} {
    glow_nest.call @csr(@out %y, @in %at, @in %columns, @in %values, @in %x) : memref<96x16xf32>, memref<97xi64>, memref<900xi32>, memref<900xf32>, memref<50x16xf32>
    func.return
  }
}

// CHECK-LABEL: func.func private @csr
// CHECK:         scf.for %[[I:.*]] = %[[ZERO:.*]] to %{{.*}} step %[[ONE:.*]] {
// CHECK:           %[[FIRST:.*]] = memref.load %{{.*}}[%[[I]]] : memref<97xi64>
// CHECK-NEXT:      %[[INDEX:.*]] = arith.index_cast %[[FIRST]] : i64 to index
// CHECK-NEXT:      %[[LOW:.*]] = arith.maxsi %[[INDEX]], %[[ZERO]] : index
// CHECK-NEXT:      %[[START:.*]] = arith.minsi %[[LOW]], %[[MOST:.*]] : index
// CHECK-NEXT:      %[[NEXT:.*]] = arith.addi %[[I]], %[[ONE]] : index
// CHECK-NEXT:      memref.load %{{.*}}[%[[NEXT]]] : memref<97xi64>
// CHECK:           %[[END:.*]] = arith.minsi %{{.*}}, %[[MOST]] : index
// CHECK-NEXT:      scf.for %[[T:.*]] = %[[START]] to %[[END]] step %[[ONE]] iter_args(%{{.*}} = %{{.*}}, %{{.*}} = %{{.*}}) -> (vector<8xf32>, vector<8xf32>) {
// CHECK-NEXT:        %[[LATER:.*]] = arith.addi %[[T]], %{{.*}} : index
// CHECK-NEXT:        %[[INSIDE:.*]] = arith.minsi %[[LATER]], %{{.*}} : index
// CHECK-NEXT:        memref.load %{{.*}}[%[[INSIDE]]] : memref<900xi32>
// CHECK:             glow_vec.prefetch %{{.*}}[%[[ROW:.*]]] : memref<800xf32>
// CHECK-NEXT:        %[[LAST:.*]] = arith.addi %[[ROW]], %{{.*}} : index
// CHECK-NEXT:        glow_vec.prefetch %{{.*}}[%[[LAST]]] : memref<800xf32>
// CHECK-NEXT:        memref.load %{{.*}}[%[[T]]] : memref<900xi32>
// CHECK:             vector.load
// CHECK:             vector.fma
// CHECK:             vector.load
// CHECK:             vector.fma
// CHECK-NEXT:        scf.yield
// CHECK-NEXT:      }
// CHECK-NEXT:      vector.store

// Threads divide the rows of the result.

// TWO: writes(%y[16 * i + j]) schedule<reduce, order = [i, j], vector = j, lanes = 8, reduced = [t], prefetch_steps = {0: 64}, tile = {j: 2}> split<0 to 0

// -----

// An index that is the same in all steps needs no prefetch, and neither does a reduction without one.

builtin.module attributes {glow.machine = #glow.machine<vector_bits = 256, vector_registers = 16, l1_bytes = 32768, l2_bytes = 1048576>} {
  glow_nest.kernel @segments(%y: memref<3x16xf32>, %at: memref<4xi64>, %x: memref<9x16xf32>) {
    glow_nest.nest parallel(i: 3, j: 16) reduce(t: 9) range t from %at[i] to %at[i + 1] maximum f32 of(%x[16 * t + j]) writes(%y[16 * i + j])
  }
  func.func @main(%at: memref<4xi64> {glow.name = "at", glow.qualifier = "in"}, %x: memref<9x16xf32> {glow.name = "x", glow.qualifier = "in"},
      %y: memref<3x16xf32> {glow.name = "y", glow.qualifier = "out"}) attributes {glow.arena_size = 0 : i64, glow.weights_size = 0 : i64} {
    glow_nest.call @segments(@out %y, @in %at, @in %x) : memref<3x16xf32>, memref<4xi64>, memref<9x16xf32>
    func.return
  }
}

// CHECK-LABEL: func.func private @segments
// CHECK-NOT:     glow_vec.prefetch
// CHECK:         scf.for %{{.*}} = %{{.*}} to %{{.*}} step %{{.*}} iter_args(
// CHECK-NOT:     glow_vec.prefetch
// CHECK:         func.return
