// RUN: glow-opt %s | glow-opt | filecheck %s
// RUN: glow-opt %s --print-op-generic | glow-opt | filecheck %s

// Instructions of products with packed weights, of normalisation by rows and groups, and attention.

func.func @rows(%x: memref<2x8x4xf32>, %y: memref<2x8x4xf32>, %z: memref<2x8x9xf32>, %w: memref<2x4x8xf32>, %row: memref<4xf32>, %c: memref<8xf32>,
    %q: memref<1x7x2x4xf32>, %r: memref<1x7x2x4xf32>, %m: memref<1x2x7x7xf32, strided<[0, 0, 0, 1]>>) {
  glow_inst.packed_matmul @inout %z, @in %x, @in %w columns 9 : memref<2x8x9xf32>, memref<2x8x4xf32>, memref<2x4x8xf32> epilogue {
  ^bb0(%a: f32, %old: f32):
    %s = glow.add %a, %old : (f32, f32) -> f32
    glow_inst.yield %s : f32
  }
  glow_inst.layer_norm @out %y, @in %x, @in %row, @in %row axis 2 : memref<2x8x4xf32>, memref<2x8x4xf32>, memref<4xf32>, memref<4xf32>
  glow_inst.rms_norm @out %y, @in %x, @in %row axis 2 epsilon 0.1 : memref<2x8x4xf32>, memref<2x8x4xf32>, memref<4xf32>
  glow_inst.group_norm @out %y, @in %x, @in %c, @in %c groups 2 : memref<2x8x4xf32>, memref<2x8x4xf32>, memref<8xf32>, memref<8xf32>
  glow_inst.attention @out %r, @in %q, @in %q, @in %q : memref<1x7x2x4xf32>, memref<1x7x2x4xf32>, memref<1x7x2x4xf32>, memref<1x7x2x4xf32>
  glow_inst.masked_attention @out %r, @in %q, @in %q, @in %q, @in %m : memref<1x7x2x4xf32>, memref<1x7x2x4xf32>, memref<1x7x2x4xf32>, memref<1x7x2x4xf32>, memref<1x2x7x7xf32, strided<[0, 0, 0, 1]>>
  func.return
}

// CHECK:      func.func @rows(
// CHECK-NEXT:     glow_inst.packed_matmul @inout %z, @in %x, @in %w columns 9 : memref<2x8x9xf32>, memref<2x8x4xf32>, memref<2x4x8xf32> epilogue {
// CHECK-NEXT:     ^bb0(%a: f32, %old: f32):
// CHECK-NEXT:       %s = glow.add %a, %old : (f32, f32) -> f32
// CHECK-NEXT:       glow_inst.yield %s : f32
// CHECK-NEXT:     }
// CHECK-NEXT:     glow_inst.layer_norm @out %y, @in %x, @in %row, @in %row axis 2 : memref<2x8x4xf32>, memref<2x8x4xf32>, memref<4xf32>, memref<4xf32>
// CHECK-NEXT:     glow_inst.rms_norm @out %y, @in %x, @in %row axis 2 epsilon 0.1 : memref<2x8x4xf32>, memref<2x8x4xf32>, memref<4xf32>
// CHECK-NEXT:     glow_inst.group_norm @out %y, @in %x, @in %c, @in %c groups 2 : memref<2x8x4xf32>, memref<2x8x4xf32>, memref<8xf32>, memref<8xf32>
// CHECK-NEXT:     glow_inst.attention @out %r, @in %q, @in %q, @in %q : memref<1x7x2x4xf32>, memref<1x7x2x4xf32>, memref<1x7x2x4xf32>, memref<1x7x2x4xf32>
// CHECK-NEXT:     glow_inst.masked_attention @out %r, @in %q, @in %q, @in %q, @in %m
// CHECK-SAME:     : memref<1x7x2x4xf32>, memref<1x7x2x4xf32>, memref<1x7x2x4xf32>, memref<1x7x2x4xf32>, memref<1x2x7x7xf32, strided<[0, 0, 0, 1]>>
