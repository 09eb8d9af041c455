// RUN: glow-opt %s --build-nests --split-input-file | filecheck %s

// Elements of an operand say what is read where they count from either end.
func.func @main(%x: memref<3x5xf32> {glow.name = "x", glow.qualifier = "in"}, %i: memref<3x17xi64> {glow.name = "i", glow.qualifier = "in"}, %y: memref<3x17xf32> {glow.name = "y", glow.qualifier = "out"}) {
  glow_inst.gather_elements @out %y, @in %x, @in %i axis 1 : memref<3x17xf32>, memref<3x5xf32>, memref<3x17xi64>
  func.return
}

// CHECK-LABEL: glow_nest.kernel @k_gather_elements_
// CHECK-NEXT:    glow_nest.nest parallel(a0: 3, j: 17) reads(%in[5 * a0 + 1 * index(%in_1[17 * a0 + j], 5)]) writes(%out[17 * a0 + j]) raw
// CHECK-NEXT:  }

// -----

// So do bytes that are never too large. Of signed ones, the upper half of the table is for the negative ones.
func.func @main(%x: memref<17xui8> {glow.name = "x", glow.qualifier = "in"}, %s: memref<17xi8> {glow.name = "s", glow.qualifier = "in"}, %t: memref<256xi8> {glow.name = "t", glow.qualifier = "in"}, %y: memref<17xi8> {glow.name = "y", glow.qualifier = "out"}, %z: memref<17xi8> {glow.name = "z", glow.qualifier = "out"}) {
  glow_inst.int_lookup_table @out %y, @in %x, @in %t : memref<17xi8>, memref<17xui8>, memref<256xi8>
  glow_inst.int_lookup_table @out %z, @in %s, @in %t : memref<17xi8>, memref<17xi8>, memref<256xi8>
  func.return
}

// CHECK-LABEL: glow_nest.kernel @k_int_lookup_table_
// CHECK-NEXT:    glow_nest.nest parallel(i0: 17) reads(%in_1[1 * index(%in[i0], 256, unsigned)]) writes(%out[i0]) raw
// CHECK-LABEL: glow_nest.kernel @k_int_lookup_table_
// CHECK-NEXT:    glow_nest.nest parallel(i0: 17) reads(%in_1[1 * index(%in[i0], 256)]) writes(%out[i0]) raw

// -----

// Other indices are computed first: once, if the operand that they come from repeats a row, and in
// i32 if that is wide enough.
func.func @main(%x: memref<3x5xf32> {glow.name = "x", glow.qualifier = "in"}, %i: memref<17xi64> {glow.name = "i", glow.qualifier = "in"}, %y: memref<3x17xf32> {glow.name = "y", glow.qualifier = "out"}) {
  %rows = glow_inst.tensor_view %i : memref<17xi64> to memref<3x17xi64, strided<[0, 1]>>
  glow_inst.generic @out %y, @in %x, @in %rows formula "y[a, j] = x[a, clamp(i[a, j] * 2, 0, 4)]" : memref<3x17xf32>, memref<3x5xf32>, memref<3x17xi64, strided<[0, 1]>>
  func.return
}

// CHECK-LABEL: glow_nest.kernel @k_generic_
// CHECK:         %scratch = glow_nest.scratch : memref<17xi32>
// CHECK-NEXT:    glow_nest.nest parallel(j: 17) reads(%in_1[j]) writes(%scratch[j]) body
// CHECK:         glow_nest.nest parallel(a: 3, j: 17) reads(%in[5 * a + 1 * index(%scratch[j], 5, unsigned)]) writes(%out[17 * a + j]) raw
