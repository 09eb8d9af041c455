// RUN: glow-opt %s -t llvm-ir | filecheck %s

llvm.func @loop(%x: !llvm.ptr {llvm.noalias}, %n: i64) {
  %0 = llvm.mlir.constant(0) : i64
  %1 = llvm.mlir.constant(1) : i64
  %v = llvm.mlir.constant(dense<0.5> : vector<4xf32>) : vector<4xf32>
  llvm.br ^body(%0 : i64)
^body(%i: i64):
  %p = llvm.getelementptr %x[%i] : (!llvm.ptr, i64) -> !llvm.ptr, !llvm.array<4 x f32>
  %a = llvm.load %p {alignment = 4 : i64} : !llvm.ptr -> vector<4xf32>
  %b = llvm.intr.fma(%a, %v, %v) : (vector<4xf32>, vector<4xf32>, vector<4xf32>) -> vector<4xf32>
  llvm.store %b, %p {alignment = 4 : i64} : vector<4xf32>, !llvm.ptr
  %next = llvm.add %i, %1 overflow<nsw> : i64
  %again = llvm.icmp "slt" %next, %n : i64
  llvm.cond_br %again, ^body(%next : i64), ^end
^end:
  llvm.return
}
// CHECK:      define void @loop(ptr noalias %v0, i64 %v1) nounwind {
// CHECK-NEXT: b0:
// CHECK-NEXT:   br label %b1
// CHECK-NEXT: b1:
// CHECK-NEXT:   %v2 = phi i64 [ 0, %b0 ], [ %v6, %b1 ]
// CHECK-NEXT:   %v3 = getelementptr [4 x float], ptr %v0, i64 %v2
// CHECK-NEXT:   %v4 = load <4 x float>, ptr %v3, align 4
// CHECK-NEXT:   %v5 = call <4 x float> @llvm.fma.v4f32(<4 x float> %v4, <4 x float> splat (float 0x3FE0000000000000), <4 x float> splat (float 0x3FE0000000000000))
// CHECK-NEXT:   store <4 x float> %v5, ptr %v3, align 4
// CHECK-NEXT:   %v6 = add nsw i64 %v2, 1
// CHECK-NEXT:   %v7 = icmp slt i64 %v6, %v1
// CHECK-NEXT:   br i1 %v7, label %b1, label %b2
// CHECK-NEXT: b2:
// CHECK-NEXT:   ret void
// CHECK-NEXT: }

// Branches tell LLVM how often they are taken; equal weights are one piece of metadata.
llvm.func @often(%n: i64) {
  %0 = llvm.mlir.constant(0) : i64
  %1 = llvm.mlir.constant(1) : i64
  llvm.br ^first(%0 : i64)
^first(%i: i64):
  %next = llvm.add %i, %1 : i64
  %again = llvm.icmp "slt" %next, %n : i64
  llvm.cond_br %again, ^first(%next : i64), ^second(%0 : i64) {branch_weights = array<i32: 7, 1>}
^second(%j: i64):
  %following = llvm.add %j, %1 : i64
  %more = llvm.icmp "slt" %following, %n : i64
  llvm.cond_br %more, ^second(%following : i64), ^third(%0 : i64) {branch_weights = array<i32: 511, 1>}
^third(%k: i64):
  %last = llvm.add %k, %1 : i64
  %most = llvm.icmp "slt" %last, %n : i64
  llvm.cond_br %most, ^third(%last : i64), ^end {branch_weights = array<i32: 7, 1>}
^end:
  llvm.return
}
// CHECK-LABEL: define void @often
// CHECK:       br i1 {{.*}}, label %b1, label %b2, !prof !0
// CHECK:       br i1 {{.*}}, label %b2, label %b3, !prof !1
// CHECK:       br i1 {{.*}}, label %b3, label %b4, !prof !0
// CHECK:       declare <4 x float> @llvm.fma.v4f32(<4 x float>, <4 x float>, <4 x float>)
// CHECK:       !0 = !{!"branch_weights", i32 7, i32 1}
// CHECK-NEXT:  !1 = !{!"branch_weights", i32 511, i32 1}
