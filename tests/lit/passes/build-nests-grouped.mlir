// RUN: glow-opt %s --build-nests --split-input-file | filecheck %s

// Two matrices of bytes are multiplied in groups of four terms where the machine adds those. Rows whose terms are no
// whole groups are copied, with zeros behind them. Columns that fill no vector have a panel of their own.
builtin.module attributes {glow.machine = #glow.machine<vector_bits = 256, int8_dots = [vpdpbusd]>} {
  func.func @main(%x: memref<2x9x6xui8> {glow.name = "x", glow.qualifier = "in"}, %w: memref<2x6x19xi8> {glow.name = "w", glow.qualifier = "in"}, %y: memref<2x9x19xi32> {glow.name = "y", glow.qualifier = "out"}) {
    glow_inst.matmul @out %y, @in %x, @in %w : memref<2x9x19xi32>, memref<2x9x6xui8>, memref<2x6x19xi8>
    func.return
  }
}

// CHECK-LABEL: glow_nest.kernel @k_matmul_
// CHECK:         glow_nest.repeat %b0 to 2 {
// CHECK-NEXT:      glow_nest.nest parallel(i: 9, t: 6) reads(%in[54 * %b0 + 6 * i + t]) writes(%scratch[8 * i + t]) raw
// CHECK-NEXT:      glow_nest.nest parallel(i: 9, e: 2) writes(%scratch[8 * i + e + 6]) body {
// CHECK:           glow_nest.repeat %b to 1 {
// CHECK-NEXT:        glow_nest.nest parallel(g: 1, p: 2, j: 8) reads({{.*}}) writes(%scratch_1[64 * p + 32 * g + 4 * j], %scratch_1[64 * p + 32 * g + 4 * j + 1], %scratch_1[64 * p + 32 * g + 4 * j + 2], %scratch_1[64 * p + 32 * g + 4 * j + 3])
// CHECK:             glow_nest.nest parallel(p: 2, j: 8) reads(
// CHECK:             glow_nest.nest parallel(i: 9, p: 2, j: 8) reduce(g: 2) add i32 of(%scratch[8 * i + 4 * g], %scratch_1[64 * p + 32 * g + 4 * j]) terms 4 writes(%out[171 * %b0 + 19 * i + 16 * %b + 8 * p + j])
// CHECK:           glow_nest.nest parallel(i: 9, j: 8) reduce(g: 2) add i32 of(%scratch[8 * i + 4 * g], %scratch_2[32 * g + 4 * j]) terms 4 writes(%scratch_3[8 * i + j])
// CHECK-NEXT:      glow_nest.nest parallel(i: 9, c: 3) reads(%scratch_3[8 * i + c]) writes(%out[171 * %b0 + 19 * i + c + 16])

// -----

// Rows of whole groups are read where they are.
builtin.module attributes {glow.machine = #glow.machine<vector_bits = 256, int8_dots = [vpdpbusd]>} {
  func.func @main(%x: memref<4x8xui8> {glow.name = "x", glow.qualifier = "in"}, %w: memref<8x16xi8> {glow.name = "w", glow.qualifier = "in"}, %y: memref<4x16xi32> {glow.name = "y", glow.qualifier = "out"}) {
    glow_inst.matmul @out %y, @in %x, @in %w : memref<4x16xi32>, memref<4x8xui8>, memref<8x16xi8>
    func.return
  }
}

// CHECK-LABEL: glow_nest.kernel @k_matmul_
// CHECK-NOT:     reads(%in[
// CHECK:         reduce(g: 2) add i32 of(%in[8 * i + 4 * g], %scratch[64 * p + 32 * g + 4 * j]) terms 4

// -----

// Other machines, and signed bytes here, have groups of two, as 16 bits.
builtin.module attributes {glow.machine = #glow.machine<vector_bits = 256, int8_dots = [vpdpbusd]>} {
  func.func @main(%x: memref<4x8xi8> {glow.name = "x", glow.qualifier = "in"}, %w: memref<8x16xi8> {glow.name = "w", glow.qualifier = "in"}, %y: memref<4x16xi32> {glow.name = "y", glow.qualifier = "out"}) {
    glow_inst.matmul @out %y, @in %x, @in %w : memref<4x16xi32>, memref<4x8xi8>, memref<8x16xi8>
    func.return
  }
}

// CHECK-LABEL: glow_nest.kernel @k_matmul_
// CHECK:         %scratch = glow_nest.scratch : memref<32xi16>
// CHECK:         reduce(g: 4) add i32 of(%scratch[8 * i + 2 * g], %scratch_1[64 * p + 16 * g + 2 * j]) terms 2

// -----

// A few rows do not repay the copy, and sums of other integers have no groups.
builtin.module attributes {glow.machine = #glow.machine<vector_bits = 256, int8_dots = [vpdpbusd]>} {
  func.func @main(%x: memref<3x8xui8> {glow.name = "x", glow.qualifier = "in"}, %w: memref<8x16xi8> {glow.name = "w", glow.qualifier = "in"}, %v: memref<9x8xi32> {glow.name = "v", glow.qualifier = "in"}, %u: memref<8x16xi32> {glow.name = "u", glow.qualifier = "in"}, %y: memref<3x16xi32> {glow.name = "y", glow.qualifier = "out"}, %z: memref<9x16xi32> {glow.name = "z", glow.qualifier = "out"}) {
    glow_inst.matmul @out %y, @in %x, @in %w : memref<3x16xi32>, memref<3x8xui8>, memref<8x16xi8>
    glow_inst.matmul @out %z, @in %v, @in %u : memref<9x16xi32>, memref<9x8xi32>, memref<8x16xi32>
    func.return
  }
}

// CHECK-NOT: terms
