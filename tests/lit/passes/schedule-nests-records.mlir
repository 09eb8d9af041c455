// A value that is written to two neighbours becomes a record of two fields, which vectors interleave.
// RUN: glow-opt %s --schedule-nests | filecheck %s
// RUN: glow-opt %s --schedule-nests --generate-loops | filecheck %s --check-prefix=LOOPS

module attributes {glow.machine = #glow.machine<vector_bits = 256, vector_registers = 16>} {
  // CHECK:      kernel @k_twice(
  // CHECK-NEXT: parallel(ij: 240) reads(%in[ij]) writes(%out[2 * ij], %out[2 * ij + 1])
  // CHECK:      schedule<elementwise, order = [ij], vector = ij, lanes = 4>
  // LOOPS:      @k_twice
  // LOOPS:      vector.shuffle {{.*}} [0, 4, 1, 5, 2, 6, 3, 7]
  // LOOPS-NEXT: vector.store {{.*}} vector<8xf32>
  glow_nest.kernel @k_twice(%out: memref<6x80xf32>, %in: memref<6x40xf32>) {
    glow_nest.nest parallel(i: 6, j: 40, r: 2) reads(%in[40 * i + j]) writes(%out[80 * i + 2 * j + r]) raw
  }
  // The fields may come from different places, and depend on other operands.
  // CHECK:      kernel @k_transposed(
  // CHECK-NEXT: parallel(i: 6, j: 40) reads(%in[40 * i + j], %in_1[i], %in[40 * i + j + 240]) writes(%out[80 * i + 2 * j], %out[80 * i + 2 * j + 1])
  // CHECK:      glow.add %0, %1
  // CHECK:      glow.add %2, %1
  // CHECK:      schedule<elementwise, order = [i, j], vector = j, lanes = 4>
  glow_nest.kernel @k_transposed(%out: memref<6x80xf32>, %in: memref<2x6x40xf32>, %in_1: memref<6xf32>) {
    glow_nest.nest parallel(i: 6, j: 40, r: 2) reads(%in[240 * r + 40 * i + j], %in_1[i]) writes(%out[80 * i + 2 * j + r]) body {
    ^bb0(%0: f32, %1: f32):
      %2 = glow.add %0, %1 : (f32, f32) -> f32
      glow_nest.yield %2 : f32
    }
  }
  // Three neighbours stay a loop, and so do two of an operand whose elements are neighbours as well.
  // CHECK:      kernel @k_three_times(
  // CHECK-NEXT: parallel(ij: 240, r: 3)
  glow_nest.kernel @k_three_times(%out: memref<6x120xf32>, %in: memref<6x40xf32>) {
    glow_nest.nest parallel(i: 6, j: 40, r: 3) reads(%in[40 * i + j]) writes(%out[120 * i + 3 * j + r]) raw
  }
  // CHECK:      kernel @k_sum(
  // CHECK-NEXT: parallel(ij: 240, r: 2)
  glow_nest.kernel @k_sum(%out: memref<6x80xf32>, %in: memref<6x40xf32>, %in_1: memref<6x80xf32>) {
    glow_nest.nest parallel(i: 6, j: 40, r: 2) reads(%in[40 * i + j], %in_1[80 * i + 2 * j + r]) writes(%out[80 * i + 2 * j + r]) body {
    ^bb0(%0: f32, %1: f32):
      %2 = glow.add %0, %1 : (f32, f32) -> f32
      glow_nest.yield %2 : f32
    }
  }
  func.func @main(%x: memref<6x40xf32> {glow.name = "x", glow.qualifier = "in"}, %y: memref<6x80xf32> {glow.name = "y", glow.qualifier = "out"})
      attributes {glow.arena_size = 0 : i64, glow.arena_lower_bound = 0 : i64, glow.weights_size = 0 : i64} {
    glow_nest.call @k_twice(@out %y, @in %x) : memref<6x80xf32>, memref<6x40xf32>
    func.return
  }
}
