// RUN: glow-opt %s --set-machine="vector-bits=256 vector-registers=16 l1-bytes=32768" --build-nests --schedule-nests | filecheck %s

// The innermost loop of a transpose goes on along the lines that are written.

// CHECK: glow_nest.kernel @k_transpose
// CHECK: schedule<register_transpose, order = [i1, i2], vector = i2, lanes = 8, turned = i1>

// Lines that are a multiple of a page apart compete for places of the nearest cache. The loop goes on along these.

// CHECK: glow_nest.kernel @k_transpose
// CHECK: schedule<register_transpose, order = [i2, i1], vector = i2, lanes = 8, turned = i1>

// Eight of them have places enough.

// CHECK: glow_nest.kernel @k_transpose
// CHECK: schedule<register_transpose, order = [i1, i2], vector = i2, lanes = 8, turned = i1>

func.func @main(%x: memref<1x16x1000xf32> {glow.name = "x", glow.qualifier = "in"}, %u: memref<1x16x1024xf32> {glow.name = "u", glow.qualifier = "in"},
    %a: memref<1x8x1024xf32> {glow.name = "a", glow.qualifier = "in"},
    %y: memref<1x1000x16xf32> {glow.name = "y", glow.qualifier = "out"}, %v: memref<1x1024x16xf32> {glow.name = "v", glow.qualifier = "out"},
    %b: memref<1x1024x8xf32> {glow.name = "b", glow.qualifier = "out"}) {
  glow_inst.transpose @out %y, @in %x permutation [0, 2, 1] : memref<1x1000x16xf32>, memref<1x16x1000xf32>
  glow_inst.transpose @out %v, @in %u permutation [0, 2, 1] : memref<1x1024x16xf32>, memref<1x16x1024xf32>
  glow_inst.transpose @out %b, @in %a permutation [0, 2, 1] : memref<1x1024x8xf32>, memref<1x8x1024xf32>
  func.return
}
