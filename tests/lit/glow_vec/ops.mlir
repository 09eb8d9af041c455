// RUN: glow-opt %s | glow-opt | filecheck %s
// RUN: glow-opt %s --print-op-generic | glow-opt | filecheck %s

func.func @lanes(%m: vector<8xi1>, %a: vector<8xf32>, %b: vector<8xi8>, %n: vector<8xindex>) {
  %0 = glow_vec.select %m, %a, %a : vector<8xi1>, vector<8xf32>
  %1 = glow_vec.cast extsi %b : vector<8xi8> to vector<8xi32>
  %2 = glow_vec.cast sitofp %1 : vector<8xi32> to vector<8xf32>
  %4 = glow_vec.cast index_cast %n : vector<8xindex> to vector<8xi32>
  %5 = glow_vec.cmp olt %a, %2 : vector<8xf32>, vector<8xi1>
  %6 = glow_vec.remf %a, %2 : vector<8xf32>
  func.return
}
// CHECK-LABEL: func.func @lanes
// CHECK-NEXT: glow_vec.select %m, %a, %a : vector<8xi1>, vector<8xf32>
// CHECK-NEXT: [[W:%[0-9]+]] = glow_vec.cast extsi %b : vector<8xi8> to vector<8xi32>
// CHECK-NEXT: glow_vec.cast sitofp [[W]] : vector<8xi32> to vector<8xf32>
// CHECK-NEXT: glow_vec.cast index_cast %n : vector<8xindex> to vector<8xi32>
// CHECK-NEXT: glow_vec.cmp olt %a, {{%[0-9]+}} : vector<8xf32>, vector<8xi1>
// CHECK-NEXT: glow_vec.remf %a, {{%[0-9]+}} : vector<8xf32>

func.func @memory(%x: memref<4x9xf32>, %i: index, %o: vector<8xi32>, %m: vector<8xi1>, %v: vector<8xf32>) {
  %0 = glow_vec.gather %x[%i, %i] [%o], %m, %v : memref<4x9xf32>, vector<8xi32>, vector<8xi1>, vector<8xf32>
  glow_vec.prefetch %x[%i, %i] : memref<4x9xf32>
  glow_vec.prefetch %x[%i, %i] {locality = 1 : i32} : memref<4x9xf32>
  func.return
}
// CHECK-LABEL: func.func @memory
// CHECK-NEXT: glow_vec.gather %x[%i, %i] [%o], %m, %v : memref<4x9xf32>, vector<8xi32>, vector<8xi1>, vector<8xf32>
// CHECK-NEXT: glow_vec.prefetch %x[%i, %i] : memref<4x9xf32>
// CHECK-NEXT: glow_vec.prefetch %x[%i, %i] {locality = 1 : i32} : memref<4x9xf32>
