// RUN: glow-opt %s | glow-opt | filecheck %s
// RUN: glow-opt %s --print-op-generic | glow-opt | filecheck %s

// Products of the halves and bytes of integers.

func.func @parts(%y: memref<3xi32>, %a: memref<3xi32>, %b: memref<3xi32>, %c: memref<3xi32>) {
  glow_inst.multiply_add_pairs @out %y, @in %a, @in %b, @in %c : memref<3xi32>, memref<3xi32>, memref<3xi32>, memref<3xi32>
  glow_inst.multiply_add_bytes @out %y, @in %a, @in %b, @in %c : memref<3xi32>, memref<3xi32>, memref<3xi32>, memref<3xi32>
  glow_inst.multiply_add_quads @out %y, @in %a, @in %b, @in %c : memref<3xi32>, memref<3xi32>, memref<3xi32>, memref<3xi32>
  func.return
}

// CHECK: glow_inst.multiply_add_pairs @out %y, @in %a, @in %b, @in %c : memref<3xi32>, memref<3xi32>, memref<3xi32>, memref<3xi32>
// CHECK: glow_inst.multiply_add_bytes @out %y, @in %a, @in %b, @in %c : memref<3xi32>, memref<3xi32>, memref<3xi32>, memref<3xi32>
// CHECK: glow_inst.multiply_add_quads @out %y, @in %a, @in %b, @in %c : memref<3xi32>, memref<3xi32>, memref<3xi32>, memref<3xi32>
