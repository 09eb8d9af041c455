// RUN: glow-opt %s --convert-to-llvm --split-input-file | filecheck %s
// RUN: glow-opt %s --convert-to-llvm --split-input-file | glow-opt --split-input-file | filecheck %s

// An inner loop adds its own index to pointers that outer loops compute. Rows that are a constant
// apart share a pointer.
func.func @rows(%a: memref<8x16xf32>, %c: memref<8xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c8 = arith.constant 8 : index
  %c16 = arith.constant 16 : index
  scf.for %i = %c0 to %c8 step %c2 {
    %i1 = arith.addi %i, %c1 : index
    scf.for %k = %c0 to %c16 step %c1 {
      %x = memref.load %a[%i, %k] : memref<8x16xf32>
      %y = memref.load %a[%i1, %k] : memref<8x16xf32>
      %z = arith.addf %x, %y : f32
      memref.store %z, %c[%i] : memref<8xf32>
    }
  }
  func.return
}
// CHECK-LABEL: llvm.func @rows
// CHECK-SAME:    (%a: !llvm.ptr {llvm.noalias}, %c: !llvm.ptr {llvm.noalias}) {
// CHECK:       ^bb1([[I:%[0-9]+]]: i64):
// CHECK-NEXT:    [[ROW:%[0-9]+]] = llvm.getelementptr %a[[[I]]] : (!llvm.ptr, i64) -> !llvm.ptr, !llvm.array<16 x f32>
// CHECK-NEXT:    [[OUT:%[0-9]+]] = llvm.getelementptr %c[[[I]]] : (!llvm.ptr, i64) -> !llvm.ptr, f32
// CHECK-NEXT:    llvm.br ^bb2
// CHECK-NEXT:  ^bb2([[K:%[0-9]+]]: i64):
// CHECK-NEXT:    [[X:%[0-9]+]] = llvm.getelementptr [[ROW]][[[K]]] : (!llvm.ptr, i64) -> !llvm.ptr, f32
// CHECK-NEXT:    llvm.load [[X]] {alignment = 4 : i64} : !llvm.ptr -> f32
// CHECK-NEXT:    [[Y:%[0-9]+]] = llvm.getelementptr [[X]][16] : (!llvm.ptr) -> !llvm.ptr, f32
// CHECK-NEXT:    llvm.load [[Y]]
// CHECK-NEXT:    llvm.fadd {{.*}} {fastmathFlags = #llvm.fastmath<contract>} : f32
// CHECK-NEXT:    llvm.store {{.*}}, [[OUT]]
// CHECK-NEXT:    llvm.add [[K]], {{%[0-9]+}} overflow<nsw> : i64
// CHECK-NEXT:    llvm.icmp "slt"
// CHECK-NEXT:    llvm.cond_br {{.*}}, ^bb2({{.*}}), ^bb3 {branch_weights = array<i32: 15, 1>}

// -----

// A loop that may run zero times is guarded; one that runs once is not a loop. Only of known numbers are there weights.
func.func @guard(%n: index, %x: memref<8xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %v = arith.constant 1.0 : f32
  scf.for %i = %c0 to %n step %c1 {
    memref.store %v, %x[%i] : memref<8xf32>
  }
  scf.for %i = %c1 to %c1 step %c1 {
    memref.store %v, %x[%i] : memref<8xf32>
  }
  scf.for %i = %c0 to %c1 step %c1 {
    memref.store %v, %x[%i] : memref<8xf32>
  }
  func.return
}
// CHECK-LABEL: llvm.func @guard
// CHECK:         [[G:%[0-9]+]] = llvm.icmp "slt" {{%[0-9]+}}, %n : i64
// CHECK-NEXT:    llvm.cond_br [[G]], ^bb1({{.*}}), ^bb2
// CHECK-NOT:     branch_weights
// CHECK:       ^bb2:
// CHECK-NEXT:    llvm.store {{.*}}, %x
// CHECK-NEXT:    llvm.return

// -----

func.func @branch(%c: i1, %x: f32) -> f32 {
  %r = scf.if %c -> (f32) {
    %y = arith.negf %x : f32
    scf.yield %y : f32
  } else {
    scf.yield %x : f32
  }
  func.return %r : f32
}
// CHECK-LABEL: llvm.func @branch(%c: i1, %x: f32) -> f32 {
// CHECK-NEXT:    llvm.cond_br %c, ^bb1, ^bb2
// CHECK-NEXT:  ^bb1:
// CHECK-NEXT:    [[N:%[0-9]+]] = llvm.fneg %x : f32
// CHECK-NEXT:    llvm.br ^bb3([[N]] : f32)
// CHECK-NEXT:  ^bb2:
// CHECK-NEXT:    llvm.br ^bb3(%x : f32)
// CHECK-NEXT:  ^bb3([[R:%[0-9]+]]: f32):
// CHECK-NEXT:    llvm.return [[R]] : f32

// -----

