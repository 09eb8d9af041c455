// RUN: glow-opt %s --build-nests="threads=1" --split-reductions | filecheck %s --check-prefix=NESTS
// RUN: glow-opt %s --build-nests --split-reductions --schedule-nests | filecheck %s
// RUN: glow-opt %s --build-nests --split-reductions --schedule-nests | glow-opt --generate-loops | filecheck %s --check-prefix=LOOPS

// What nests compute has no word of a prefetch. Schedules have: of the next panel of weights, a line
// in each step of the products that meet the present one.

// NESTS-NOT: prefetch
// NESTS-NOT: schedule<

// CHECK: glow_nest.kernel @k_packed_matmul
// CHECK: glow_nest.repeat %p to 3 {
// CHECK: schedule<reduce, {{.*}}reduced = [t], prefetch_lines = <read = 1, first = 768 * %p + {{.*}} + 768>, tile =

// LOOPS: glow_vec.prefetch

// A few rows would read each line several times.

// CHECK: glow_nest.kernel @k_packed_matmul
// CHECK: glow_nest.repeat %p to 3 {
// CHECK: schedule<reduce, {{.*}}reduced = [t], tile =

func.func @main(%x: memref<64x16xf32> {glow.name = "x", glow.qualifier = "in"}, %v: memref<4x16xf32> {glow.name = "v", glow.qualifier = "in"},
    %y: memref<64x144xf32> {glow.name = "y", glow.qualifier = "out"}, %z: memref<4x144xf32> {glow.name = "z", glow.qualifier = "out"})
    attributes {glow.arena_size = 0 : i64, glow.weights_size = 9216 : i64} {
  %w = glow_inst.weight dense<0.5> : tensor<3x16x48xf32> {offset = 0 : i64} : memref<3x16x48xf32>
  glow_inst.packed_matmul @out %y, @in %x, @in %w columns 144 : memref<64x144xf32>, memref<64x16xf32>, memref<3x16x48xf32>
  glow_inst.packed_matmul @out %z, @in %v, @in %w columns 144 : memref<4x144xf32>, memref<4x16xf32>, memref<3x16x48xf32>
  func.return
}
