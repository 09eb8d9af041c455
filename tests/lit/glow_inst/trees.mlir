// RUN: glow-opt %s | glow-opt | filecheck %s
// RUN: glow-opt %s --allocate --set-machine="vector-bits=256 vector-registers=16" --build-nests | filecheck %s --check-prefix=NEST
// RUN: glow-opt %s --allocate --set-machine="vector-bits=256 vector-registers=16" --build-nests="threads=2" --schedule-nests --divide-nests="threads=2" | filecheck %s --check-prefix=THREADS

// Decision trees: each step of all walks of a block is a nest, whose places depend on two indices in memory. The first
// thread takes all steps of a small block, so that no barrier stands in the loop over them.

func.func @main(%x: memref<2x5xf32>, %n: memref<80xi32>, %r: memref<3x2xi32>, %l: memref<9x1xf32>, %y: memref<2x1xf32>) {
  glow_inst.tree_ensemble @out %y, @in %x, @in %n, @in %r, @in %l walks [3, 4] : memref<2x1xf32>, memref<2x5xf32>, memref<80xi32>, memref<3x2xi32>, memref<9x1xf32>
  func.return
}

// CHECK: glow_inst.tree_ensemble @out %y, @in %x, @in %n, @in %r, @in %l walks [3, 4] : memref<2x1xf32>, memref<2x5xf32>, memref<80xi32>, memref<3x2xi32>, memref<9x1xf32>

// NEST:      glow_nest.repeat %step to 4 {
// NEST-NEXT:   glow_nest.nest parallel(t: 3, r: 2) reads(%in[10 * %block + 5 * r + 1 * index(%in_1[1 * index(%scratch_1[2 * t + r], 77, unsigned)], 5, unsigned)],
// NEST-SAME:   %in_1[1 * index(%scratch_1[2 * t + r], 77, unsigned) + 1], %in_1[1 * index(%scratch_1[2 * t + r], 77, unsigned) + 2])
// NEST-SAME:   writes(%scratch_1[2 * t + r]) in_place body {
// NEST:      reduce(i: 3) add f32 of(%in_3[w + 1 * index(%scratch[r + 2 * index(%in_2[2 * i + 2 * g + 1], 3, unsigned)], 9, unsigned)])

// THREADS:     glow_nest.repeat %step to 4 {
// THREADS-NEXT:  glow_nest.nest
