// RUN: glow-opt %s -p canonicalize,cse | filecheck %s

// Unused lanes go away and equal ones are computed once; hints stay.
func.func @f(%x: memref<9xf32>, %i: index, %o: vector<8xindex>, %m: vector<8xi1>, %a: vector<8xf32>, %n: vector<8xi32>) -> (vector<8xf32>, vector<8xf32>) {
  %unused = glow_vec.select %m, %a, %a : vector<8xi1>, vector<8xf32>
  %gathered = glow_vec.gather %x[%i] [%o], %m, %a : memref<9xf32>, vector<8xindex>, vector<8xi1>, vector<8xf32>
  %0 = glow_vec.cast sitofp %n : vector<8xi32> to vector<8xf32>
  %1 = glow_vec.cast sitofp %n : vector<8xi32> to vector<8xf32>
  glow_vec.prefetch %x[%i] : memref<9xf32>
  func.return %0, %1 : vector<8xf32>, vector<8xf32>
}
// CHECK:      func.func @f
// CHECK-NEXT:   [[R:%[0-9]+]] = glow_vec.cast sitofp %n
// CHECK-NEXT:   glow_vec.prefetch
// CHECK-NEXT:   func.return [[R]], [[R]]
