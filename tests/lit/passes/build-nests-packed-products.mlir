// RUN: glow-opt %s --build-nests --split-input-file | filecheck %s

// The right one of two matrices of a batch is packed into panels. As many of its rows are copied at a time as the
// nearest cache has ways. Zeros fill the last vector of columns.
builtin.module attributes {glow.machine = #glow.machine<vector_bits = 256, vector_registers = 16>} {
  func.func @main(%x: memref<3x13x300xf32> {glow.name = "x", glow.qualifier = "in"}, %w: memref<3x300x29xf32> {glow.name = "w", glow.qualifier = "in"}, %y: memref<3x13x29xf32> {glow.name = "y", glow.qualifier = "out"}) {
    glow_inst.matmul @out %y, @in %x, @in %w : memref<3x13x29xf32>, memref<3x13x300xf32>, memref<3x300x29xf32>
    func.return
  }
}

// CHECK-LABEL: glow_nest.kernel @k_matmul_
// CHECK:         glow_nest.repeat %b0 to 3 {
// CHECK-NEXT:      glow_nest.repeat %d to 37 {
// CHECK-NEXT:        glow_nest.nest parallel(p: 1, t: 8, j: 16) reads(%in_1[8700 * %b0 + 232 * %d + 29 * t + 16 * p + j]) writes(%scratch[4800 * p + 128 * %d + 16 * t + j]) raw
// CHECK-NEXT:        glow_nest.nest parallel(t: 8, j: 13) reads(%in_1[8700 * %b0 + 232 * %d + 29 * t + j + 16]) writes(%scratch[128 * %d + 16 * t + j + 4800]) raw
// CHECK-NEXT:      }
// CHECK:           glow_nest.nest parallel(t: 300, e: 3) writes(%scratch[16 * t + e + 4813]) body {
// CHECK-NEXT:        %0 = glow.splat value 0 : f32
// CHECK:           reduce(t: 300) add f32 of(%in[{{.*}}], %scratch[4800 * %p + 16 * t + j])
// CHECK:           nest parallel(i: 13, j: 16) reduce(t: 300) add f32 of(%in[{{.*}}], %scratch[16 * t + j + 4800])

// -----

// The panels that stay in the second cache meet all rows before the next ones are packed.
builtin.module attributes {glow.machine = #glow.machine<vector_bits = 256, vector_registers = 16, l1_bytes = 16384, l2_bytes = 16384>} {
  func.func @main(%x: memref<16x64xf32> {glow.name = "x", glow.qualifier = "in"}, %w: memref<64x256xf32> {glow.name = "w", glow.qualifier = "in"}, %y: memref<16x256xf32> {glow.name = "y", glow.qualifier = "out"}) {
    glow_inst.matmul @out %y, @in %x, @in %w : memref<16x256xf32>, memref<16x64xf32>, memref<64x256xf32>
    func.return
  }
}

// CHECK-LABEL: glow_nest.kernel @k_matmul_
// CHECK:         glow_nest.repeat %c to 5 {
// CHECK-NEXT:      glow_nest.repeat %d to 16 {
// CHECK-NEXT:        glow_nest.nest parallel(p: 3, t: 4, j: 16) reads(%in_1[1024 * %d + 256 * t + 48 * %c + 16 * p + j]) writes(%scratch[1024 * p + 64 * %d + 16 * t + j]) raw
// CHECK:             writes(%out[{{.*}} + 48 * %c + {{.*}}])
// CHECK:         glow_nest.repeat %d_1 to 16 {

// -----

// A matrix that comes from memory has panels for fewer rows.
builtin.module attributes {glow.machine = #glow.machine<vector_bits = 256, vector_registers = 16, l3_bytes = 65536>} {
  func.func @main(%x: memref<4x300xf32> {glow.name = "x", glow.qualifier = "in"}, %w: memref<300x29xf32> {glow.name = "w", glow.qualifier = "in"}, %y: memref<4x29xf32> {glow.name = "y", glow.qualifier = "out"}) {
    glow_inst.matmul @out %y, @in %x, @in %w : memref<4x29xf32>, memref<4x300xf32>, memref<300x29xf32>
    func.return
  }
}

// CHECK-LABEL: glow_nest.kernel @k_matmul_
// CHECK:         glow_nest.scratch

// -----

// Few rows read the matrix where it is, those of a matrix that is stored transposed up to twice as many; and so do all
// rows if the matrix fits into the nearest cache.
builtin.module attributes {glow.machine = #glow.machine<vector_bits = 256, vector_registers = 16>} {
  func.func @main(%x: memref<3x11x300xf32> {glow.name = "x", glow.qualifier = "in"}, %w: memref<3x300x29xf32> {glow.name = "w", glow.qualifier = "in"}, %y: memref<3x11x29xf32> {glow.name = "y", glow.qualifier = "out"}) {
    glow_inst.matmul @out %y, @in %x, @in %w : memref<3x11x29xf32>, memref<3x11x300xf32>, memref<3x300x29xf32>
    func.return
  }
}

// CHECK-LABEL: glow_nest.kernel @k_matmul_
// CHECK-NOT:     glow_nest.scratch
// CHECK:         reduce(t: 300) add f32 of(%in[{{.*}}], %in_1[

// -----

builtin.module attributes {glow.machine = #glow.machine<vector_bits = 256, vector_registers = 16>} {
  func.func @main(%x: memref<3x23x300xf32> {glow.name = "x", glow.qualifier = "in"}, %w: memref<3x29x300xf32> {glow.name = "w", glow.qualifier = "in"}, %y: memref<3x23x29xf32> {glow.name = "y", glow.qualifier = "out"}) {
    glow_inst.matmul @out %y, @in %x, @in %w transpose_rhs true : memref<3x23x29xf32>, memref<3x23x300xf32>, memref<3x29x300xf32>
    func.return
  }
}

// CHECK-LABEL: glow_nest.kernel @k_matmul_
// CHECK-NOT:     glow_nest.scratch
// CHECK:         reduce(t: 300) add f32 of(%in[{{.*}}], %in_1[

// -----

builtin.module attributes {glow.machine = #glow.machine<vector_bits = 256, vector_registers = 16>} {
  func.func @main(%x: memref<3x64x64xf32> {glow.name = "x", glow.qualifier = "in"}, %w: memref<3x64x64xf32> {glow.name = "w", glow.qualifier = "in"}, %y: memref<3x64x64xf32> {glow.name = "y", glow.qualifier = "out"}) {
    glow_inst.matmul @out %y, @in %x, @in %w : memref<3x64x64xf32>, memref<3x64x64xf32>, memref<3x64x64xf32>
    func.return
  }
}

// CHECK-LABEL: glow_nest.kernel @k_matmul_
// CHECK-NOT:     glow_nest.scratch
// CHECK:         reduce(t: 64) add f32 of(%in[{{.*}}], %in_1[
