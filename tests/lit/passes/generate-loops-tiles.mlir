// RUN: glow-opt %s --irgen --eliminate-copies --allocate --set-machine="has-int8-tiles=true int8-dots=vpdpbusd" --generate-loops | filecheck %s
// RUN: glow-opt %s --irgen --eliminate-copies --allocate --set-machine="int8-dots=vpdpbusd" --generate-loops | filecheck %s --check-prefix=VECTORS

// 20 rows are two tiles of ten, 32 columns two panels of 16, and 64 terms one step.

func.func @main(%x: tensor<20x64xui8> {glow.name = "x"}, %w: tensor<2x16x16x4xi8> {glow.name = "w"}) -> (tensor<20x32xi32> {glow.name = "y"}) {
  %y = glow_cpu.dot_matmul %x, %w columns 32 : (tensor<20x64xui8>, tensor<2x16x16x4xi8>) -> tensor<20x32xi32>
  func.return %y : tensor<20x32xi32>
}

// CHECK:      [[X:%[0-9]+]] = memref.reinterpret_cast {{.*}} to memref<1280xi8>
// CHECK-NEXT: [[W:%[0-9]+]] = memref.reinterpret_cast {{.*}} to memref<2048xi8>
// CHECK-NEXT: [[S:%[0-9]+]] = memref.alloca() {alignment = 64 : i64} : memref<640xi32>
// CHECK-NEXT: glow_vec.tile_configure {rows = array<i64: 10, 10, 10, 10, 10, 10, 16, 16>, bytes = array<i64: 64, 64, 64, 64, 64, 64, 64, 64>}
// CHECK-NEXT: glow_vec.tile_zero 0
// CHECK-NEXT: glow_vec.tile_zero 1
// CHECK-NEXT: glow_vec.tile_zero 2
// CHECK-NEXT: glow_vec.tile_zero 3
// CHECK-NEXT: glow_vec.tile_load 6, [[W]][{{.*}}] {stride = 64 : i64} : memref<2048xi8>
// CHECK-NEXT: glow_vec.tile_load 7, [[W]][{{.*}}] {stride = 64 : i64} : memref<2048xi8>
// CHECK-NEXT: glow_vec.tile_load 4, [[X]][{{.*}}] {stride = 64 : i64} : memref<1280xi8>
// CHECK-NEXT: glow_vec.tile_dot u8_i8 0, 4, 6
// CHECK-NEXT: glow_vec.tile_dot u8_i8 1, 4, 7
// CHECK-NEXT: glow_vec.tile_load 5, [[X]][{{.*}}] {stride = 64 : i64} : memref<1280xi8>
// CHECK-NEXT: glow_vec.tile_dot u8_i8 2, 5, 6
// CHECK-NEXT: glow_vec.tile_dot u8_i8 3, 5, 7
// CHECK-NEXT: glow_vec.tile_store 0, [[S]][{{.*}}] {stride = 128 : i64} : memref<640xi32>
// CHECK:      scf.for
// CHECK:      vector.store
// CHECK:      glow_vec.tile_release

// VECTORS-NOT: glow_vec.tile
// VECTORS: glow_vec.dot
// VECTORS-NOT: glow_vec.tile
