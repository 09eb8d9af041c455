// RUN: glow-opt %s --split-input-file --verify-diagnostics | filecheck %s

%p, %v = "test.op"() : () -> (!llvm.ptr, i32)
%0 = llvm.atomicrmw add %p, %v unordered : !llvm.ptr, i32
// CHECK: expected at least monotonic ordering

// -----

%p, %v = "test.op"() : () -> (!llvm.ptr, i32)
%0 = "llvm.atomicrmw"(%p, %v) <{bin_op = 77 : i64, ordering = 7 : i64}> : (!llvm.ptr, i32) -> i32
// CHECK: no atomic operation has number 77

// -----

%p, %v = "test.op"() : () -> (!llvm.ptr, i32)
%0 = "llvm.atomicrmw"(%p, %v) <{bin_op = 1 : i64, ordering = 7 : i64}> : (!llvm.ptr, i32) -> i64
// CHECK: expected a result of type i32
