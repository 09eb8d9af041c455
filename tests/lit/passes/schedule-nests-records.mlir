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
  // Three fields are a vector each. The first two are interleaved first, the third one among them.
  // CHECK:      kernel @k_three_times(
  // CHECK-NEXT: parallel(i1i2: 240) reads(%in[i1i2], %in[i1i2 + 240], %in[i1i2 + 480]) writes(%out[3 * i1i2], %out[3 * i1i2 + 1], %out[3 * i1i2 + 2])
  // CHECK:      schedule<elementwise, order = [i1i2], vector = i1i2, lanes = 8>
  // LOOPS:      @k_three_times
  // LOOPS:      vector.shuffle {{.*}} [0, 1, 16, 2, 3, 17, 4, 5, 18, 6, 7, 19, 8, 9, 20, 10, 11, 21, 12, 13, 22, 14, 15, 23]
  // LOOPS-NEXT: vector.store {{.*}} vector<24xf32>
  glow_nest.kernel @k_three_times(%out: memref<6x120xf32>, %in: memref<3x6x40xf32>) {
    glow_nest.nest parallel(i1: 6, i2: 40, r: 3) reads(%in[240 * r + 40 * i1 + i2]) writes(%out[120 * i1 + 3 * i2 + r]) raw
  }
  // Five neighbours stay a loop, and so do two of an operand whose elements are neighbours as well.
  // CHECK:      kernel @k_five_times(
  // CHECK-NEXT: parallel(ij: 240, r: 5)
  glow_nest.kernel @k_five_times(%out: memref<6x200xf32>, %in: memref<6x40xf32>) {
    glow_nest.nest parallel(i: 6, j: 40, r: 5) reads(%in[40 * i + j]) writes(%out[200 * i + 5 * j + r]) raw
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
