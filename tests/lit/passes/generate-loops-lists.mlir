// RUN: glow-opt %s --generate-loops --split-input-file | filecheck %s
// RUN: glow-opt %s --build-nests="threads=2" --divide-nests="threads=2" --generate-loops --split-input-file | filecheck %s --check-prefix=TWO

// The places where a vector is not zero are listed: each is stored behind those before it, which stay
// only if the next one goes behind them. Sixteen zeros at a time are passed over. Then the rows at
// eight of these places are added at a time, and at last those that are left.

func.func @main(%x: memref<1x20xf32> {glow.name = "x", glow.qualifier = "in"}, %w: memref<20x128xf32> {glow.name = "w", glow.qualifier = "in"},
    %y: memref<1x128xf32> {glow.name = "y", glow.qualifier = "out"}) attributes {glow.arena_size = 0 : i64, glow.weights_size = 0 : i64} {
  glow_inst.sparse_vector_matmul @out %y, @in %x, @in %w : memref<1x128xf32>, memref<1x20xf32>, memref<20x128xf32>
  func.return
}

// CHECK-LABEL: func.func private @k_sparse_vector_matmul_
// CHECK:         %[[SIXTEEN:.*]] = vector.load %{{.*}} : memref<20xf32>, vector<16xf32>
// CHECK-NEXT:    %[[ARE:.*]] = glow_vec.cmp une %[[SIXTEEN]], %{{.*}} : vector<16xf32>, vector<16xi1>
// CHECK-NEXT:    %[[WHOLE:.*]] = vector.bitcast %[[ARE]] : vector<16xi1> to vector<1xi16>
// CHECK-NEXT:    %[[BITS:.*]] = vector.extract %[[WHOLE]][0] : i16 from vector<1xi16>
// CHECK-NEXT:    %[[SOME:.*]] = arith.cmpi ne, %[[BITS]], %{{.*}} : i16
// CHECK-NEXT:    %[[BEFORE:.*]] = scf.if %[[SOME]] -> (index) {
// CHECK-NEXT:      %[[COUNT:.*]] = scf.for %[[I:.*]] = %[[ZERO:.*]] to %{{.*}} step %[[ONE:.*]] iter_args(%[[N:.*]] = %[[ZERO]]) -> (index) {
// CHECK-NEXT:      %[[PLACE:.*]] = arith.index_cast %[[I]] : index to i32
// CHECK-NEXT:      memref.store %[[PLACE]], %[[LIST:.*]][%[[N]]] : memref<20xi32>
// CHECK-NEXT:      %[[X:.*]] = memref.load %{{.*}}[%[[I]]] : memref<20xf32>
// CHECK-NEXT:      %[[IS:.*]] = arith.cmpf une, %[[X]], %{{.*}} : f32
// CHECK-NEXT:      %[[MORE:.*]] = arith.select %[[IS]], %[[ONE]], %[[ZERO]] : index
// CHECK-NEXT:      %[[NEXT:.*]] = arith.addi %[[N]], %[[MORE]] : index
// CHECK-NEXT:      scf.yield %[[NEXT]] : index
// CHECK-NEXT:    }
// CHECK:         %[[ALL:.*]] = arith.index_cast %{{.*}} : i32 to index
// CHECK-NEXT:    %[[GROUPS:.*]] = arith.divui %[[ALL]], %[[EIGHT:.*]] : index
// CHECK-NEXT:    %[[FULL:.*]] = arith.muli %[[GROUPS]], %[[EIGHT]] : index
// CHECK-NEXT:    scf.for %[[AT:.*]] = %[[ZERO]] to %[[FULL]] step %[[EIGHT]] {
// CHECK-NEXT:      %[[P:.*]] = memref.load %[[LIST]][%[[AT]]] : memref<20xi32>
// CHECK:           memref.load %{{.*}} : memref<20xf32>
// CHECK-NEXT:      vector.broadcast
// CHECK:           scf.for %{{.*}} = %[[ZERO]] to
// CHECK-NOT:         vector.broadcast
// CHECK:             arith.mulf
// CHECK-COUNT-7:     vector.fma
// CHECK-NEXT:        arith.addf
// CHECK:         scf.for %{{.*}} = %{{.*}} to %{{.*}} step %[[ONE]] {

