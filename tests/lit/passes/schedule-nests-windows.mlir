// RUN: glow-opt %s --schedule-nests | filecheck %s
// The innermost loop of a window that overlaps those of neighbours is unrolled.

builtin.module attributes {glow.machine = #glow.machine<vector_bits = 256, vector_registers = 16, has_fma = true>} {

// The loop has three vectors. A tile loads ten vectors for eight windows.
// CHECK-LABEL: @overlapping(
// CHECK:       unrolled = [k1]
// CHECK-SAME:  tile = {w: 8}
glow_nest.kernel @overlapping(%x: memref<58x58x8xf32>, %f: memref<3x3x8xf32>, %out: memref<56x56x8xf32>) {
  glow_nest.nest parallel(h: 56, w: 56, c: 8) reduce(k0: 3, k1: 3) add f32 of(%x[464 * h + 464 * k0 + 8 * w + 8 * k1 + c], %f[24 * k0 + 8 * k1 + c]) writes(%out[448 * h + 8 * w + c])
}

// Windows beside each other share nothing.
// CHECK-LABEL: @apart(
// CHECK-NOT:   unrolled
glow_nest.kernel @apart(%x: memref<58x168x8xf32>, %f: memref<3x3x8xf32>, %out: memref<56x56x8xf32>) {
  glow_nest.nest parallel(h: 56, w: 56, c: 8) reduce(k0: 3, k1: 3) add f32 of(%x[1344 * h + 1344 * k0 + 24 * w + 8 * k1 + c], %f[24 * k0 + 8 * k1 + c]) writes(%out[448 * h + 8 * w + c])
}

// The vectors of a window of five are more than a quarter of the registers.
// CHECK-LABEL: @long(
// CHECK-NOT:   unrolled
glow_nest.kernel @long(%x: memref<60x60x8xf32>, %f: memref<5x5x8xf32>, %out: memref<56x56x8xf32>) {
  glow_nest.nest parallel(h: 56, w: 56, c: 8) reduce(k0: 5, k1: 5) add f32 of(%x[480 * h + 480 * k0 + 8 * w + 8 * k1 + c], %f[40 * k0 + 8 * k1 + c]) writes(%out[448 * h + 8 * w + c])
}
}