// A program gets an entry whose signature does not depend on the network.
func.func private @k(memref<4xf32>, memref<4xf32>)
func.func @main(%weights: memref<64xi8>, %x: memref<4xf32> {glow.name = "x"}, %arena: memref<128xi8>) {
  %c16 = arith.constant 16 : index
  %w = memref.view %weights[%c16][] : memref<64xi8> to memref<4xf32>
  func.call @k(%x, %w) : (memref<4xf32>, memref<4xf32>) -> ()
  func.return
}
// CHECK:       llvm.func @k(!llvm.ptr, !llvm.ptr)
// CHECK:       llvm.func @glow_program(%weights: !llvm.ptr {llvm.noalias, llvm.dereferenceable = 64 : i64}, %x: !llvm.ptr {llvm.noalias},
// CHECK-SAME:  %arena: !llvm.ptr {llvm.noalias, llvm.dereferenceable = 128 : i64}) {
// CHECK-NEXT:    [[W:%[0-9]+]] = llvm.getelementptr inbounds %weights[16] : (!llvm.ptr) -> !llvm.ptr, i8
// CHECK-NEXT:    llvm.call @k(%x, [[W]]) : (!llvm.ptr, !llvm.ptr) -> ()
// CHECK-NEXT:    llvm.return
// CHECK:       llvm.func @glow_main(%{{.*}}: !llvm.ptr, %io: !llvm.ptr, %{{.*}}: !llvm.ptr) {
// CHECK-NEXT:    [[X:%[0-9]+]] = llvm.load %io {alignment = 8 : i64} : !llvm.ptr -> !llvm.ptr
// CHECK-NEXT:    llvm.call @glow_program(%{{.*}}, [[X]], %{{.*}}) : (!llvm.ptr, !llvm.ptr, !llvm.ptr) -> ()
// CHECK-NEXT:    llvm.return

// -----

// A truth value is a byte in memory and a bit elsewhere.
func.func @truth(%x: memref<8xi1>) {
  %c0 = arith.constant 0 : index
  %v = vector.load %x[%c0] : memref<8xi1>, vector<8xi1>
  vector.store %v, %x[%c0] : memref<8xi1>, vector<8xi1>
  func.return
}
// CHECK-LABEL: llvm.func @truth
// CHECK:         [[B:%[0-9]+]] = llvm.load %x {alignment = 1 : i64} : !llvm.ptr -> vector<8xi8>
// CHECK-NEXT:    [[V:%[0-9]+]] = llvm.icmp "ne" [[B]], {{%[0-9]+}} : vector<8xi8>
// CHECK-NEXT:    [[S:%[0-9]+]] = llvm.zext [[V]] : vector<8xi1> to vector<8xi8>
// CHECK-NEXT:    llvm.store [[S]], %x {alignment = 1 : i64} : vector<8xi8>, !llvm.ptr

// -----

func.func @masked(%n: index, %x: memref<9xf32>, %v: vector<8xf32>) {
  %c1 = arith.constant 1 : index
  %m = vector.create_mask %n : vector<8xi1>
  vector.maskedstore %x[%c1], %m, %v : memref<9xf32>, vector<8xi1>, vector<8xf32>
  func.return
}
// CHECK-LABEL: llvm.func @masked
// CHECK:         [[M:%[0-9]+]] = llvm.icmp "slt" {{.*}} : vector<8xi32>
// CHECK-NEXT:    [[P:%[0-9]+]] = llvm.getelementptr inbounds %x[1] : (!llvm.ptr) -> !llvm.ptr, f32
// CHECK-NEXT:    llvm.intr.masked.store %v, [[P]], [[M]] {alignment = 4 : i64} : vector<8xf32>, vector<8xi1> into !llvm.ptr

// -----

// LLVM would make masked stores, which are slow on some processors, of what is stored where a part of it was loaded.
func.func @larger(%a: memref<8xf32>, %b: memref<8xf32>) {
  %c0 = arith.constant 0 : index
  %x = vector.load %a[%c0] : memref<8xf32>, vector<4xf32>
  %y = vector.load %b[%c0] : memref<8xf32>, vector<4xf32>
  %m = glow_vec.cmp olt %x, %y : vector<4xf32>, vector<4xi1>
  %z = glow_vec.select %m, %y, %x : vector<4xi1>, vector<4xf32>
  vector.store %z, %a[%c0] : memref<8xf32>, vector<4xf32>
  vector.store %y, %b[%c0] : memref<8xf32>, vector<4xf32>
  func.return
}
// CHECK-LABEL: llvm.func @larger
// CHECK:         [[A:%[0-9]+]] = llvm.load %a {alignment = 4 : i64} : !llvm.ptr -> vector<4xf32>
// CHECK-NEXT:    [[X:%[0-9]+]] = llvm.freeze [[A]] : vector<4xf32>
// CHECK-NEXT:    [[B:%[0-9]+]] = llvm.load %b {alignment = 4 : i64} : !llvm.ptr -> vector<4xf32>
// CHECK-NEXT:    [[Y:%[0-9]+]] = llvm.freeze [[B]] : vector<4xf32>
// CHECK-NEXT:    [[M:%[0-9]+]] = llvm.fcmp "olt" [[X]], [[Y]] : vector<4xf32>
// CHECK-NEXT:    llvm.select [[M]], [[Y]], [[X]] : vector<4xi1>, vector<4xf32>

// -----

// A sum is stored as it is.
func.func @sum(%a: memref<8xf32>) {
  %c0 = arith.constant 0 : index
  %x = vector.load %a[%c0] : memref<8xf32>, vector<4xf32>
  %z = arith.addf %x, %x : vector<4xf32>
  vector.store %z, %a[%c0] : memref<8xf32>, vector<4xf32>
  func.return
}
// CHECK-LABEL: llvm.func @sum
// CHECK-NOT:     llvm.freeze
