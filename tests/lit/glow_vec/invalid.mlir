// RUN: glow-opt %s --split-input-file --verify-diagnostics | filecheck %s

%m, %a = "test.op"() : () -> (vector<4xi1>, vector<8xf32>)
%0 = glow_vec.select %m, %a, %a : vector<4xi1>, vector<8xf32>
// CHECK: expected 8 lanes, found vector<4xi1>

// -----

%a = "test.op"() : () -> vector<8xi32>
%0 = glow_vec.cast extsi %a : vector<8xi32> to vector<8xi8>
// CHECK: extsi does not convert vector<8xi32> to vector<8xi8>

// -----

%a = "test.op"() : () -> vector<8xf32>
%0 = glow_vec.cast sitofp %a : vector<8xf32> to vector<8xf32>
// CHECK: sitofp does not convert vector<8xf32> to vector<8xf32>

// -----

%a = "test.op"() : () -> vector<8xf32>
%0 = glow_vec.cast fptosi %a : vector<8xf32> to vector<4xi32>
// CHECK: expected 4 lanes, found vector<8xf32>

// -----

%a = "test.op"() : () -> vector<8xf32>
%0 = glow_vec.cmp slt %a, %a : vector<8xf32>, vector<8xi1>
// CHECK: slt does not compare vector<8xf32>

// -----

%x, %i, %o, %m, %v = "test.op"() : () -> (memref<4x9xf32>, index, vector<8xindex>, vector<8xi1>, vector<8xf32>)
%0 = glow_vec.gather %x[%i] [%o], %m, %v : memref<4x9xf32>, vector<8xindex>, vector<8xi1>, vector<8xf32>
// CHECK: expected 2 indices for memref<4x9xf32>, found 1

// -----

%x, %i, %o, %m, %v = "test.op"() : () -> (memref<9xf32>, index, vector<8xindex>, vector<8xi1>, vector<8xi32>)
%0 = glow_vec.gather %x[%i] [%o], %m, %v : memref<9xf32>, vector<8xindex>, vector<8xi1>, vector<8xi32>
// CHECK: expected lanes of f32, found i32

// -----

%x, %o, %m, %v = "test.op"() : () -> (memref<f32>, vector<8xindex>, vector<8xi1>, vector<8xf32>)
%0 = glow_vec.gather %x[] [%o], %m, %v : memref<f32>, vector<8xindex>, vector<8xi1>, vector<8xf32>
// CHECK: expected a base of at least one dimension, found memref<f32>

// -----

%x, %i = "test.op"() : () -> (memref<9xf32>, index)
glow_vec.prefetch %x[%i] {locality = 4 : i32} : memref<9xf32>
// CHECK: expected a locality of 0 to 3

// -----

%a = "test.op"() : () -> vector<2x4xi32>
%0 = glow_vec.cast sitofp %a : vector<2x4xi32> to vector<2x4xf32>
// CHECK: expected a vector of one dimension, found vector<2x4xf32>

// -----

%t, %i = "test.op"() : () -> (vector<128xi8>, vector<64xi8>)
%0 = glow_vec.lookup vpermi2b %t, %i : vector<128xi8>, vector<64xi8>
// CHECK: expected a table of 256 bytes and 16, 32, 64 indices, found vector<128xi8> and vector<64xi8>

// -----

%t, %i = "test.op"() : () -> (vector<256xi8>, vector<32xi8>)
%0 = glow_vec.lookup tbl %t, %i : vector<256xi8>, vector<32xi8>
// CHECK: expected a table of 256 bytes and 16 indices, found vector<256xi8> and vector<32xi8>
