// RUN: glow-opt %s | glow-opt | filecheck %s
// RUN: glow-opt %s --print-op-generic | glow-opt | filecheck %s
// RUN: glow-opt %s --print-op-generic | filecheck %s --check-prefix=GENERIC

// An epilogue with a further operand, and one that accumulates in place.

func.func @epilogue(%x: memref<4x8xf32>, %w: memref<8x2xf32>, %y: memref<4x2xf32>, %r: memref<4x2xf32>) {
  glow_inst.matmul @out %y, @in %x, @in %w : memref<4x2xf32>, memref<4x8xf32>, memref<8x2xf32> epilogue @in %r : memref<4x2xf32> {
  ^bb0(%0: f32, %1: f32):
    %2 = glow.add %0, %1 : (f32, f32) -> f32
    glow_inst.yield %2 : f32
  }
  glow_inst.matmul @inout %y, @in %x, @in %w : memref<4x2xf32>, memref<4x8xf32>, memref<8x2xf32> epilogue {
  ^bb0(%0: f32, %1: f32):
    %2 = glow.add %0, %1 : (f32, f32) -> f32
    glow_inst.yield %2 : f32
  }
  func.return
}

// CHECK:      builtin.module {
// CHECK-NEXT:   func.func @epilogue(%x: memref<4x8xf32>, %w: memref<8x2xf32>, %y: memref<4x2xf32>, %r: memref<4x2xf32>) {
// CHECK-NEXT:     glow_inst.matmul @out %y, @in %x, @in %w : memref<4x2xf32>, memref<4x8xf32>, memref<8x2xf32> epilogue @in %r : memref<4x2xf32> {
// CHECK-NEXT:     ^bb0(%0: f32, %1: f32):
// CHECK-NEXT:       %2 = glow.add %0, %1 : (f32, f32) -> f32
// CHECK-NEXT:       glow_inst.yield %2 : f32
// CHECK-NEXT:     }
// CHECK-NEXT:     glow_inst.matmul @inout %y, @in %x, @in %w : memref<4x2xf32>, memref<4x8xf32>, memref<8x2xf32> epilogue {
// CHECK-NEXT:     ^bb0(%3: f32, %4: f32):
// CHECK-NEXT:       %5 = glow.add %3, %4 : (f32, f32) -> f32
// CHECK-NEXT:       glow_inst.yield %5 : f32
// CHECK-NEXT:     }
// CHECK-NEXT:     func.return
// CHECK-NEXT:   }
// CHECK-NEXT: }

// GENERIC: "glow_inst.matmul"(%y, %x, %w, %r) <{operandSegmentSizes = array<i32: 3, 1>, transpose_lhs = false, transpose_rhs = false}> ({
// GENERIC: %2 = "glow.add"(%0, %1) : (f32, f32) -> f32
// GENERIC: "glow_inst.yield"(%2) : (f32) -> ()
