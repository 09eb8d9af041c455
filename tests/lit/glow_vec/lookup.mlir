// RUN: glow-opt %s | glow-opt | filecheck %s
// RUN: glow-opt %s --print-op-generic | glow-opt | filecheck %s
// RUN: glow-opt %s --convert-to-llvm -t glow-llvm-ir | filecheck %s --check-prefix=IR

// The halves of the table, of which the highest bit of an index chooses one.
func.func @registers(%t: memref<256xi8>, %x: memref<64xi8>) {
  %c0 = arith.constant 0 : index
  %table = vector.load %t[%c0] : memref<256xi8>, vector<256xi8>
  %i = vector.load %x[%c0] : memref<64xi8>, vector<64xi8>
  %r = glow_vec.lookup vpermi2b %table, %i : vector<256xi8>, vector<64xi8>
  vector.store %r, %x[%c0] : memref<64xi8>, vector<64xi8>
  func.return
}

// CHECK-LABEL: @registers(
// CHECK: %r = glow_vec.lookup vpermi2b %table, %i : vector<256xi8>, vector<64xi8>
// IR-LABEL: @registers(
// IR-COUNT-2: call <64 x i8> @llvm.x86.avx512.vpermi2var.qi.512(<64 x i8> {{.*}}, <64 x i8> {{.*}}, <64 x i8> {{.*}})
// IR: icmp slt <64 x i8> {{.*}}, splat (i8 0)
// IR: select <64 x i1>

// Rows of 16 bytes; the first has nothing before it.
func.func @rows(%t: memref<256xi8>, %x: memref<32xi8>) {
  %c0 = arith.constant 0 : index
  %table = vector.load %t[%c0] : memref<256xi8>, vector<256xi8>
  %i = vector.load %x[%c0] : memref<32xi8>, vector<32xi8>
  %r = glow_vec.lookup pshufb %table, %i : vector<256xi8>, vector<32xi8>
  vector.store %r, %x[%c0] : memref<32xi8>, vector<32xi8>
  func.return
}

// CHECK-LABEL: @rows(
// CHECK: %r = glow_vec.lookup pshufb %table, %i : vector<256xi8>, vector<32xi8>
// IR-LABEL: @rows(
// IR: call <32 x i8> @llvm.x86.avx2.pshuf.b(<32 x i8> {{.*}}, <32 x i8> {{.*}})
// IR: call <32 x i8> @llvm.ssub.sat.v32i8(<32 x i8> {{.*}}, <32 x i8> {{.*}})
// IR-COUNT-15: call <32 x i8> @llvm.x86.avx2.pshuf.b(<32 x i8> {{.*}}, <32 x i8> {{.*}})

func.func @quarters(%t: memref<256xi8>, %x: memref<16xi8>) {
  %c0 = arith.constant 0 : index
  %table = vector.load %t[%c0] : memref<256xi8>, vector<256xi8>
  %i = vector.load %x[%c0] : memref<16xi8>, vector<16xi8>
  %r = glow_vec.lookup tbl %table, %i : vector<256xi8>, vector<16xi8>
  vector.store %r, %x[%c0] : memref<16xi8>, vector<16xi8>
  func.return
}

// CHECK-LABEL: @quarters(
// CHECK: %r = glow_vec.lookup tbl %table, %i : vector<256xi8>, vector<16xi8>
// IR-LABEL: @quarters(
// IR: call <16 x i8> @llvm.aarch64.neon.tbl4.v16i8(
// IR-COUNT-3: call <16 x i8> @llvm.aarch64.neon.tbx4.v16i8(
