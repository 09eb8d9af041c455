// RUN: glow-opt %s --split-input-file --verify-diagnostics | filecheck %s

%m, %a = "test.op"() : () -> (vector<4xi1>, vector<8xf32>)
%0 = llvm.select %m, %a, %a : vector<4xi1>, vector<8xf32>
// CHECK: expected scalars or vectors of one shape, found vector<4xi1>, vector<8xf32>

// -----

%a = "test.op"() : () -> vector<8xi32>
%0 = llvm.uitofp %a : vector<8xi32> to f32
// CHECK: expected scalars or vectors of one shape, found vector<8xi32>, f32

// -----

%p, %m, %v = "test.op"() : () -> (!llvm.ptr, vector<4xi1>, vector<8xf32>)
llvm.intr.masked.store %v, %p, %m {alignment = 4 : i64} : vector<8xf32>, vector<4xi1> into !llvm.ptr
// CHECK: expected scalars or vectors of one shape

// -----

%p = "test.op"() : () -> !llvm.ptr
%0 = "llvm.getelementptr"(%p) <{elem_type = f32, noWrapFlags = 0 : i32, rawConstantIndices = array<i32: -2147483648>}> : (!llvm.ptr) -> !llvm.ptr
// CHECK: expected 1 index as operands, found 0

// -----

%a, %b = "test.op"() : () -> (vector<4xf32>, f32)
%0 = "llvm.fcmp"(%a, %a) <{predicate = 4 : i64}> : (vector<4xf32>, vector<4xf32>) -> i1
// CHECK: expected scalars or vectors of one shape, found vector<4xf32>, i1
