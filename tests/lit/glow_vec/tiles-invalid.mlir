// RUN: glow-opt %s --split-input-file --verify-diagnostics | filecheck %s

glow_vec.tile_configure {rows = array<i64: 16, 16>, bytes = array<i64: 64, 64>}
// CHECK: expected rows and bytes of 8 tiles

// -----

glow_vec.tile_configure {rows = array<i64: 17, 0, 0, 0, 0, 0, 0, 0>, bytes = array<i64: 64, 0, 0, 0, 0, 0, 0, 0>}
// CHECK: expected up to 16 rows of up to 64 bytes, a multiple of 4, found 17 rows of 64 bytes

// -----

glow_vec.tile_configure {rows = array<i64: 16, 3, 0, 0, 0, 0, 0, 0>, bytes = array<i64: 64, 30, 0, 0, 0, 0, 0, 0>}
// CHECK: expected up to 16 rows of up to 64 bytes, a multiple of 4, found 3 rows of 30 bytes

// -----

glow_vec.tile_configure {rows = array<i64: 16, 0, 0, 0, 0, 0, 0, 0>, bytes = array<i64: 64, 64, 0, 0, 0, 0, 0, 0>}
// CHECK: found 0 rows of 64 bytes

// -----

glow_vec.tile_zero 8
// CHECK: expected a tile of 0 to 7, found 8

// -----

glow_vec.tile_dot u8_i8 0, 1, 1
// CHECK: expected three different tiles

// -----

%x, %i = "test.op"() : () -> (memref<4x64xi8>, index)
glow_vec.tile_load 0, %x[%i] {stride = 64 : i64} : memref<4x64xi8>
// CHECK: expected 2 indices for memref<4x64xi8>, found 1

// -----

%x, %i = "test.op"() : () -> (memref<64xi16>, index)
glow_vec.tile_store 0, %x[%i] {stride = 64 : i64} : memref<64xi16>
// CHECK: expected elements of i8, i32, f32 or bf16, found memref<64xi16>
