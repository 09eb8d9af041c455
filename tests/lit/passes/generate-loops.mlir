// RUN: glow-opt %s --generate-loops --split-input-file | filecheck %s

// A copy of dense buffers is one loop over vectors, and a last vector that ends with the buffer.

func.func @main(%x: memref<4x9xf32> {glow.name = "x", glow.qualifier = "in"}, %y: memref<4x9xf32> {glow.name = "y", glow.qualifier = "out"})
    attributes {glow.arena_size = 0 : i64, glow.weights_size = 0 : i64} {
  glow_inst.copy @out %y, @in %x : memref<4x9xf32>, memref<4x9xf32>
  func.return
}

// CHECK:      func.func private @[[COPY:k_copy_[0-9a-f]+]](%{{.*}}: memref<4x9xf32>, %{{.*}}: memref<4x9xf32>) {
// CHECK:        %[[OUT:.*]] = memref.reinterpret_cast %{{.*}} to offset: [0], sizes: [36], strides: [1] : memref<4x9xf32> to memref<36xf32>
// CHECK:        scf.for %[[I:.*]] = %{{.*}} to %{{.*}} step %{{.*}} {
// CHECK-NEXT:     %[[V:.*]] = vector.load %{{.*}}[%[[I]]] : memref<36xf32>, vector<16xf32>
// CHECK-NEXT:     vector.store %[[V]], %[[OUT]][%[[I]]] : memref<36xf32>, vector<16xf32>
// CHECK-NEXT:   }
// CHECK-NEXT:   vector.load
// CHECK-NEXT:   vector.store
// CHECK-NEXT:   func.return
// CHECK:      func.func @main(%weights: memref<0xi8>, %x: memref<4x9xf32> {glow.name = "x", glow.qualifier = "in"},
// CHECK-SAME: %y: memref<4x9xf32> {glow.name = "y", glow.qualifier = "out"}, %arena: memref<0xi8>)
// CHECK-NEXT:   func.call @[[COPY]](%y, %x) : (memref<4x9xf32>, memref<4x9xf32>) -> ()
// CHECK-NEXT:   func.return

// -----

// Buffers are views of the weight segment and of the arena. Equal instructions share a kernel.

func.func @main(%y: memref<64xf32> {glow.name = "y", glow.qualifier = "out"}) attributes {glow.arena_size = 1024 : i64, glow.weights_size = 512 : i64} {
  %w = glow_inst.weight #glow.blob<"w.bin", 0, 256> {offset = 128 : i64} : memref<64xf32>
  %a = glow_inst.alloc_activation {offset = 768 : i64} : memref<64xf32>
  glow_inst.copy @out %a, @in %w : memref<64xf32>, memref<64xf32>
  glow_inst.copy @out %y, @in %a : memref<64xf32>, memref<64xf32>
  glow_inst.dealloc_activation %a : memref<64xf32>
  func.return
}

// CHECK:      func.func private @[[COPY:k_copy_[0-9a-f]+]]
// CHECK-NOT:  func.func private
// CHECK:      func.func @main(%weights: memref<512xi8>
// CHECK-DAG:    %[[AT_W:.*]] = arith.constant 128 : index
// CHECK-DAG:    %[[AT_A:.*]] = arith.constant 768 : index
// CHECK:        %[[A:.*]] = memref.view %arena[%[[AT_A]]][] : memref<1024xi8> to memref<64xf32>
// CHECK-NEXT:   %[[W:.*]] = memref.view %weights[%[[AT_W]]][] : memref<512xi8> to memref<64xf32>
// CHECK-NEXT:   func.call @[[COPY]](%[[A]], %[[W]])
// CHECK-NEXT:   func.call @[[COPY]](%y, %[[A]])

// -----

// A part of an argument keeps its offset; a part of the arena starts at its first element.

func.func @main(%x: memref<4x8xf32> {glow.name = "x", glow.qualifier = "in"}, %y: memref<4x4xf32> {glow.name = "y", glow.qualifier = "out"})
    attributes {glow.arena_size = 128 : i64, glow.weights_size = 0 : i64} {
  %a = glow_inst.alloc_activation {offset = 0 : i64} : memref<4x8xf32>
  %right = glow_inst.tensor_view %x : memref<4x8xf32> to memref<4x4xf32, strided<[8, 1], offset: 4>>
  %part = glow_inst.tensor_view %a : memref<4x8xf32> to memref<4x4xf32, strided<[8, 1], offset: 2>>
  glow_inst.copy @out %part, @in %right : memref<4x4xf32, strided<[8, 1], offset: 2>>, memref<4x4xf32, strided<[8, 1], offset: 4>>
  glow_inst.copy @out %y, @in %part : memref<4x4xf32>, memref<4x4xf32, strided<[8, 1], offset: 2>>
  glow_inst.dealloc_activation %a : memref<4x8xf32>
  func.return
}

// CHECK:      func.func private @{{.*}}(%{{.*}}: memref<4x4xf32, strided<[8, 1]>>, %{{.*}}: memref<4x4xf32, strided<[8, 1], offset: 4>>)
// CHECK:      func.func @main
// CHECK:        %[[EIGHT:.*]] = arith.constant 8 : index
// CHECK-NEXT:   %[[BYTES:.*]] = memref.view %arena[%[[EIGHT]]][] : memref<128xi8> to memref<28xf32>
// CHECK-NEXT:   memref.reinterpret_cast %[[BYTES]] to offset: [0], sizes: [4, 4], strides: [8, 1] : memref<28xf32> to memref<4x4xf32, strided<[8, 1]>>
// CHECK-NEXT:   memref.reinterpret_cast %x to offset: [4], sizes: [4, 4], strides: [8, 1] : memref<4x8xf32> to memref<4x4xf32, strided<[8, 1], offset: 4>>

