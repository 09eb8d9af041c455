// RUN: glow-opt %s | glow-opt | filecheck %s
// RUN: glow-opt %s --print-op-generic | glow-opt | filecheck %s

// The epilogue of a product of narrow integers takes i32, and stores quantized numbers.

func.func @epilogue(%x: memref<4x8x!quant.uniform<u8:f32, 0.05:3>>, %w: memref<8x2xi8>, %y: memref<4x2x!quant.uniform<u8:f32, 0.5:7>>, %s: memref<4x2xf32>) {
  glow_inst.matmul @out %y, @in %x, @in %w : memref<4x2x!quant.uniform<u8:f32, 0.5:7>>, memref<4x8x!quant.uniform<u8:f32, 0.05:3>>, memref<8x2xi8> epilogue @in %s : memref<4x2xf32> {
  ^bb0(%0: i32, %1: f32):
    %2 = glow.cast %0 : (i32) -> f32
    %3 = glow.mul %2, %1 : (f32, f32) -> f32
    %4 = glow.quantize %3 : (f32) -> !quant.uniform<u8:f32, 0.5:7>
    glow_inst.yield %4 : !quant.uniform<u8:f32, 0.5:7>
  }
  func.return
}

// CHECK:      builtin.module {
// CHECK-NEXT:   func.func @epilogue(
// CHECK-NEXT:     glow_inst.matmul @out %y, @in %x, @in %w : memref<4x2x!quant.uniform<u8:f32, 0.5:7>>, memref<4x8x!quant.uniform<u8:f32, 0.05:3>>, memref<8x2xi8> epilogue @in %s : memref<4x2xf32> {
// CHECK-NEXT:     ^bb0(%0: i32, %1: f32):
// CHECK-NEXT:       %2 = glow.cast %0 : (i32) -> f32
// CHECK-NEXT:       %3 = glow.mul %2, %1 : (f32, f32) -> f32
// CHECK-NEXT:       %4 = glow.quantize %3 : (f32) -> !quant.uniform<u8:f32, 0.5:7>
// CHECK-NEXT:       glow_inst.yield %4 : !quant.uniform<u8:f32, 0.5:7>
// CHECK-NEXT:     }
// CHECK-NEXT:     func.return

// Data-parallel instructions on quantized numbers.

func.func @elements(%q: memref<3x!quant.uniform<i8:f32, 0.5>>, %i: memref<3xi8>, %m: memref<3xi32>, %s: memref<3xi32>, %h: memref<3xi32>) {
  glow_inst.storage_cast @out %i, @in %q : memref<3xi8>, memref<3x!quant.uniform<i8:f32, 0.5>>
  glow_inst.rescale @out %q, @in %m, @in %m, @in %s : memref<3x!quant.uniform<i8:f32, 0.5>>, memref<3xi32>, memref<3xi32>, memref<3xi32>
  glow_inst.shift_right @out %h, @in %m, @in %s : memref<3xi32>, memref<3xi32>, memref<3xi32>
  func.return
}

// CHECK:      func.func @elements(
// CHECK-NEXT:   glow_inst.storage_cast @out %i, @in %q : memref<3xi8>, memref<3x!quant.uniform<i8:f32, 0.5>>
// CHECK-NEXT:   glow_inst.rescale @out %q, @in %m, @in %m, @in %s : memref<3x!quant.uniform<i8:f32, 0.5>>, memref<3xi32>, memref<3xi32>, memref<3xi32>
// CHECK-NEXT:   glow_inst.shift_right @out %h, @in %m, @in %s : memref<3xi32>, memref<3xi32>, memref<3xi32>
