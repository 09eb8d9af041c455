// RUN: glow-opt %s | glow-opt | filecheck %s
// RUN: glow-opt %s --print-op-generic | glow-opt | filecheck %s
// RUN: glow-opt %s -t llvm-ir | filecheck %s --check-prefix=IR

// CHECK-LABEL: llvm.func @f
// CHECK-NEXT: {{%[0-9]+}} = llvm.load %p atomic acquire {alignment = 4 : i64} : !llvm.ptr -> i32
// CHECK-NEXT: {{%[0-9]+}} = llvm.atomicrmw add %p, {{%[0-9]+}} seq_cst : !llvm.ptr, i32
// CHECK-NEXT: {{%[0-9]+}} = llvm.atomicrmw _and %p, %i acq_rel : !llvm.ptr, i32
// CHECK-NEXT: {{%[0-9]+}} = llvm.atomicrmw xchg %p, %i monotonic : !llvm.ptr, i32
// CHECK-NEXT: llvm.call %g(%p, {{%[0-9]+}}) : !llvm.ptr, (!llvm.ptr, i32) -> ()
// CHECK-NEXT: {{%[0-9]+}} = llvm.call %g() : !llvm.ptr, () -> i32

// IR: define i32 @f(ptr [[P:%v[0-9]+]], ptr [[G:%v[0-9]+]], i32 [[I:%v[0-9]+]])
// IR: [[A:%v[0-9]+]] = load atomic i32, ptr [[P]] acquire, align 4
// IR: [[B:%v[0-9]+]] = atomicrmw add ptr [[P]], i32 [[A]] seq_cst
// IR: atomicrmw and ptr [[P]], i32 [[I]] acq_rel
// IR: atomicrmw xchg ptr [[P]], i32 [[I]] monotonic
// IR: call void [[G]](ptr [[P]], i32 [[B]])
// IR: call i32 [[G]]()
llvm.func @f(%p: !llvm.ptr, %g: !llvm.ptr, %i: i32) -> i32 {
  %0 = llvm.load %p atomic acquire {alignment = 4 : i64} : !llvm.ptr -> i32
  %1 = llvm.atomicrmw add %p, %0 seq_cst : !llvm.ptr, i32
  %2 = llvm.atomicrmw _and %p, %i acq_rel : !llvm.ptr, i32
  %3 = llvm.atomicrmw xchg %p, %i monotonic : !llvm.ptr, i32
  llvm.call %g(%p, %1) : !llvm.ptr, (!llvm.ptr, i32) -> ()
  %4 = llvm.call %g() : !llvm.ptr, () -> i32
  llvm.return %4 : i32
}
