// RUN: glow-opt %s | glow-opt | filecheck %s
// RUN: glow-opt %s --print-op-generic | glow-opt | filecheck %s
// RUN: glow-opt %s --convert-to-llvm | filecheck %s --check-prefix=LLVM
// RUN: glow-opt %s --convert-to-llvm -t glow-llvm-ir | filecheck %s --check-prefix=IR

func.func @products(%x: memref<4096xi8>, %w: memref<2048xi8>, %y: memref<512xi32>, %b: memref<64x32xbf16>) {
  %c0 = arith.constant 0 : index
  %c7 = arith.constant 7 : index
  glow_vec.tile_configure {rows = array<i64: 14, 14, 16, 0, 0, 0, 0, 3>, bytes = array<i64: 64, 64, 64, 0, 0, 0, 0, 12>}
  glow_vec.tile_zero 0
  glow_vec.tile_load 1, %x[%c7] {stride = 128 : i64} : memref<4096xi8>
  glow_vec.tile_load 2, %w[%c0] {stride = 64 : i64} : memref<2048xi8>
  glow_vec.tile_load 7, %b[%c7, %c0] {stride = 64 : i64} : memref<64x32xbf16>
  glow_vec.tile_dot u8_i8 0, 1, 2
  glow_vec.tile_dot i8_i8 0, 1, 2
  glow_vec.tile_dot i8_u8 0, 1, 2
  glow_vec.tile_dot u8_u8 0, 1, 2
  glow_vec.tile_dot bf16 0, 7, 2
  glow_vec.tile_store 0, %y[%c0] {stride = 64 : i64} : memref<512xi32>
  glow_vec.tile_release
  func.return
}

// CHECK: glow_vec.tile_configure {rows = array<i64: 14, 14, 16, 0, 0, 0, 0, 3>, bytes = array<i64: 64, 64, 64, 0, 0, 0, 0, 12>}
// CHECK-NEXT: glow_vec.tile_zero 0
// CHECK-NEXT: glow_vec.tile_load 1, %x[%c7] {stride = 128 : i64} : memref<4096xi8>
// CHECK-NEXT: glow_vec.tile_load 2, %w[%c0] {stride = 64 : i64} : memref<2048xi8>
// CHECK-NEXT: glow_vec.tile_load 7, %b[%c7, %c0] {stride = 64 : i64} : memref<64x32xbf16>
// CHECK-NEXT: glow_vec.tile_dot u8_i8 0, 1, 2
// CHECK: glow_vec.tile_dot bf16 0, 7, 2
// CHECK-NEXT: glow_vec.tile_store 0, %y[%c0] {stride = 64 : i64} : memref<512xi32>
// CHECK-NEXT: glow_vec.tile_release

// LLVM: llvm.call_intrinsic "llvm.x86.ldtilecfg"(%{{.*}}) : (!llvm.ptr) -> ()
// LLVM: llvm.call_intrinsic "llvm.x86.tilezero"(%{{.*}}) : (i8) -> ()

// IR: alloca i8, i64 64, align 64
// IR: store <64 x i8> <i8 1, i8 0, {{.*}}>, ptr %[[C:.*]], align
// IR: call void @llvm.x86.ldtilecfg(ptr %[[C]])
// IR: call void @llvm.x86.tilezero(i8 0)
// IR: call void @llvm.x86.tileloadd64(i8 1, ptr %{{.*}}, i64 128)
// IR: call void @llvm.x86.tileloadd64(i8 2, ptr %{{.*}}, i64 64)
// IR: call void @llvm.x86.tileloadd64(i8 7, ptr %{{.*}}, i64 64)
// IR: call void @llvm.x86.tdpbusd(i8 0, i8 1, i8 2)
// IR: call void @llvm.x86.tdpbssd(i8 0, i8 1, i8 2)
// IR: call void @llvm.x86.tdpbsud(i8 0, i8 1, i8 2)
// IR: call void @llvm.x86.tdpbuud(i8 0, i8 1, i8 2)
// IR: call void @llvm.x86.tdpbf16ps(i8 0, i8 7, i8 2)
// IR: call void @llvm.x86.tilestored64(i8 0, ptr %{{.*}}, i64 64)
// IR: call void @llvm.x86.tilerelease()
