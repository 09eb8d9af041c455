// RUN: glow-opt %s --stack-ops="max-ops=2" | filecheck %s
// RUN: not glow-opt %s --stack-ops="max-ops=0" 2>&1 | filecheck %s --check-prefix=ZERO
// RUN: not glow-opt %s --stack-ops="epilogues=matmul,relu" 2>&1 | filecheck %s --check-prefix=NONE

// ZERO: expected a maximum of at least 1 operation, found 0
// NONE: expected operators that accept an epilogue, found relu

func.func @main(%x: memref<4xf32> {glow.qualifier = "in"}, %y: memref<4xf32> {glow.qualifier = "out"}) {
  %a = glow_inst.alloc_activation : memref<4xf32>
  glow_inst.exp @out %a, @in %x : memref<4xf32>, memref<4xf32>
  %b = glow_inst.alloc_activation : memref<4xf32>
  glow_inst.neg @out %b, @in %a : memref<4xf32>, memref<4xf32>
  glow_inst.dealloc_activation %a : memref<4xf32>
  glow_inst.relu @out %y, @in %b : memref<4xf32>, memref<4xf32>
  glow_inst.dealloc_activation %b : memref<4xf32>
  func.return
}

// CHECK: func.func @main(%x: memref<4xf32> {glow.qualifier = "in"}, %y: memref<4xf32> {glow.qualifier = "out"}) {
// CHECK-NEXT:   %b = glow_inst.alloc_activation : memref<4xf32>
// CHECK-NEXT:   glow_inst.stacked @out %b, @in %x : memref<4xf32>, memref<4xf32> {
// CHECK-NEXT:   ^bb0(%0: f32):
// CHECK-NEXT:     %1 = glow.exp %0 : (f32) -> f32
// CHECK-NEXT:     %2 = glow.neg %1 : (f32) -> f32
// CHECK-NEXT:     glow_inst.yield %2 : f32
// CHECK-NEXT:   }
// CHECK-NEXT:   glow_inst.relu @out %y, @in %b : memref<4xf32>, memref<4xf32>
// CHECK-NEXT:   glow_inst.dealloc_activation %b : memref<4xf32>
// CHECK-NEXT:   func.return
// CHECK-NEXT: }
