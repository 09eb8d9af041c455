// RUN: glow-opt %s | glow-opt | filecheck %s
// RUN: glow-opt %s --print-op-generic | glow-opt | filecheck %s
// RUN: glow-opt %s --convert-to-llvm | filecheck %s --check-prefix=LLVM
// RUN: glow-opt %s --convert-to-llvm -t glow-llvm-ir | filecheck %s --check-prefix=IR

func.func @dot(%x: memref<32xbf16>, %y: memref<16xf32>) {
  %c0 = arith.constant 0 : index
  %a = vector.load %x[%c0] : memref<32xbf16>, vector<32xbf16>
  %s = vector.load %y[%c0] : memref<16xf32>, vector<16xf32>
  %r = glow_vec.dot %s, %a, %a : vector<16xf32>, vector<32xbf16>
  vector.store %r, %y[%c0] : memref<16xf32>, vector<16xf32>
  func.return
}

// CHECK: %r = glow_vec.dot %s, %a, %a : vector<16xf32>, vector<32xbf16>
// LLVM: llvm.call_intrinsic "llvm.x86.avx512bf16.dpbf16ps.512"({{.*}}) : (vector<16xf32>, vector<32xbf16>, vector<32xbf16>) -> vector<16xf32>
// IR: call <16 x float> @llvm.x86.avx512bf16.dpbf16ps.512(<16 x float> {{.*}}, <32 x bfloat> {{.*}}, <32 x bfloat> {{.*}})
