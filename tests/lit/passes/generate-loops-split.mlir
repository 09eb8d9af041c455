// RUN: glow-opt %s --build-nests="threads=2" --divide-nests="threads=2" --generate-loops --split-input-file | filecheck %s
// RUN: glow-opt %s --generate-loops --split-input-file | filecheck %s --check-prefix=ONE

// A sum of a million numbers is cut into 30 parts and a rest, whose sums go to scratch. Threads
// draw parts, and meet before one of them adds the sums up. One thread adds in the same order.

func.func @main(%x: memref<1000000xf32> {glow.name = "x", glow.qualifier = "in"}, %y: memref<1xf32> {glow.name = "y", glow.qualifier = "out"})
    attributes {glow.arena_size = 0 : i64, glow.weights_size = 0 : i64} {
  glow_inst.reduce_sum @out %y, @in %x axes [0] keep_dims true : memref<1xf32>, memref<1000000xf32>
  func.return
}

// CHECK-LABEL: func.func private @k_reduce_sum_
// CHECK:         %[[PARTS:.*]] = memref.view %{{.*}} : memref<128xi8> to memref<31xf32>
// CHECK:         scf.if %{{.*}} {
// CHECK:           memref.store %{{.*}}, %[[PARTS]][%{{.*}}] : memref<31xf32>
// CHECK-NOT:     func.call @glow_barrier(
// CHECK:         memref.store %{{.*}}, %[[PARTS]][%{{.*}}] : memref<31xf32>
// CHECK:         func.call @glow_next(
// CHECK:         func.call @glow_barrier(
// CHECK:         scf.if %{{.*}} {
// CHECK:           vector.load %[[PARTS]]
// CHECK:           memref.store %{{.*}}, %{{.*}}[%{{.*}}] : memref<1xf32>

// ONE-LABEL: func.func private @k_reduce_sum_
// ONE:         %[[PARTS:.*]] = memref.alloca() {{.*}} : memref<31xf32>
// ONE:         memref.store %{{.*}}, %[[PARTS]][%{{.*}}] : memref<31xf32>
// ONE:         scf.for %[[PART:.*]] = %
// ONE:           memref.store %{{.*}}, %[[PARTS]][%[[PART]]] : memref<31xf32>
// ONE:         vector.load %[[PARTS]]

// -----

// One row times nine columns: 16 rows of the matrix are nine whole vectors, and as many sums. The
// elements of the row are loaded once and spread.

func.func @main(%x: memref<1x800xf32> {glow.name = "x", glow.qualifier = "in"}, %w: memref<800x9xf32> {glow.name = "w", glow.qualifier = "in"},
    %y: memref<1x9xf32> {glow.name = "y", glow.qualifier = "out"}) attributes {glow.arena_size = 0 : i64, glow.weights_size = 0 : i64} {
  glow_inst.matmul @out %y, @in %x, @in %w : memref<1x9xf32>, memref<1x800xf32>, memref<800x9xf32>
  func.return
}

// CHECK-LABEL: func.func private @k_matmul_
// CHECK:         scf.if
// ONE-LABEL:   func.func private @k_matmul_
// ONE:           %[[X:.*]] = memref.reinterpret_cast %{{.*}} : memref<1x800xf32> to memref<800xf32>
// ONE:           memref.alloca() {{.*}} : memref<144xf32>
// ONE:           scf.for
// ONE:             %[[ROW:.*]] = vector.load %[[X]][%{{.*}}] : memref<800xf32>, vector<16xf32>
// ONE-NEXT:        %[[SPREAD:.*]] = vector.shuffle %[[ROW]], %[[ROW]] [0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1]
// ONE-NEXT:        %[[ROWS:.*]] = vector.load %{{.*}} : memref<7200xf32>, vector<16xf32>
// ONE-NEXT:        vector.fma %[[ROWS]], %[[SPREAD]], %{{.*}} : vector<16xf32>
// ONE-NOT:         vector.load %[[X]]
// ONE:             scf.yield
// ONE:           scf.for
// ONE:             arith.addf %{{.*}}, %{{.*}} : vector<8xf32>

