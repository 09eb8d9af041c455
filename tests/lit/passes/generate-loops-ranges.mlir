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

// TWO: writes(%y[16 * i + j]) schedule<reduce, order = [i, j], vector = j, lanes = 8, reduced = [t], prefetch_steps = {0: 32}, tile = {j: 2}> split<0 to 0

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

// -----

// The rows are 72 bytes, and begin at multiples of 8: the last 8 bytes of a row are in one line, so
// that two prefetches read a row. A value that is the same for all columns has one sum.

builtin.module attributes {glow.machine = #glow.machine<vector_bits = 256, vector_registers = 16, l1_bytes = 32768, l2_bytes = 1048576>} {
  glow_nest.kernel @fused(%y: memref<3x64xf32>, %at: memref<4xi64>, %rows: memref<9xi32>, %x: memref<50x72xui8>) {
    glow_nest.nest parallel(b: 3, c: 64) reduce(t: 9) range t from %at[b] to %at[b + 1] add f32 of(%x[c + 72 * index(%rows[t], 50)], %x[72 * index(%rows[t], 50) + 64] as f32, %x[72 * index(%rows[t], 50) + 68] as f32) values 2 map {
    ^bb0(%q: ui8, %scale: f32, %offset: f32):
      %0 = glow.cast %q : (ui8) -> f32
      %1 = glow.mul %0, %scale : (f32, f32) -> f32
      glow_nest.yield %1, %offset : f32, f32
    } writes(%y[64 * b + c]) body {
    ^bb0(%sum: f32, %offsets: f32):
      %2 = glow.add %sum, %offsets : (f32, f32) -> f32
      glow_nest.yield %2 : f32
    }
  }
  func.func @main(%at: memref<4xi64> {glow.name = "at", glow.qualifier = "in"}, %rows: memref<9xi32> {glow.name = "rows", glow.qualifier = "in"}, %x: memref<50x72xui8> {glow.name = "x", glow.qualifier = "in"}, %y: memref<3x64xf32> {glow.name = "y", glow.qualifier = "out"}) attributes {glow.arena_size = 0 : i64, glow.weights_size = 0 : i64} {
    glow_nest.call @fused(@out %y, @in %at, @in %rows, @in %x) : memref<3x64xf32>, memref<4xi64>, memref<9xi32>, memref<50x72xui8>
    func.return
  }
}

// CHECK-LABEL: func.func private @fused
// CHECK-DAG:     %[[C64:.*]] = arith.constant 64 : index
// CHECK:         scf.for %{{.*}} = %{{.*}} to %{{.*}} step %{{.*}} iter_args({{.*}}) -> (vector<8xf32>, vector<8xf32>, vector<8xf32>, vector<8xf32>, vector<8xf32>, vector<8xf32>, vector<8xf32>, vector<8xf32>, vector<8xf32>) {
// CHECK:           glow_vec.prefetch %{{.*}}[%[[ROW:.*]]] : memref<3600xi8>
// CHECK-NEXT:      %[[LAST:.*]] = arith.addi %[[ROW]], %[[C64]] : index
// CHECK-NEXT:      glow_vec.prefetch %{{.*}}[%[[LAST]]] : memref<3600xi8>
// CHECK-NOT:       glow_vec.prefetch
// CHECK:           scf.yield
