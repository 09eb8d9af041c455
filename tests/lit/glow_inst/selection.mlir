// RUN: glow-opt %s | glow-opt | filecheck %s
// RUN: glow-opt %s --print-op-generic | glow-opt | filecheck %s

// Instructions that choose among elements, and random bits.

func.func @main(%m: memref<5xi1>, %p: memref<5xi64>, %b: memref<1x6x4xf32>, %s: memref<1x3x6xf32>, %t: memref<1xf32>, %k: memref<1x3x2xi64>, %w: memref<4xui32>, %r: memref<4xui32>) {
  glow_inst.nonzero_places @out %p, @in %m : memref<5xi64>, memref<5xi1>
  glow_inst.non_max_suppression @out %k, @in %b, @in %s, @in %t, @in %t most 2 : memref<1x3x2xi64>, memref<1x6x4xf32>, memref<1x3x6xf32>, memref<1xf32>, memref<1xf32>
  glow_inst.random_bits @out %r, @in %w, @in %w, @in %w, @in %w second true : memref<4xui32>, memref<4xui32>, memref<4xui32>, memref<4xui32>, memref<4xui32>
  func.return
}

// CHECK:      glow_inst.nonzero_places @out %p, @in %m : memref<5xi64>, memref<5xi1>
// CHECK-NEXT: glow_inst.non_max_suppression @out %k, @in %b, @in %s, @in %t, @in %t most 2 : memref<1x3x2xi64>, memref<1x6x4xf32>, memref<1x3x6xf32>, memref<1xf32>, memref<1xf32>
// CHECK-NEXT: glow_inst.random_bits @out %r, @in %w, @in %w, @in %w, @in %w second true : memref<4xui32>, memref<4xui32>, memref<4xui32>, memref<4xui32>, memref<4xui32>
