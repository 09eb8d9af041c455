// RUN: glow-opt %s | glow-opt | filecheck %s
// RUN: glow-opt %s --print-op-generic | glow-opt | filecheck %s

func.func @sparse(%x: memref<1x4xf32>, %w: memref<4x9xf32>, %b: memref<1x9xf32>, %y: memref<1x9xf32>) {
  glow_inst.sparse_vector_matmul @out %y, @in %x, @in %w : memref<1x9xf32>, memref<1x4xf32>, memref<4x9xf32> epilogue @in %b : memref<1x9xf32> {
  ^bb0(%a: f32, %c: f32):
    %s = glow.add %a, %c : (f32, f32) -> f32
    glow_inst.yield %s : f32
  }
  func.return
}

// CHECK:      func.func @sparse(
// CHECK-NEXT:     glow_inst.sparse_vector_matmul @out %y, @in %x, @in %w : memref<1x9xf32>, memref<1x4xf32>, memref<4x9xf32> epilogue @in %b : memref<1x9xf32> {
// CHECK-NEXT:     ^bb0(%a: f32, %c: f32):
// CHECK-NEXT:       %s = glow.add %a, %c : (f32, f32) -> f32
// CHECK-NEXT:       glow_inst.yield %s : f32
// CHECK-NEXT:     }
