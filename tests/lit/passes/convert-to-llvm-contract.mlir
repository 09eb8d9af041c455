// RUN: glow-opt %s --convert-to-llvm | filecheck %s
// RUN: glow-opt %s --convert-to-llvm="contract=false" | filecheck %s --check-prefix=EXACT

func.func @f(%x: f32) -> f32 {
  %0 = arith.mulf %x, %x : f32
  %1 = arith.addf %0, %x fastmath<nsz> : f32
  func.return %1 : f32
}
// CHECK: llvm.fmul %x, %x {fastmathFlags = #llvm.fastmath<contract>} : f32
// CHECK: llvm.fadd {{.*}} {fastmathFlags = #llvm.fastmath<nsz,contract>} : f32
// EXACT: llvm.fmul %x, %x : f32
// EXACT: llvm.fadd {{.*}} {fastmathFlags = #llvm.fastmath<nsz>} : f32
