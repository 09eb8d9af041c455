// RUN: glow-opt %s | glow-opt | filecheck %s
// RUN: glow-opt %s --print-op-generic | glow-opt | filecheck %s

// Instructions on blocked channel layouts; convolutions and pools take epilogues.

func.func @blocked(%x: memref<1x24x9x9xf32>, %p: memref<1x2x9x9x16xf32>, %w: memref<3x2x3x3x16x16xf32>, %b: memref<3x16xf32>,
    %c: memref<1x3x7x7x16xf32>, %dw: memref<3x3x3x16xf32>, %d: memref<1x3x3x3x16xf32>, %m: memref<1x3x4x4x16xf32>, %u: memref<1x40x4x4xf32>,
    %nw: memref<2x3x3x3x16xf32>, %nb: memref<2xf32>, %s: memref<1x2x5x5xf32>) {
  glow_inst.pack_channels @out %p, @in %x block 16 : memref<1x2x9x9x16xf32>, memref<1x24x9x9xf32>
  glow_inst.blocked_convolution @out %c, @in %p, @in %w, @in %b : memref<1x3x7x7x16xf32>, memref<1x2x9x9x16xf32>, memref<3x2x3x3x16x16xf32>, memref<3x16xf32> epilogue {
  ^bb0(%e: f32):
    %r = glow.relu %e : (f32) -> f32
    glow_inst.yield %r : f32
  }
  glow_inst.blocked_depthwise_convolution @out %d, @in %c, @in %dw, @in %b dilations [2, 2] : memref<1x3x3x3x16xf32>, memref<1x3x7x7x16xf32>, memref<3x3x3x16xf32>, memref<3x16xf32>
  glow_inst.lane_sum_convolution @out %s, @in %c, @in %nw, @in %nb : memref<1x2x5x5xf32>, memref<1x3x7x7x16xf32>, memref<2x3x3x3x16xf32>, memref<2xf32>
  glow_inst.blocked_max_pool @out %m, @in %c strides [2, 2] kernel [2, 2] ceil_mode true : memref<1x3x4x4x16xf32>, memref<1x3x7x7x16xf32>
  glow_inst.blocked_avg_pool @out %m, @in %c strides [2, 2] kernel [2, 2] ceil_mode true : memref<1x3x4x4x16xf32>, memref<1x3x7x7x16xf32>
  glow_inst.unpack_channels @out %u, @in %m channels 40 : memref<1x40x4x4xf32>, memref<1x3x4x4x16xf32>
  func.return
}

// CHECK:      builtin.module {
// CHECK-NEXT:   func.func @blocked(%x: memref<1x24x9x9xf32>, %p: memref<1x2x9x9x16xf32>, %w: memref<3x2x3x3x16x16xf32>, %b: memref<3x16xf32>,
// CHECK-SAME:   %c: memref<1x3x7x7x16xf32>, %dw: memref<3x3x3x16xf32>, %d: memref<1x3x3x3x16xf32>, %m: memref<1x3x4x4x16xf32>, %u: memref<1x40x4x4xf32>,
// CHECK-SAME:   %nw: memref<2x3x3x3x16xf32>, %nb: memref<2xf32>, %s: memref<1x2x5x5xf32>) {
// CHECK-NEXT:     glow_inst.pack_channels @out %p, @in %x block 16 : memref<1x2x9x9x16xf32>, memref<1x24x9x9xf32>
// CHECK-NEXT:     glow_inst.blocked_convolution @out %c, @in %p, @in %w, @in %b : memref<1x3x7x7x16xf32>, memref<1x2x9x9x16xf32>, memref<3x2x3x3x16x16xf32>, memref<3x16xf32> epilogue {
// CHECK-NEXT:     ^bb0(%e: f32):
// CHECK-NEXT:       %r = glow.relu %e : (f32) -> f32
// CHECK-NEXT:       glow_inst.yield %r : f32
// CHECK-NEXT:     }
// CHECK-NEXT:     glow_inst.blocked_depthwise_convolution @out %d, @in %c, @in %dw, @in %b dilations [2, 2] : memref<1x3x3x3x16xf32>, memref<1x3x7x7x16xf32>, memref<3x3x3x16xf32>, memref<3x16xf32>
// CHECK-NEXT:     glow_inst.lane_sum_convolution @out %s, @in %c, @in %nw, @in %nb : memref<1x2x5x5xf32>, memref<1x3x7x7x16xf32>, memref<2x3x3x3x16xf32>, memref<2xf32>
// CHECK-NEXT:     glow_inst.blocked_max_pool @out %m, @in %c strides [2, 2] kernel [2, 2] ceil_mode true : memref<1x3x4x4x16xf32>, memref<1x3x7x7x16xf32>
// CHECK-NEXT:     glow_inst.blocked_avg_pool @out %m, @in %c strides [2, 2] kernel [2, 2] ceil_mode true : memref<1x3x4x4x16xf32>, memref<1x3x7x7x16xf32>
// CHECK-NEXT:     glow_inst.unpack_channels @out %u, @in %m channels 40 : memref<1x40x4x4xf32>, memref<1x3x4x4x16xf32>
// CHECK-NEXT:     func.return
// CHECK-NEXT:   }
// CHECK-NEXT: }
