// RUN: glow-opt %s | glow-opt | filecheck %s
// RUN: glow-opt %s --print-op-generic | glow-opt | filecheck %s

// Instructions that look for elements, and that indices tell what to pick or replace; functions.

func.func @main(%x: memref<2x5xf32>, %i: memref<2x3xi64>, %g: memref<2x3xf32>, %n: memref<2xi64>, %t: memref<2x2xi64>, %r: memref<3xi32>, %s: memref<3xi32>, %u: memref<3x5xf32>, %y: memref<2x5xf32>, %b: memref<2x5xui8>, %c: memref<2x5xui8>, %l: memref<256xui8>) {
  glow_inst.gather_elements @out %g, @in %x, @in %i axis 1 : memref<2x3xf32>, memref<2x5xf32>, memref<2x3xi64>
  glow_inst.arg_max @out %n, @in %x axis 1 : memref<2xi64>, memref<2x5xf32>
  glow_inst.arg_min @out %n, @in %x axis 1 last true : memref<2xi64>, memref<2x5xf32>
  glow_inst.top_indices @out %t, @in %x axis 1 k 2 : memref<2x2xi64>, memref<2x5xf32>
  glow_inst.cum_sum @out %y, @in %x axis 1 : memref<2x5xf32>, memref<2x5xf32>
  glow_inst.cum_prod @out %y, @in %x axis 0 reverse true : memref<2x5xf32>, memref<2x5xf32>
  glow_inst.scatter @out %y, @in %x, @in %r, @in %u reduction "max" : memref<2x5xf32>, memref<2x5xf32>, memref<3xi32>, memref<3x5xf32>
  glow_inst.int_lookup_table @out %c, @in %b, @in %l : memref<2x5xui8>, memref<2x5xui8>, memref<256xui8>
  glow_inst.asin @out %y, @in %x : memref<2x5xf32>, memref<2x5xf32>
  glow_inst.acos @out %y, @in %x : memref<2x5xf32>, memref<2x5xf32>
  glow_inst.atan @out %y, @in %x : memref<2x5xf32>, memref<2x5xf32>
  glow_inst.sinh @out %y, @in %x : memref<2x5xf32>, memref<2x5xf32>
  glow_inst.asinh @out %y, @in %x : memref<2x5xf32>, memref<2x5xf32>
  glow_inst.acosh @out %y, @in %x : memref<2x5xf32>, memref<2x5xf32>
  glow_inst.atanh @out %y, @in %x : memref<2x5xf32>, memref<2x5xf32>
  glow_inst.shift_left @out %s, @in %r, @in %r : memref<3xi32>, memref<3xi32>, memref<3xi32>
  func.return
}

// CHECK:      glow_inst.gather_elements @out %g, @in %x, @in %i axis 1 : memref<2x3xf32>, memref<2x5xf32>, memref<2x3xi64>
// CHECK-NEXT: glow_inst.arg_max @out %n, @in %x axis 1 : memref<2xi64>, memref<2x5xf32>
// CHECK-NEXT: glow_inst.arg_min @out %n, @in %x axis 1 last true : memref<2xi64>, memref<2x5xf32>
// CHECK-NEXT: glow_inst.top_indices @out %t, @in %x axis 1 k 2 : memref<2x2xi64>, memref<2x5xf32>
// CHECK-NEXT: glow_inst.cum_sum @out %y, @in %x axis 1 : memref<2x5xf32>, memref<2x5xf32>
// CHECK-NEXT: glow_inst.cum_prod @out %y, @in %x axis 0 reverse true : memref<2x5xf32>, memref<2x5xf32>
// CHECK-NEXT: glow_inst.scatter @out %y, @in %x, @in %r, @in %u reduction "max" : memref<2x5xf32>, memref<2x5xf32>, memref<3xi32>, memref<3x5xf32>
// CHECK-NEXT: glow_inst.int_lookup_table @out %c, @in %b, @in %l : memref<2x5xui8>, memref<2x5xui8>, memref<256xui8>
// CHECK-NEXT: glow_inst.asin @out %y, @in %x : memref<2x5xf32>, memref<2x5xf32>
// CHECK:      glow_inst.shift_left @out %s, @in %r, @in %r : memref<3xi32>, memref<3xi32>, memref<3xi32>
