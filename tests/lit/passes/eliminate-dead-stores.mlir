// RUN: glow-opt %s --eliminate-dead-stores --split-input-file | filecheck %s

// A chain that nothing reads vanishes, with its weight, view and buffers.

func.func @main(%x: memref<4xf32> {glow.qualifier = "in"}, %y: memref<4xf32> {glow.qualifier = "out"}) {
  %w = glow_inst.weight dense<1.0> : tensor<1xf32> : memref<1xf32>
  %v = glow_inst.tensor_view %w : memref<1xf32> to memref<4xf32, strided<[0]>>
  %a = glow_inst.alloc_activation : memref<4xf32>
  glow_inst.add @out %a, @in %x, @in %v : memref<4xf32>, memref<4xf32>, memref<4xf32, strided<[0]>>
  %b = glow_inst.alloc_activation : memref<4xf32>
  glow_inst.exp @out %b, @in %a : memref<4xf32>, memref<4xf32>
  glow_inst.dealloc_activation %a : memref<4xf32>
  glow_inst.dealloc_activation %b : memref<4xf32>
  glow_inst.relu @out %y, @in %x : memref<4xf32>, memref<4xf32>
  func.return
}

// CHECK: func.func @main(%x: memref<4xf32> {glow.qualifier = "in"}, %y: memref<4xf32> {glow.qualifier = "out"}) {
// CHECK-NEXT:   glow_inst.relu @out %y, @in %x : memref<4xf32>, memref<4xf32>
// CHECK-NEXT:   func.return
// CHECK-NEXT: }

// -----

// The first of two writes is dead, unless something reads in between or only a part is written again.

func.func @overwritten(%x: memref<4xf32> {glow.qualifier = "in"}, %y: memref<4xf32> {glow.qualifier = "out"}, %z: memref<4xf32> {glow.qualifier = "out"}) {
  %half = glow_inst.tensor_view %z : memref<4xf32> to memref<2xf32>
  %xhalf = glow_inst.tensor_view %x : memref<4xf32> to memref<2xf32>
  glow_inst.relu @out %y, @in %x : memref<4xf32>, memref<4xf32>
  glow_inst.exp @out %y, @in %x : memref<4xf32>, memref<4xf32>
  glow_inst.relu @out %z, @in %x : memref<4xf32>, memref<4xf32>
  glow_inst.exp @out %half, @in %xhalf : memref<2xf32>, memref<2xf32>
  func.return
}

// CHECK: func.func @overwritten(%x: memref<4xf32> {glow.qualifier = "in"}, %y: memref<4xf32> {glow.qualifier = "out"}, %z: memref<4xf32> {glow.qualifier = "out"}) {
// CHECK-NEXT:   %xhalf = glow_inst.tensor_view %x : memref<4xf32> to memref<2xf32>
// CHECK-NEXT:   %half = glow_inst.tensor_view %z : memref<4xf32> to memref<2xf32>
// CHECK-NEXT:   glow_inst.exp @out %y, @in %x : memref<4xf32>, memref<4xf32>
// CHECK-NEXT:   glow_inst.relu @out %z, @in %x : memref<4xf32>, memref<4xf32>
// CHECK-NEXT:   glow_inst.exp @out %half, @in %xhalf : memref<2xf32>, memref<2xf32>
// CHECK-NEXT:   func.return
// CHECK-NEXT: }

// -----

// A stack loses the store that nobody reads, and the nodes and operands for it.

func.func @stacked(%x: memref<4xf32> {glow.qualifier = "in"}, %u: memref<4xf32> {glow.qualifier = "in"}, %y: memref<4xf32> {glow.qualifier = "out"}) {
  %a = glow_inst.alloc_activation : memref<4xf32>
  glow_inst.stacked @out %y, @out %a, @in %x, @in %u : memref<4xf32>, memref<4xf32>, memref<4xf32>, memref<4xf32> {
  ^bb0(%0: f32, %1: f32):
    %2 = glow.relu %0 : (f32) -> f32
    %3 = glow.mul %2, %1 : (f32, f32) -> f32
    glow_inst.yield %2, %3 : f32, f32
  }
  glow_inst.dealloc_activation %a : memref<4xf32>
  func.return
}

// CHECK: func.func @stacked(%x: memref<4xf32> {glow.qualifier = "in"}, %u: memref<4xf32> {glow.qualifier = "in"}, %y: memref<4xf32> {glow.qualifier = "out"}) {
// CHECK-NEXT:   glow_inst.stacked @out %y, @in %x : memref<4xf32>, memref<4xf32> {
// CHECK-NEXT:   ^bb0(%0: f32):
// CHECK-NEXT:     %1 = glow.relu %0 : (f32) -> f32
// CHECK-NEXT:     glow_inst.yield %1 : f32
// CHECK-NEXT:   }
// CHECK-NEXT:   func.return
// CHECK-NEXT: }

// -----

// An instruction on no elements has no effect.

func.func @empty(%x: memref<0x4xf32> {glow.qualifier = "in"}, %y: memref<0x4xf32> {glow.qualifier = "out"}) {
  glow_inst.relu @out %y, @in %x : memref<0x4xf32>, memref<0x4xf32>
  func.return
}

// CHECK: func.func @empty
// CHECK-NEXT: func.return
