// RUN: glow-opt %s | glow-opt | filecheck %s
// RUN: glow-opt %s --print-op-generic | glow-opt | filecheck %s
// RUN: glow-opt %s --print-op-generic | filecheck %s --check-prefix=GENERIC

// Buffers, views, copies and stacked instructions.

func.func @main(%x: memref<4x8xf32> {glow.name = "x", glow.qualifier = "in"}, %y: memref<4x2xf32> {glow.name = "y", glow.qualifier = "out"}) {
  %w = glow_inst.weight #glow.blob<"model.onnx", 4096, 64> {offset = 128 : i64} : memref<2x8xf32>
  %inline = glow_inst.weight dense<[1.0, 2.0]> : tensor<2xf32> : memref<2xf32>
  %quantized = glow_inst.weight dense<[1, 2]> : tensor<2xi8> {note = "kept"} : memref<2x!quant.uniform<i8:f32, 0.5>>
  %rows = glow_inst.tensor_view %inline : memref<2xf32> to memref<4x2xf32, strided<[0, 1]>>
  %a = glow_inst.alloc_activation {offset = 64 : i64} : memref<4x2xf32>
  %b = glow_inst.alloc_activation {offset = 0 : i64} : memref<4x2xf32>
  glow_inst.matmul @out %a, @in %x, @in %w transpose_rhs true : memref<4x2xf32>, memref<4x8xf32>, memref<2x8xf32>
  glow_inst.stacked @out %b, @inout %a, @in %rows : memref<4x2xf32>, memref<4x2xf32>, memref<4x2xf32, strided<[0, 1]>> {
  ^bb0(%0: f32, %1: f32):
    %2 = glow.add %0, %1 : (f32, f32) -> f32
    %3 = glow.relu %2 : (f32) -> f32
    %4 = glow.splat value 2.0 : f32
    %5 = glow.mul %3, %4 : (f32, f32) -> f32
    glow_inst.yield %3, %5 : f32, f32
  }
  %reversed = glow_inst.tensor_view %a {note = "kept"} : memref<4x2xf32> to memref<4x2xf32, strided<[2, -1], offset: 1>>
  glow_inst.copy @out %y, @in %reversed {note = "kept"} : memref<4x2xf32>, memref<4x2xf32, strided<[2, -1], offset: 1>>
  glow_inst.dealloc_activation %a : memref<4x2xf32>
  glow_inst.dealloc_activation %b : memref<4x2xf32>
  func.return
}
func.func @unplanned() {
  %a = glow_inst.alloc_activation {note = "kept"} : memref<4x2xf32>
  glow_inst.dealloc_activation %a : memref<4x2xf32>
  func.return
}

// CHECK:      builtin.module {
// CHECK-NEXT:   func.func @main(%x: memref<4x8xf32> {glow.name = "x", glow.qualifier = "in"}, %y: memref<4x2xf32> {glow.name = "y", glow.qualifier = "out"}) {
// CHECK-NEXT:     %w = glow_inst.weight #glow.blob<"model.onnx", 4096, 64> {offset = 128 : i64} : memref<2x8xf32>
// CHECK-NEXT:     %inline = glow_inst.weight dense<[1.000000e+00, 2.000000e+00]> : tensor<2xf32> : memref<2xf32>
// CHECK-NEXT:     %quantized = glow_inst.weight dense<[1, 2]> : tensor<2xi8> {note = "kept"} : memref<2x!quant.uniform<i8:f32, 0.5>>
// CHECK-NEXT:     %rows = glow_inst.tensor_view %inline : memref<2xf32> to memref<4x2xf32, strided<[0, 1]>>
// CHECK-NEXT:     %a = glow_inst.alloc_activation {offset = 64 : i64} : memref<4x2xf32>
// CHECK-NEXT:     %b = glow_inst.alloc_activation {offset = 0 : i64} : memref<4x2xf32>
// CHECK-NEXT:     glow_inst.matmul @out %a, @in %x, @in %w transpose_rhs true : memref<4x2xf32>, memref<4x8xf32>, memref<2x8xf32>
// CHECK-NEXT:     glow_inst.stacked @out %b, @inout %a, @in %rows : memref<4x2xf32>, memref<4x2xf32>, memref<4x2xf32, strided<[0, 1]>> {
// CHECK-NEXT:     ^bb0(%0: f32, %1: f32):
// CHECK-NEXT:       %2 = glow.add %0, %1 : (f32, f32) -> f32
// CHECK-NEXT:       %3 = glow.relu %2 : (f32) -> f32
// CHECK-NEXT:       %4 = glow.splat value 2.0 : f32
// CHECK-NEXT:       %5 = glow.mul %3, %4 : (f32, f32) -> f32
// CHECK-NEXT:       glow_inst.yield %3, %5 : f32, f32
// CHECK-NEXT:     }
// CHECK-NEXT:     %reversed = glow_inst.tensor_view %a {note = "kept"} : memref<4x2xf32> to memref<4x2xf32, strided<[2, -1], offset: 1>>
// CHECK-NEXT:     glow_inst.copy @out %y, @in %reversed {note = "kept"} : memref<4x2xf32>, memref<4x2xf32, strided<[2, -1], offset: 1>>
// CHECK-NEXT:     glow_inst.dealloc_activation %a : memref<4x2xf32>
// CHECK-NEXT:     glow_inst.dealloc_activation %b : memref<4x2xf32>
// CHECK-NEXT:     func.return
// CHECK-NEXT:   }
// CHECK-NEXT:   func.func @unplanned() {
// CHECK-NEXT:     %a = glow_inst.alloc_activation {note = "kept"} : memref<4x2xf32>
// CHECK-NEXT:     glow_inst.dealloc_activation %a : memref<4x2xf32>
// CHECK-NEXT:     func.return
// CHECK-NEXT:   }
// CHECK-NEXT: }

// GENERIC: %w = "glow_inst.weight"() <{value = #glow.blob<"model.onnx", 4096, 64>, offset = 128 : i64}> : () -> memref<2x8xf32>
// GENERIC: %rows = "glow_inst.tensor_view"(%inline) : (memref<2xf32>) -> memref<4x2xf32, strided<[0, 1]>>
// GENERIC: %a = "glow_inst.alloc_activation"() <{offset = 64 : i64}> : () -> memref<4x2xf32>
// GENERIC: "glow_inst.matmul"(%a, %x, %w) <{transpose_rhs = true, operandSegmentSizes = array<i32: 3, 0>, transpose_lhs = false}> : (memref<4x2xf32>, memref<4x8xf32>, memref<2x8xf32>) -> ()
// GENERIC: "glow_inst.stacked"(%b, %a, %rows) <{operandSegmentSizes = array<i32: 1, 1, 1>}> ({
// GENERIC: %2 = "glow.add"(%0, %1) : (f32, f32) -> f32
// GENERIC: %3 = "glow.relu"(%2) : (f32) -> f32
// GENERIC: %4 = "glow.splat"() <{value = 2.000000e+00 : f64}> : () -> f32
// GENERIC: %5 = "glow.mul"(%3, %4) : (f32, f32) -> f32
// GENERIC: "glow_inst.yield"(%3, %5) : (f32, f32) -> ()
// GENERIC: "glow_inst.copy"(%y, %reversed) {note = "kept"} : (memref<4x2xf32>, memref<4x2xf32, strided<[2, -1], offset: 1>>) -> ()
// GENERIC: "glow_inst.dealloc_activation"(%a) : (memref<4x2xf32>) -> ()
