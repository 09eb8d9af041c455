// RUN: glow-opt %s --build-nests --split-input-file | filecheck %s

// Operands say where the loop over rows begins and ends.
func.func @main(%x: memref<50x16xf32> {glow.name = "x", glow.qualifier = "in"}, %n: memref<6xi64> {glow.name = "n", glow.qualifier = "in"}, %y: memref<5x16xf32> {glow.name = "y", glow.qualifier = "out"}) {
  glow_inst.generic @out %y, @in %x, @in %n formula "y[r, c] = max(i) (x[i, c] if n[r] <= i and i < n[r + 1] else -inf) for r < 5" : memref<5x16xf32>, memref<50x16xf32>, memref<6xi64>
  func.return
}

// CHECK:      glow_nest.nest parallel(r: 5, c: 16) reduce(i: 50) range i from %in_1[r] to %in_1[r + 1] maximum f32 of(%in[16 * i + c])
// CHECK-NOT:  glow.select
// CHECK:      glow_nest.call

// -----

// The value elsewhere is not the identity of the reduction.
func.func @main(%x: memref<50x16xf32> {glow.name = "x", glow.qualifier = "in"}, %n: memref<6xi64> {glow.name = "n", glow.qualifier = "in"}, %y: memref<5x16xf32> {glow.name = "y", glow.qualifier = "out"}) {
  glow_inst.generic @out %y, @in %x, @in %n formula "y[r, c] = max(i) (x[i, c] if n[r] <= i and i < n[r + 1] else 0) for r < 5" : memref<5x16xf32>, memref<50x16xf32>, memref<6xi64>
  func.return
}

// CHECK-NOT:  range
// CHECK:      glow.select
// CHECK:      glow_nest.call

// -----

// Vectors along the loop look at more elements in a step than the bound leaves out.
func.func @main(%x: memref<3x50xf32> {glow.name = "x", glow.qualifier = "in"}, %n: memref<3xi64> {glow.name = "n", glow.qualifier = "in"}, %y: memref<3xf32> {glow.name = "y", glow.qualifier = "out"}) {
  glow_inst.generic @out %y, @in %x, @in %n formula "y[r] = sum(i) (x[r, i] if i < n[r] else 0)" : memref<3xf32>, memref<3x50xf32>, memref<3xi64>
  func.return
}

// CHECK-NOT:  range
// CHECK:      glow.select
// CHECK:      glow_nest.call
