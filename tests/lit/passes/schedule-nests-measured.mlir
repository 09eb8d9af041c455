// A schedule of a file goes before that of the cost model, in the kernel that it was measured in.
// RUN: python %S/Inputs/schedules.py 838b44ffb8e6542114347d0b "<reduce, order = [j, i], vector = j, lanes = 8, reduced = [k], tile = {i: 2}>" > %t
// RUN: glow-opt %s --schedule-nests="schedules=\"%t\"" | filecheck %s --check-prefix=FILE
// FILE:      glow_nest.kernel @k_product(
// FILE-NEXT: {{.*}} schedule<reduce, order = [j, i], vector = j, lanes = 8, reduced = [k], tile = {i: 2}>
// FILE:      glow_nest.kernel @k_other(
// FILE-NEXT: {{.*}} schedule<reduce, order = [i, j], vector = j, lanes = 8, reduced = [k], tile = {j: 2, i: 4}>
// FILE:      glow_nest.kernel @k_has_one(
// FILE-NEXT: {{.*}} schedule<reduce, order = [i, j], vector = j, lanes = 8, reduced = [k]>

// That of the model is chosen if the schedule does not fit.
// RUN: python %S/Inputs/schedules.py 838b44ffb8e6542114347d0b "<reduce, order = [j, n], reduced = [k]>" > %t
// RUN: glow-opt %s --schedule-nests="schedules=\"%t\"" -o %t.mlir 2>&1 | filecheck %s --check-prefix=LOOPS
// LOOPS: kernel @k_product, nest 0: the measured schedule is ignored: expected the loops i, j, k, found n
// RUN: filecheck %s --check-prefix=MODEL < %t.mlir
// MODEL:      glow_nest.kernel @k_product(
// MODEL-NEXT: {{.*}} schedule<reduce, order = [i, j], vector = j, lanes = 8, reduced = [k], tile = {j: 2, i: 4}>

// What is no schedule, and what is no file of schedules, is an error.
// RUN: python %S/Inputs/schedules.py 838b44ffb8e6542114347d0b "<fast>" > %t
// RUN: not glow-opt %s --schedule-nests="schedules=\"%t\"" 2>&1 | filecheck %s --check-prefix=TEXT
// TEXT: kernel @k_product, nest 0: expected the text of a schedule, found '<fast>'
// RUN: not glow-opt %s --schedule-nests="schedules=\"%s\"" 2>&1 | filecheck %s --check-prefix=BROKEN
// BROKEN: schedule-nests-measured.mlir: expected schedules that glow-tune wrote, but it is no JSON

module attributes {glow.machine = #glow.machine<vector_bits = 256, vector_registers = 16>} {
  glow_nest.kernel @k_product(%y: memref<8x16xf32>, %x: memref<8x32xf32>, %w: memref<32x16xf32>) {
    glow_nest.nest parallel(i: 8, j: 16) reduce(k: 32) add f32 of(%x[32 * i + k], %w[16 * k + j]) writes(%y[16 * i + j])
  }
  glow_nest.kernel @k_other(%y: memref<8x16xf32>, %x: memref<8x48xf32>, %w: memref<48x16xf32>) {
    glow_nest.nest parallel(i: 8, j: 16) reduce(k: 48) add f32 of(%x[48 * i + k], %w[16 * k + j]) writes(%y[16 * i + j])
  }
  glow_nest.kernel @k_has_one(%y: memref<8x16xf32>, %x: memref<8x32xf32>, %w: memref<32x16xf32>) {
    glow_nest.nest parallel(i: 8, j: 16) reduce(k: 32) add f32 of(%x[32 * i + k], %w[16 * k + j]) writes(%y[16 * i + j]) schedule<reduce, order = [i, j], vector = j, lanes = 8, reduced = [k]>
  }
}
