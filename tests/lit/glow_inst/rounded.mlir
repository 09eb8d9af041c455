// RUN: glow-opt %s | glow-opt | filecheck %s
// RUN: glow-opt %s --print-op-generic | glow-opt | filecheck %s

// Products of f32 whose factors are rounded to bf16, with an epilogue.

func.func @main(%x: memref<3x7xf32> {glow.name = "x", glow.qualifier = "in"}, %w: memref<5x7xf32> {glow.name = "w", glow.qualifier = "in"},
    %y: memref<3x5xf32> {glow.name = "y", glow.qualifier = "out"}) {
  glow_inst.rounded_matmul @out %y, @in %x, @in %w transpose_rhs true : memref<3x5xf32>, memref<3x7xf32>, memref<5x7xf32> epilogue {
  ^bb0(%0: f32):
    %1 = glow.relu %0 : (f32) -> f32
    glow_inst.yield %1 : f32
  }
  func.return
}

// CHECK:      func.func @main(
// CHECK-NEXT:   glow_inst.rounded_matmul @out %y, @in %x, @in %w transpose_rhs true : memref<3x5xf32>, memref<3x7xf32>, memref<5x7xf32> epilogue {
// CHECK-NEXT:   ^{{.*}}(%[[SUM:.*]]: f32):
// CHECK-NEXT:     %[[Y:.*]] = glow.relu %[[SUM]] : (f32) -> f32
// CHECK-NEXT:     glow_inst.yield %[[Y]] : f32
