// RUN: glow-opt %s --set-machine="vector-bits=256 vector-registers=16" --schedule-nests --generate-loops --split-input-file | filecheck %s

// Each lane of a vector has an index of its own: all are loaded, and kept within bounds, together.
// What is computed from the elements is computed in vectors too.

glow_nest.kernel @lanes(%y: memref<3x17xf32>, %x: memref<3x5xf32>, %i: memref<3x17xi32>) {
  glow_nest.nest parallel(a: 3, n: 17) reads(%x[5 * a + index(%i[17 * a + n], 5)]) writes(%y[17 * a + n]) body {
  ^bb0(%0: f32):
    %1 = glow.mul %0, %0 : (f32, f32) -> f32
    glow_nest.yield %1 : f32
  }
}

// CHECK-LABEL: func.func private @lanes
// CHECK:         %[[I:.*]] = vector.load %{{.*}} : memref<51xi32>, vector<8xi32>
// CHECK-NEXT:    %[[END:.*]] = arith.addi %[[I]], %{{.*}} : vector<8xi32>
// CHECK-NEXT:    %[[LESS:.*]] = glow_vec.cmp slt %[[I]], %{{.*}} : vector<8xi32>, vector<8xi1>
// CHECK-NEXT:    %[[S:.*]] = glow_vec.select %[[LESS]], %[[END]], %[[I]] : vector<8xi1>, vector<8xi32>
// CHECK-NEXT:    %[[LOW:.*]] = arith.maxsi %[[S]], %{{.*}} : vector<8xi32>
// CHECK-NEXT:    %[[HIGH:.*]] = arith.minsi %[[LOW]], %{{.*}} : vector<8xi32>
// CHECK-NEXT:    %[[AT:.*]] = glow_vec.cast index_cast %[[HIGH]] : vector<8xi32> to vector<8xindex>
// CHECK-NEXT:    %[[X:.*]] = glow_vec.gather %{{.*}}[%{{.*}}] [%[[AT]]], %{{.*}}, %{{.*}} : memref<15xf32>, vector<8xindex>, vector<8xi1>, vector<8xf32>
// CHECK-NEXT:    arith.mulf %[[X]], %[[X]] : vector<8xf32>

// -----

// An index that another index places is loaded for one element at a time.

glow_nest.kernel @twice(%y: memref<17xf32>, %x: memref<5xf32>, %i: memref<9xi64>, %j: memref<17xi64>) {
  glow_nest.nest parallel(n: 17) reads(%x[index(%i[index(%j[n], 9)], 5)]) writes(%y[n]) raw
}

// CHECK-LABEL: func.func private @twice
// CHECK-NOT:     vector
// CHECK:         memref.load %{{.*}} : memref<17xi64>
// CHECK-NOT:     vector
// CHECK:         memref.load %{{.*}} : memref<9xi64>
// CHECK-NOT:     vector
// CHECK:         memref.store %{{.*}} : memref<17xf32>

// -----

// Elements are written to places that indices name one by one.

glow_nest.kernel @scattered(%y: memref<100xf32>, %x: memref<17xf32>, %i: memref<17xi64>) {
  glow_nest.nest parallel(n: 17) reads(%x[n]) writes(%y[index(%i[n], 100)]) raw
}

// CHECK-LABEL: func.func private @scattered
// CHECK-NOT:     vector
// CHECK:         memref.store %{{.*}} : memref<100xf32>