// One thread makes the list, for which others wait. Then each has columns of its own, which go to the
// result at the end.

// TWO-LABEL: func.func private @k_sparse_vector_matmul_
// TWO-SAME:    (%thread: index, %team: !llvm.ptr,
// TWO:         %[[FIRST:.*]] = arith.cmpi eq, %thread,
// TWO-NEXT:    scf.if %[[FIRST]] {
// TWO:           memref.store
// TWO:         func.call @glow_barrier(%team, %thread)
// TWO-NEXT:    %[[END:.*]] = arith.addi %thread, %[[ONE:.*]] : index
// TWO-NEXT:    scf.for %{{.*}} = %thread to %[[END]] step %[[ONE]] {
// TWO:         vector.fma
// TWO:         func.call @glow_barrier(%team, %thread)
// TWO-NOT:     func.call @glow_barrier
// TWO:         func.return

// -----

// Of many rows, the list is added up in two parts, each of which has sums of its own: threads take a
// part each, and read whole rows. A part has the same number of groups of eight, or one more.

func.func @main(%x: memref<1x2048xf32> {glow.name = "x", glow.qualifier = "in"}, %w: memref<2048x128xf32> {glow.name = "w", glow.qualifier = "in"},
    %y: memref<1x128xf32> {glow.name = "y", glow.qualifier = "out"}) attributes {glow.arena_size = 0 : i64, glow.weights_size = 0 : i64} {
  glow_inst.sparse_vector_matmul @out %y, @in %x, @in %w : memref<1x128xf32>, memref<1x2048xf32>, memref<2048x128xf32>
  func.return
}

// CHECK-LABEL: func.func private @k_sparse_vector_matmul_
// CHECK:         %[[SUMS:.*]] = memref.alloca() {{.*}} : memref<256xf32>
// CHECK:         memref.store %{{.*}} : memref<1xi32>
// CHECK-NEXT:    scf.for %[[PART:.*]] = %[[ZERO:.*]] to %[[PARTS:.*]] step %[[ONE:.*]] {
// CHECK:           %[[LISTED:.*]] = arith.subi
// CHECK-NEXT:      %[[GROUPS:.*]] = arith.divui %[[LISTED]], %[[EIGHT:.*]] : index
// CHECK-NEXT:      %[[A:.*]] = arith.muli %[[GROUPS]], %[[PART]] : index
// CHECK-NEXT:      %[[B:.*]] = arith.divui %[[A]], %[[PARTS]] : index
// CHECK-NEXT:      %[[C:.*]] = arith.muli %[[B]], %[[EIGHT]] : index
// CHECK:           %[[AFTER:.*]] = arith.addi %[[PART]], %[[ONE]] : index
// CHECK-NEXT:      %[[D:.*]] = arith.muli %[[GROUPS]], %[[AFTER]] : index
// CHECK:         vector.load %[[SUMS]][%{{.*}}] : memref<256xf32>, vector<16xf32>
// CHECK:         vector.store %{{.*}}, %[[SUMS]][%{{.*}}] : memref<256xf32>, vector<16xf32>
// CHECK:         vector.store %{{.*}} : memref<128xf32>, vector<16xf32>

// TWO-LABEL: func.func private @k_sparse_vector_matmul_
// TWO:         func.call @glow_barrier(%team, %thread)
// TWO-NEXT:    %[[END:.*]] = arith.addi %thread, %[[ONE:.*]] : index
// TWO-NEXT:    scf.for %{{.*}} = %thread to %[[END]] step %[[ONE]] {
// TWO:         func.call @glow_barrier(%team, %thread)
