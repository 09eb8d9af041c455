// RUN: glow-opt %s --split-input-file --verify-diagnostics | filecheck %s

%s, %a = "test.op"() : () -> (vector<16xf32>, vector<16xbf16>)
%0 = glow_vec.dot %s, %a, %a : vector<16xf32>, vector<16xbf16>
// CHECK: expected 4, 8 or 16 lanes of f32 and twice as many of bf16, found vector<16xf32> and vector<16xbf16>

// -----

%s, %a = "test.op"() : () -> (vector<2xf32>, vector<4xbf16>)
%0 = glow_vec.dot %s, %a, %a : vector<2xf32>, vector<4xbf16>
// CHECK: expected 4, 8 or 16 lanes of f32 and twice as many of bf16, found vector<2xf32> and vector<4xbf16>
