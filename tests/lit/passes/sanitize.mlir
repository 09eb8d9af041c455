// RUN: glow-opt %s --sanitize --split-input-file --verify-diagnostics | filecheck %s

// A store of 8 elements at a place must end within the 20 elements of the parameter; one that does
// not is noted instead. The record is the end of the arena, and has the number of the call.

func.func private @k_copy(%y: memref<20xf32>, %x: memref<20xf32>, %i: index) {
  %flat = memref.reinterpret_cast %y to offset: [4], sizes: [16], strides: [1] : memref<20xf32> to memref<16xf32, strided<[1], offset: 4>>
  %v = vector.load %x[%i] : memref<20xf32>, vector<8xf32>
  vector.store %v, %flat[%i] : memref<16xf32, strided<[1], offset: 4>>, vector<8xf32>
  func.return
}
func.func @main(%weights: memref<0xi8>, %x: memref<20xf32>, %arena: memref<80xi8>) attributes {glow.arena_size = 80 : i64} {
  %zero = arith.constant 0 : index
  %y = memref.view %arena[%zero][] : memref<80xi8> to memref<20xf32>
  func.call @k_copy(%y, %x, %zero) : (memref<20xf32>, memref<20xf32>, index) -> ()
  func.return
}

// CHECK:      func.func private @glow_note_violation(%{{.*}}: memref<4xi64>, %{{.*}}: index, %{{.*}}: index)
// CHECK:      func.func private @k_copy(%y: memref<20xf32>, %x: memref<20xf32>, %i: index, %record: memref<4xi64>) {
// CHECK-NEXT:   %[[ZERO:.*]] = arith.constant 0 : index
// CHECK:        %[[EIGHT:.*]] = arith.constant 8 : index
// CHECK-NEXT:   %[[SIZE:.*]] = arith.constant 20 : index
// CHECK:        %[[FOUR:.*]] = arith.constant 4 : index
// CHECK:        %[[START:.*]] = arith.addi %{{.*}}, %[[ZERO]] : index
// CHECK-NEXT:   %[[END:.*]] = arith.addi %{{.*}}, %[[EIGHT]] : index
// CHECK-NEXT:   %[[IN:.*]] = arith.cmpi ule, %[[START]], %[[SIZE]] : index
// CHECK-NEXT:   %[[TO:.*]] = arith.cmpi ule, %[[END]], %[[SIZE]] : index
// CHECK-NEXT:   %[[OK:.*]] = arith.andi %[[IN]], %[[TO]] : i1
// CHECK-NEXT:   %v = scf.if %[[OK]] -> (vector<8xf32>) {
// CHECK-NEXT:     %{{.*}} = vector.load %x[%i] : memref<20xf32>, vector<8xf32>
// CHECK:        } else {
// CHECK-NEXT:     func.call @glow_note_violation(%record, %[[ZERO]], %{{.*}})
// CHECK:        arith.addi %[[FOUR]]
// CHECK:        scf.if
// CHECK-NEXT:     vector.store
// CHECK:      func.func @main(%weights: memref<0xi8>, %x: memref<20xf32>, %arena: memref<160xi8>) attributes {glow.arena_size = 160 : i64,
// CHECK-SAME: glow.accesses = [{kernel = "k_copy", kind = "load", operand = 1 : i64}, {kernel = "k_copy", kind = "store", operand = 0 : i64}]} {
// CHECK:        %record = memref.view %arena[%{{.*}}][] : memref<160xi8> to memref<4xi64>
// CHECK:        memref.store %{{.*}}, %record[%{{.*}}] : memref<4xi64>
// CHECK-NEXT:   func.call @k_copy(%y, %x, %{{.*}}, %record)

// -----

func.func private @k_none(%y: memref<20xf32>) {
  func.return
}
func.func @main(%weights: memref<0xi8>, %arena: memref<64xi8>) attributes {glow.arena_size = 64 : i64} {
  %zero = arith.constant 0 : index
  %y = memref.view %arena[%zero][] : memref<64xi8> to memref<20xf32>
  func.call @k_none(%y) : (memref<20xf32>) -> ()
  func.return
}

// CHECK: buffer %y of memref<20xf32> lies at 0 in a segment of 64 bytes, which it leaves

// -----

// The lanes of a gather reach from the smallest to the largest offset. A masked store begins within
// the buffer, too.

func.func private @k_lanes(%y: memref<20xf32>, %x: memref<5xf32>, %o: vector<2xindex>, %n: index) {
  %at = arith.constant 3 : index
  %all = arith.constant dense<true> : vector<2xi1>
  %none = arith.constant dense<0.0> : vector<2xf32>
  %v = glow_vec.gather %x[%at] [%o], %all, %none : memref<5xf32>, vector<2xindex>, vector<2xi1>, vector<2xf32>
  %mask = vector.create_mask %n : vector<2xi1>
  vector.maskedstore %y[%n], %mask, %v : memref<20xf32>, vector<2xi1>, vector<2xf32>
  func.return
}
func.func @main(%weights: memref<0xi8>, %x: memref<5xf32>, %y: memref<20xf32>, %o: vector<2xindex>, %arena: memref<0xi8>) attributes {glow.arena_size = 0 : i64} {
  %zero = arith.constant 0 : index
  func.call @k_lanes(%y, %x, %o, %zero) : (memref<20xf32>, memref<5xf32>, vector<2xindex>, index) -> ()
  func.return
}

// CHECK:      func.func private @k_lanes
// CHECK:        %[[A:.*]] = vector.extract %o[0] : index from vector<2xindex>
// CHECK-NEXT:   %[[LOW:.*]] = arith.minsi %{{.*}}, %[[A]] : index
// CHECK-NEXT:   %[[HIGH:.*]] = arith.maxsi %{{.*}}, %[[A]] : index
// CHECK-NEXT:   %[[B:.*]] = vector.extract %o[1] : index from vector<2xindex>
// CHECK-NEXT:   %[[FIRST:.*]] = arith.minsi %[[LOW]], %[[B]] : index
// CHECK-NEXT:   %[[LAST:.*]] = arith.maxsi %[[HIGH]], %[[B]] : index
// CHECK:        %[[END:.*]] = arith.addi %[[LAST]], %{{.*}} : index
// CHECK:        %[[START:.*]] = arith.addi %[[FROM:.*]], %[[FIRST]] : index
// CHECK-NEXT:   %[[STOP:.*]] = arith.addi %[[FROM]], %[[END]] : index
// CHECK:        %[[IN:.*]] = arith.cmpi ule, %[[START]], %[[SIZE:.*]] : index
// CHECK-NEXT:   %[[TO:.*]] = arith.cmpi ule, %[[STOP]], %[[SIZE]] : index
// CHECK-NEXT:   %[[BOTH:.*]] = arith.andi %[[IN]], %[[TO]] : i1
// CHECK-NEXT:   scf.if %[[BOTH]]
// CHECK-NEXT:     glow_vec.gather
// CHECK:        arith.andi
// CHECK-NEXT:   scf.if
// CHECK-NEXT:     vector.maskedstore
