// RUN: glow-opt %s --build-nests --split-input-file | filecheck %s

// Windows along rows reach over the edges. Each channel has a padded copy of its own, because its windows are many.
func.func @main(%x: memref<1x3x33x40xf32> {glow.name = "x", glow.qualifier = "in"}, %y: memref<1x3x17x20xf32> {glow.name = "y", glow.qualifier = "out"}) {
  glow_inst.max_pool @out %y, @in %x kernel [3, 3] strides [2, 2] pads [1, 1, 1, 1] : memref<1x3x17x20xf32>, memref<1x3x33x40xf32>
  func.return
}

// CHECK-LABEL: glow_nest.kernel @k_max_pool_
// CHECK-NEXT:    %scratch = glow_nest.scratch : memref<1435xf32>
// CHECK:           glow_nest.repeat %c to 3 {
// CHECK:           glow_nest.nest parallel(d2: 33, d3: 40) reads(%in[3960 * %n + 1320 * %c + 40 * d2 + d3]) writes(%scratch[41 * d2 + d3 + 42]) raw
// CHECK-NEXT:      glow_nest.nest parallel(w0: 17, w1: 20) reduce(k0: 3, k1: 3) maximum f32 of(%scratch[82 * w0 + 41 * k0 + 2 * w1 + k1]) writes(%out[1020 * %n + 340 * %c + 20 * w0 + w1])

// -----

// Few windows of a channel do not repay a step.
func.func @main(%x: memref<1x3x5x40xf32> {glow.name = "x", glow.qualifier = "in"}, %y: memref<1x3x3x20xf32> {glow.name = "y", glow.qualifier = "out"}) {
  glow_inst.max_pool @out %y, @in %x kernel [3, 3] strides [2, 2] pads [1, 1, 1, 1] : memref<1x3x3x20xf32>, memref<1x3x5x40xf32>
  func.return
}

// CHECK-LABEL: glow_nest.kernel @k_max_pool_
// CHECK-NOT:     repeat
// CHECK:         glow_nest.nest parallel(n: 1, c: 3, w0: 3, w1: 20) reduce(k0: 3, k1: 3) maximum f32