// -----

// A stacked body becomes arithmetic on vectors; a broadcast operand is loaded once for all lanes.
// In place, the lanes of the last vector that were visited before are not stored again.

func.func @main(%x: memref<2x24xf16> {glow.name = "x", glow.qualifier = "in"}, %y: memref<2x24xf16> {glow.name = "y", glow.qualifier = "out"})
    attributes {glow.arena_size = 0 : i64, glow.weights_size = 0 : i64} {
  %s = glow_inst.tensor_view %x : memref<2x24xf16> to memref<2x24xf16, strided<[24, 0]>>
  glow_inst.copy @out %y, @in %x : memref<2x24xf16>, memref<2x24xf16>
  glow_inst.stacked @inout %y, @in %s : memref<2x24xf16>, memref<2x24xf16, strided<[24, 0]>> {
  ^bb0(%0: f16, %1: f16):
    %2 = glow.mul %0, %1 : (f16, f16) -> f16
    %3 = glow.relu %2 : (f16) -> f16
    glow_inst.yield %3 : f16
  }
  func.return
}

// CHECK:      func.func private @k_stacked_
// CHECK-DAG:    %[[ZERO:.*]] = arith.constant dense<0.000000e+00> : vector<16xf32>
// CHECK-DAG:    %[[FRESH:.*]] = arith.constant dense<[false, false, false, false, false, false, false, false, true, true, true, true, true, true, true, true]> : vector<16xi1>
// CHECK:        scf.for
// CHECK:          %[[OLD:.*]] = vector.load %{{.*}}[%{{.*}}] : memref<48xf16>, vector<16xf16>
// CHECK-NEXT:     %[[A:.*]] = arith.extf %[[OLD]] : vector<16xf16> to vector<16xf32>
// CHECK-NEXT:     %[[S:.*]] = memref.load
// CHECK-NEXT:     %[[SF:.*]] = arith.extf %[[S]] : f16 to f32
// CHECK-NEXT:     %[[B:.*]] = vector.broadcast %[[SF]] : f32 to vector<16xf32>
// CHECK-NEXT:     %[[P:.*]] = arith.mulf %[[A]], %[[B]] : vector<16xf32>
// CHECK-NEXT:     %[[R:.*]] = arith.maximumf %[[P]], %[[ZERO]] fastmath<nsz> : vector<16xf32>
// CHECK-NEXT:     %[[T:.*]] = arith.truncf %[[R]] : vector<16xf32> to vector<16xf16>
// CHECK-NEXT:     vector.store %[[T]]
// CHECK:          vector.maskedstore %{{.*}}[%{{.*}}], %[[FRESH]], %{{.*}} : memref<48xf16>, vector<16xi1>, vector<16xf16>

// -----

// Unsigned integers and booleans are signless in memory; operations know the sign.

func.func @main(%x: memref<8xui8> {glow.name = "x", glow.qualifier = "in"}, %y: memref<8xi1> {glow.name = "y", glow.qualifier = "out"})
    attributes {glow.arena_size = 0 : i64, glow.weights_size = 0 : i64} {
  glow_inst.less @out %y, @in %x, @in %x : memref<8xi1>, memref<8xui8>, memref<8xui8>
  func.return
}

// CHECK:      func.func private @k_less_{{[0-9a-f]+}}(%[[Y:.*]]: memref<8xi8>, %[[A:.*]]: memref<8xi8>, %{{.*}}: memref<8xi8>)
// CHECK:        %[[V:.*]] = vector.load %[[A]]
// CHECK:        %[[M:.*]] = glow_vec.cmp ult %[[V]], %{{.*}} : vector<8xi8>, vector<8xi1>
// CHECK-NEXT:   %[[B:.*]] = glow_vec.cast extui %[[M]] : vector<8xi1> to vector<8xi8>
// CHECK-NEXT:   vector.store %[[B]], %[[Y]]

// -----

// Several rows of a product with one row share the loads of its left operand, in vectors along the sum. Their
// results become the lanes of one vector.

func.func @main(%x: memref<1x64xf32> {glow.name = "x", glow.qualifier = "in"}, %y: memref<1x4xf32> {glow.name = "y", glow.qualifier = "out"})
    attributes {glow.arena_size = 0 : i64, glow.weights_size = 1024 : i64} {
  %w = glow_inst.weight #glow.blob<"w.bin", 0, 1024> {offset = 0 : i64} : memref<4x64xf32>
  glow_inst.matmul @out %y, @in %x, @in %w transpose_rhs true : memref<1x4xf32>, memref<1x64xf32>, memref<4x64xf32>
  func.return
}

// CHECK:      func.func private @k_matmul_
// CHECK:        vector.fma
// CHECK:        vector.shuffle
// CHECK:        arith.addf %{{.*}}, %{{.*}} : vector<16xf32>
// CHECK:        vector.store %{{.*}} : memref<4xf32>, vector<4xf32>
