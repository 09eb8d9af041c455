// RUN: glow-opt %s --set-machine="vector-bits=512 vector-registers=32 l2-bytes=65536" --build-nests --schedule-nests | filecheck %s
// RUN: glow-opt %s --set-machine="vector-bits=512 vector-registers=32 l2-bytes=65536" --build-nests --schedule-nests --generate-loops | filecheck %s --check-prefix=LOOPS

// A sum of lanes has vectors of input channels, which are rows of windows. The image comes from far: the pixels of the
// next tile of 8 windows are prefetched, 16 elements each.

// CHECK: glow_nest.kernel @k_lane_sum_convolution
// CHECK: schedule<reduce, {{.*}}, prefetch_distance = {0: 128}, tile = {o: 3, w1: 8}
// LOOPS: func.func private @k_lane_sum_convolution
// LOOPS: glow_vec.prefetch

// Windows of one pixel do not overlap: the processor follows so few rows by itself.

// CHECK: glow_nest.kernel @k_lane_sum_convolution
// CHECK-NOT: prefetch
// CHECK: schedule<reduce

// An image that is near.

// CHECK: glow_nest.kernel @k_lane_sum_convolution
// CHECK-NOT: prefetch
// CHECK: schedule<reduce

func.func @main(%x: memref<1x2x66x66x16xf32> {glow.name = "x", glow.qualifier = "in"}, %small: memref<1x2x10x10x16xf32> {glow.name = "small", glow.qualifier = "in"},
    %a: memref<1x3x64x64xf32> {glow.name = "a", glow.qualifier = "out"}, %b: memref<1x3x66x66xf32> {glow.name = "b", glow.qualifier = "out"}, %c: memref<1x3x8x8xf32> {glow.name = "c", glow.qualifier = "out"})
    attributes {glow.arena_size = 0 : i64, glow.weights_size = 8192 : i64} {
  %w = glow_inst.weight dense<0.5> : tensor<3x2x3x3x16xf32> {offset = 0 : i64} : memref<3x2x3x3x16xf32>
  %v = glow_inst.weight dense<0.5> : tensor<3x2x1x1x16xf32> {offset = 4096 : i64} : memref<3x2x1x1x16xf32>
  %z = glow_inst.weight dense<0.5> : tensor<3xf32> {offset = 6144 : i64} : memref<3xf32>
  glow_inst.lane_sum_convolution @out %a, @in %x, @in %w, @in %z : memref<1x3x64x64xf32>, memref<1x2x66x66x16xf32>, memref<3x2x3x3x16xf32>, memref<3xf32>
  glow_inst.lane_sum_convolution @out %b, @in %x, @in %v, @in %z : memref<1x3x66x66xf32>, memref<1x2x66x66x16xf32>, memref<3x2x1x1x16xf32>, memref<3xf32>
  glow_inst.lane_sum_convolution @out %c, @in %small, @in %w, @in %z : memref<1x3x8x8xf32>, memref<1x2x10x10x16xf32>, memref<3x2x3x3x16xf32>, memref<3xf32>
  func.return
}