// -----

// A short sum is not cut.

func.func @main(%x: memref<5000xf32> {glow.name = "x", glow.qualifier = "in"}, %y: memref<1xf32> {glow.name = "y", glow.qualifier = "out"})
    attributes {glow.arena_size = 0 : i64, glow.weights_size = 0 : i64} {
  glow_inst.reduce_sum @out %y, @in %x axes [0] keep_dims true : memref<1xf32>, memref<5000xf32>
  func.return
}

// CHECK-LABEL: func.func private @k_reduce_sum_{{[0-9a-f]+}}(%thread: index, %{{[^:]*}}: memref<1xf32>, %{{[^:]*}}: memref<5000xf32>) attributes {glow_nest.interface = {has_thread}} {
// CHECK-NOT:     memref.view
// CHECK-NOT:     func.call @glow_barrier
// CHECK:       func.func @main

// -----

// Many sums are not cut, because threads can divide them.

func.func @main(%x: memref<900x600xf32> {glow.name = "x", glow.qualifier = "in"}, %y: memref<900xf32> {glow.name = "y", glow.qualifier = "out"})
    attributes {glow.arena_size = 0 : i64, glow.weights_size = 0 : i64} {
  glow_inst.reduce_max @out %y, @in %x axes [1] : memref<900xf32>, memref<900x600xf32>
  func.return
}

// CHECK-LABEL: func.func private @k_reduce_max_
// CHECK-NOT:     memref.view
// CHECK-NOT:     func.call @glow_barrier
// CHECK:       func.func @main

// -----

// Lanes run over the 64 terms of a row. Eight rows at a time become the lanes of one vector: two
// vectors at a time are combined to one.

func.func @main(%x: memref<200x64xf32> {glow.name = "x", glow.qualifier = "in"}, %w: memref<64x1xf32> {glow.name = "w", glow.qualifier = "in"},
    %y: memref<200x1xf32> {glow.name = "y", glow.qualifier = "out"}) attributes {glow.arena_size = 0 : i64, glow.weights_size = 0 : i64} {
  glow_inst.matmul @out %y, @in %x, @in %w : memref<200x1xf32>, memref<200x64xf32>, memref<64x1xf32>
  func.return
}

// ONE-LABEL: func.func private @k_matmul_
// ONE:         %[[A:[0-9]+]], %[[B:[0-9]+]], %{{.*}} = scf.for
// ONE:         %[[LOW:.*]] = vector.shuffle %[[A]], %[[B]] [0, 1, 2, 3, 4, 5, 6, 7, 16, 17, 18, 19, 20, 21, 22, 23]
// ONE-NEXT:    %[[HIGH:.*]] = vector.shuffle %[[A]], %[[B]] [8, 9, 10, 11, 12, 13, 14, 15, 24, 25, 26, 27, 28, 29, 30, 31]
// ONE-NEXT:    arith.addf %[[LOW]], %[[HIGH]] : vector<16xf32>
// ONE-NOT:     vector.reduction
// ONE-NOT:     memref.store
// ONE:         vector.store %{{.*}} : memref<200xf32>, vector<8xf32>
// ONE:       func.func @main

// -----

// Three rows are reduced one by one.

func.func @main(%x: memref<3x64xf32> {glow.name = "x", glow.qualifier = "in"}, %y: memref<3xf32> {glow.name = "y", glow.qualifier = "out"})
    attributes {glow.arena_size = 0 : i64, glow.weights_size = 0 : i64} {
  glow_inst.reduce_min @out %y, @in %x axes [1] : memref<3xf32>, memref<3x64xf32>
  func.return
}

// ONE-LABEL: func.func private @k_reduce_min_
// ONE-NOT:     vector.shuffle
// ONE:         vector.reduction <minimumf>
// ONE-NOT:     vector.shuffle
// ONE:       func.func @main
