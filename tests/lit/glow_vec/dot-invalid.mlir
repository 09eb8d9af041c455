// RUN: glow-opt %s --split-input-file --verify-diagnostics | filecheck %s

%s, %a = "test.op"() : () -> (vector<16xf32>, vector<16xbf16>)
%0 = glow_vec.dot dpbf16ps %s, %a, %a : vector<16xf32>, vector<16xbf16>
// CHECK: expected 4, 8, 16 lanes of f32 and 2 times as many of bf16, found vector<16xf32> and vector<16xbf16>

// -----

%s, %a = "test.op"() : () -> (vector<2xf32>, vector<4xbf16>)
%0 = glow_vec.dot dpbf16ps %s, %a, %a : vector<2xf32>, vector<4xbf16>
// CHECK: expected 4, 8, 16 lanes of f32 and 2 times as many of bf16, found vector<2xf32> and vector<4xbf16>

// -----

%s, %a = "test.op"() : () -> (vector<8xi32>, vector<32xi8>)
%0 = glow_vec.dot sdot %s, %a, %a : vector<8xi32>, vector<32xi8>
// CHECK: expected 2, 4 lanes of i32 and 4 times as many of i8, found vector<8xi32> and vector<32xi8>

// -----

%s, %a = "test.op"() : () -> (vector<8xi32>, vector<16xi16>)
%0 = glow_vec.dot vpdpbusd %s, %a, %a : vector<8xi32>, vector<16xi16>
// CHECK: expected 4, 8, 16 lanes of i32 and 4 times as many of i8, found vector<8xi32> and vector<16xi16>
