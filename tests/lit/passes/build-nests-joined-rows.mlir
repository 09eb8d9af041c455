// RUN: glow-opt %s --build-nests | filecheck %s

// Rows in several dimensions are joined to one loop, if each operand steps through them evenly. The stride of a
// dimension of one element does not count: that of the bias is 0 in one dimension and 32 in the other.

// CHECK: glow_nest.kernel @k_packed_matmul
// CHECK: glow_nest.nest parallel(i: 8, j: 16)
// CHECK-SAME: reads(%in_2[16 * %{{.*}} + j])

// CHECK: glow_nest.kernel @k_packed_matmul
// CHECK: glow_nest.nest parallel(i: 6, j: 16)

// A bias for each batch is no even step.

// CHECK: glow_nest.kernel @k_packed_matmul
// CHECK: glow_nest.repeat %o0 to 2
// CHECK: glow_nest.nest parallel(i: 3, j: 16)

func.func @main(%x: memref<8x1x5xf32> {glow.name = "x", glow.qualifier = "in"},
    %u: memref<2x3x1x5xf32> {glow.name = "u", glow.qualifier = "in"}, %w: memref<2x5x16xf32> {glow.name = "w", glow.qualifier = "in"},
    %b: memref<32xf32> {glow.name = "b", glow.qualifier = "in"}, %c: memref<2x32xf32> {glow.name = "c", glow.qualifier = "in"},
    %y: memref<8x1x32xf32> {glow.name = "y", glow.qualifier = "out"}, %z: memref<2x3x1x32xf32> {glow.name = "z", glow.qualifier = "out"},
    %v: memref<2x3x1x32xf32> {glow.name = "v", glow.qualifier = "out"}) {
  %b_1 = glow_inst.tensor_view %b : memref<32xf32> to memref<8x1x32xf32, strided<[0, 32, 1]>>
  %b_2 = glow_inst.tensor_view %b : memref<32xf32> to memref<2x3x1x32xf32, strided<[0, 0, 32, 1]>>
  %c_1 = glow_inst.tensor_view %c : memref<2x32xf32> to memref<2x3x1x32xf32, strided<[32, 0, 7, 1]>>
  glow_inst.packed_matmul @out %y, @in %x, @in %w columns 32 : memref<8x1x32xf32>, memref<8x1x5xf32>, memref<2x5x16xf32> epilogue @in %b_1 : memref<8x1x32xf32, strided<[0, 32, 1]>> {
  ^bb0(%0: f32, %1: f32):
    %2 = glow.add %0, %1 : (f32, f32) -> f32
    glow_inst.yield %2 : f32
  }
  glow_inst.packed_matmul @out %z, @in %u, @in %w columns 32 : memref<2x3x1x32xf32>, memref<2x3x1x5xf32>, memref<2x5x16xf32> epilogue @in %b_2 : memref<2x3x1x32xf32, strided<[0, 0, 32, 1]>> {
  ^bb0(%0: f32, %1: f32):
    %2 = glow.add %0, %1 : (f32, f32) -> f32
    glow_inst.yield %2 : f32
  }
  glow_inst.packed_matmul @out %v, @in %u, @in %w columns 32 : memref<2x3x1x32xf32>, memref<2x3x1x5xf32>, memref<2x5x16xf32> epilogue @in %c_1 : memref<2x3x1x32xf32, strided<[32, 0, 7, 1]>> {
  ^bb0(%0: f32, %1: f32):
    %2 = glow.add %0, %1 : (f32, f32) -> f32
    glow_inst.yield %2 : f32
  }
  func.return
}
