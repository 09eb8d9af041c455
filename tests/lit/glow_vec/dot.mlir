// RUN: glow-opt %s | glow-opt | filecheck %s
// RUN: glow-opt %s --print-op-generic | glow-opt | filecheck %s
// RUN: glow-opt %s --convert-to-llvm | filecheck %s --check-prefix=LLVM
// RUN: glow-opt %s --convert-to-llvm -t glow-llvm-ir | filecheck %s --check-prefix=IR

func.func @dot(%x: memref<32xbf16>, %y: memref<16xf32>) {
  %c0 = arith.constant 0 : index
  %a = vector.load %x[%c0] : memref<32xbf16>, vector<32xbf16>
  %s = vector.load %y[%c0] : memref<16xf32>, vector<16xf32>
  %r = glow_vec.dot dpbf16ps %s, %a, %a : vector<16xf32>, vector<32xbf16>
  vector.store %r, %y[%c0] : memref<16xf32>, vector<16xf32>
  func.return
}

// CHECK: %r = glow_vec.dot dpbf16ps %s, %a, %a : vector<16xf32>, vector<32xbf16>
// LLVM: llvm.call_intrinsic "llvm.x86.avx512bf16.dpbf16ps.512"({{.*}}) : (vector<16xf32>, vector<32xbf16>, vector<32xbf16>) -> vector<16xf32>
// IR: call <16 x float> @llvm.x86.avx512bf16.dpbf16ps.512(<16 x float> {{.*}}, <32 x bfloat> {{.*}}, <32 x bfloat> {{.*}})

func.func @bytes(%x: memref<64xi8>, %y: memref<16xi32>) {
  %c0 = arith.constant 0 : index
  %a = vector.load %x[%c0] : memref<64xi8>, vector<64xi8>
  %s = vector.load %y[%c0] : memref<16xi32>, vector<16xi32>
  %r = glow_vec.dot vpdpbusd %s, %a, %a : vector<16xi32>, vector<64xi8>
  vector.store %r, %y[%c0] : memref<16xi32>, vector<16xi32>
  %b = vector.load %x[%c0] : memref<64xi8>, vector<16xi8>
  %t = vector.load %y[%c0] : memref<16xi32>, vector<4xi32>
  %u = glow_vec.dot sdot %t, %b, %b : vector<4xi32>, vector<16xi8>
  %v = glow_vec.dot usdot %u, %b, %b : vector<4xi32>, vector<16xi8>
  vector.store %v, %y[%c0] : memref<16xi32>, vector<4xi32>
  func.return
}

// CHECK: glow_vec.dot vpdpbusd %s, %a, %a : vector<16xi32>, vector<64xi8>
// CHECK: glow_vec.dot sdot %t, %b, %b : vector<4xi32>, vector<16xi8>
// CHECK: glow_vec.dot usdot %u, %b, %b : vector<4xi32>, vector<16xi8>
// IR: call <16 x i32> @llvm.x86.avx512.vpdpbusd.512(<16 x i32> {{.*}}, <64 x i8> {{.*}}, <64 x i8> {{.*}})
// IR: call <4 x i32> @llvm.aarch64.neon.sdot.v4i32.v16i8(<4 x i32> {{.*}}, <16 x i8> {{.*}}, <16 x i8> {{.*}})
// IR: call <4 x i32> @llvm.aarch64.neon.usdot.v4i32.v16i8(<4 x i32> {{.*}}, <16 x i8> {{.*}}, <16 x i8> {{.*}})

// Pairs of 16 bits are products in 32 bits, of which even and odd ones are added.
func.func @pairs(%x: memref<8xi16>, %y: memref<4xi32>) {
  %c0 = arith.constant 0 : index
  %a = vector.load %x[%c0] : memref<8xi16>, vector<8xi16>
  %s = vector.load %y[%c0] : memref<4xi32>, vector<4xi32>
  %r = glow_vec.dot madd %s, %a, %a : vector<4xi32>, vector<8xi16>
  vector.store %r, %y[%c0] : memref<4xi32>, vector<4xi32>
  func.return
}

// IR-LABEL: @pairs(
// IR: sext <8 x i16> {{.*}} to <8 x i32>
// IR: mul <8 x i32>
// IR: shufflevector <8 x i32> {{.*}} <4 x i32> <i32 0, i32 2, i32 4, i32 6>
// IR: shufflevector <8 x i32> {{.*}} <4 x i32> <i32 1, i32 3, i32 5, i32 7>

// Pairs of bytes are products in 32 bits whose sums saturate to 16 bits.
func.func @saturated(%x: memref<16xi8>, %y: memref<8xi16>) {
  %c0 = arith.constant 0 : index
  %a = vector.load %x[%c0] : memref<16xi8>, vector<16xi8>
  %s = vector.load %y[%c0] : memref<8xi16>, vector<8xi16>
  %r = glow_vec.dot maddubs %s, %a, %a : vector<8xi16>, vector<16xi8>
  vector.store %r, %y[%c0] : memref<8xi16>, vector<8xi16>
  func.return
}

// IR-LABEL: @saturated(
// IR: zext <8 x i8> {{.*}} to <8 x i32>
// IR: sext <8 x i8> {{.*}} to <8 x i32>
// IR: call <8 x i32> @llvm.smax.v8i32
// IR: call <8 x i32> @llvm.smin.v8i32
// IR: trunc <8 x i32> {{.*}} to <8 x i16>
