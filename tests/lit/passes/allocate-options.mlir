// RUN: glow-opt %s --allocate="alignment=16" | filecheck %s
// RUN: not glow-opt %s --allocate="alignment=0" 2>&1 | filecheck %s --check-prefix=ZERO

// ZERO: expected an alignment of at least 1 byte, found 0

func.func @main(%x: memref<3xf32> {glow.qualifier = "in"}, %y: memref<3xf32> {glow.qualifier = "out"}) {
  %a = glow_inst.alloc_activation : memref<3xf32>
  glow_inst.copy @out %a, @in %x : memref<3xf32>, memref<3xf32>
  %b = glow_inst.alloc_activation : memref<3xf32>
  glow_inst.add @out %b, @in %a, @in %x : memref<3xf32>, memref<3xf32>, memref<3xf32>
  glow_inst.add @out %y, @in %a, @in %b : memref<3xf32>, memref<3xf32>, memref<3xf32>
  glow_inst.dealloc_activation %a : memref<3xf32>
  glow_inst.dealloc_activation %b : memref<3xf32>
  func.return
}

// CHECK: func.func @main(%x: memref<3xf32> {glow.qualifier = "in"}, %y: memref<3xf32> {glow.qualifier = "out"})
// CHECK-SAME: attributes {glow.arena_size = 32 : i64, glow.arena_lower_bound = 24 : i64, glow.weights_size = 0 : i64} {
// CHECK-NEXT:   %a = glow_inst.alloc_activation {offset = 0 : i64} : memref<3xf32>
// CHECK-NEXT:   glow_inst.copy @out %a, @in %x : memref<3xf32>, memref<3xf32>
// CHECK-NEXT:   %b = glow_inst.alloc_activation {offset = 16 : i64} : memref<3xf32>
// CHECK-NEXT:   glow_inst.add @out %b, @in %a, @in %x : memref<3xf32>, memref<3xf32>, memref<3xf32>
// CHECK-NEXT:   glow_inst.add @out %y, @in %a, @in %b : memref<3xf32>, memref<3xf32>, memref<3xf32>
// CHECK-NEXT:   glow_inst.dealloc_activation %a : memref<3xf32>
// CHECK-NEXT:   glow_inst.dealloc_activation %b : memref<3xf32>
// CHECK-NEXT:   func.return
// CHECK-NEXT: }
