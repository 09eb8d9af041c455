// RUN: glow-opt %s --share-buffers --split-input-file | filecheck %s

// An operand that dies is overwritten; the operator's instruction becomes a stack.

func.func @main(%x: memref<2x2xf32> {glow.qualifier = "in"}, %y: memref<2x2xf32> {glow.qualifier = "out"}) {
  %a = glow_inst.alloc_activation : memref<2x2xf32>
  glow_inst.transpose @out %a, @in %x permutation [1, 0] : memref<2x2xf32>, memref<2x2xf32>
  %b = glow_inst.alloc_activation : memref<2x2xf32>
  glow_inst.add @out %b, @in %a, @in %x : memref<2x2xf32>, memref<2x2xf32>, memref<2x2xf32>
  glow_inst.dealloc_activation %a : memref<2x2xf32>
  glow_inst.transpose @out %y, @in %b permutation [1, 0] : memref<2x2xf32>, memref<2x2xf32>
  glow_inst.dealloc_activation %b : memref<2x2xf32>
  func.return
}

// CHECK: func.func @main(%x: memref<2x2xf32> {glow.qualifier = "in"}, %y: memref<2x2xf32> {glow.qualifier = "out"}) {
// CHECK-NEXT:   %a = glow_inst.alloc_activation : memref<2x2xf32>
// CHECK-NEXT:   glow_inst.transpose @out %a, @in %x permutation [1, 0] : memref<2x2xf32>, memref<2x2xf32>
// CHECK-NEXT:   glow_inst.stacked @inout %a, @in %x : memref<2x2xf32>, memref<2x2xf32> {
// CHECK-NEXT:   ^bb0(%0: f32, %1: f32):
// CHECK-NEXT:     %2 = glow.add %0, %1 : (f32, f32) -> f32
// CHECK-NEXT:     glow_inst.yield %2 : f32
// CHECK-NEXT:   }
// CHECK-NEXT:   glow_inst.transpose @out %y, @in %a permutation [1, 0] : memref<2x2xf32>, memref<2x2xf32>
// CHECK-NEXT:   glow_inst.dealloc_activation %a : memref<2x2xf32>
// CHECK-NEXT:   func.return
// CHECK-NEXT: }

// -----

// The residual operand of an epilogue is overwritten, and lives in the output from the start.

func.func @epilogue(%x: memref<2x2xf32> {glow.qualifier = "in"}, %y: memref<2x2xf32> {glow.qualifier = "out"}) {
  %a = glow_inst.alloc_activation : memref<2x2xf32>
  glow_inst.softmax @out %a, @in %x axis 1 : memref<2x2xf32>, memref<2x2xf32>
  glow_inst.matmul @out %y, @in %x, @in %x : memref<2x2xf32>, memref<2x2xf32>, memref<2x2xf32> epilogue @in %a : memref<2x2xf32> {
  ^bb0(%acc: f32, %r: f32):
    %s = glow.sub %r, %acc : (f32, f32) -> f32
    glow_inst.yield %s : f32
  }
  glow_inst.dealloc_activation %a : memref<2x2xf32>
  func.return
}

// CHECK: func.func @epilogue(%x: memref<2x2xf32> {glow.qualifier = "in"}, %y: memref<2x2xf32> {glow.qualifier = "out"}) {
// CHECK-NEXT:   glow_inst.softmax @out %y, @in %x axis 1 : memref<2x2xf32>, memref<2x2xf32>
// CHECK-NEXT:   glow_inst.matmul @inout %y, @in %x, @in %x : memref<2x2xf32>, memref<2x2xf32>, memref<2x2xf32> epilogue {
// CHECK-NEXT:   ^bb0(%acc: f32, %r: f32):
// CHECK-NEXT:     %s = glow.sub %r, %acc : (f32, f32) -> f32
// CHECK-NEXT:     glow_inst.yield %s : f32
// CHECK-NEXT:   }
// CHECK-NEXT:   func.return
// CHECK-NEXT: }

// -----

// Not if the operator itself reads the buffer, not an input, not one that is still needed, and not another shape of it.

func.func @not(%x: memref<2x2xf32> {glow.qualifier = "in"}, %y: memref<2x2xf32> {glow.qualifier = "out"}, %z: memref<2x2xf32> {glow.qualifier = "out"}, %u: memref<4xf32> {glow.qualifier = "out"}) {
  %a = glow_inst.alloc_activation : memref<2x2xf32>
  %flat = glow_inst.tensor_view %a : memref<2x2xf32> to memref<2x2xf32, strided<[1, 2]>>
  glow_inst.softmax @out %a, @in %x axis 1 : memref<2x2xf32>, memref<2x2xf32>
  glow_inst.relu @out %z, @in %a : memref<2x2xf32>, memref<2x2xf32>
  %b = glow_inst.alloc_activation : memref<2x2xf32>
  glow_inst.matmul @out %b, @in %a, @in %x : memref<2x2xf32>, memref<2x2xf32>, memref<2x2xf32> epilogue @in %a : memref<2x2xf32> {
  ^bb0(%acc: f32, %r: f32):
    %s = glow.add %acc, %r : (f32, f32) -> f32
    glow_inst.yield %s : f32
  }
  glow_inst.add @out %y, @in %b, @in %flat : memref<2x2xf32>, memref<2x2xf32>, memref<2x2xf32, strided<[1, 2]>>
  glow_inst.dealloc_activation %a : memref<2x2xf32>
  %c = glow_inst.tensor_view %b : memref<2x2xf32> to memref<4xf32, strided<[-1], offset: 3>>
  glow_inst.relu @out %u, @in %c : memref<4xf32>, memref<4xf32, strided<[-1], offset: 3>>
  glow_inst.dealloc_activation %b : memref<2x2xf32>
  func.return
}

// CHECK: func.func @not(%x: memref<2x2xf32> {glow.qualifier = "in"}, %y: memref<2x2xf32> {glow.qualifier = "out"},
// CHECK-SAME: %z: memref<2x2xf32> {glow.qualifier = "out"}, %u: memref<4xf32> {glow.qualifier = "out"}) {
// CHECK-NEXT:   %a = glow_inst.alloc_activation : memref<2x2xf32>
// CHECK-NEXT:   %flat = glow_inst.tensor_view %a : memref<2x2xf32> to memref<2x2xf32, strided<[1, 2]>>
// CHECK-NEXT:   glow_inst.softmax @out %a, @in %x axis 1 : memref<2x2xf32>, memref<2x2xf32>
// CHECK-NEXT:   glow_inst.relu @out %z, @in %a : memref<2x2xf32>, memref<2x2xf32>
// CHECK-NEXT:   %b = glow_inst.alloc_activation : memref<2x2xf32>
// CHECK-NEXT:   %c = glow_inst.tensor_view %b : memref<2x2xf32> to memref<4xf32, strided<[-1], offset: 3>>
// CHECK-NEXT:   glow_inst.matmul @out %b, @in %a, @in %x : memref<2x2xf32>, memref<2x2xf32>, memref<2x2xf32> epilogue @in %a : memref<2x2xf32> {
// CHECK-NEXT:   ^bb0(%acc: f32, %r: f32):
// CHECK-NEXT:     %s = glow.add %acc, %r : (f32, f32) -> f32
// CHECK-NEXT:     glow_inst.yield %s : f32
// CHECK-NEXT:   }
// CHECK-NEXT:   glow_inst.add @out %y, @in %b, @in %flat : memref<2x2xf32>, memref<2x2xf32>, memref<2x2xf32, strided<[1, 2]>>
// CHECK-NEXT:   glow_inst.dealloc_activation %a : memref<2x2xf32>
// CHECK-NEXT:   glow_inst.relu @out %u, @in %c : memref<4xf32>, memref<4xf32, strided<[-1], offset: 3>>
// CHECK-NEXT:   glow_inst.dealloc_activation %b : memref<2x2xf32>
// CHECK-NEXT:   func.return
// CHECK-NEXT: }

// the copy that disappears was the last reader of what the relu reads
func.func @after_copy(%x: memref<4x1xf32> {glow.qualifier = "in"}, %y: memref<1x4xf32> {glow.qualifier = "out"}) {
  %a = glow_inst.alloc_activation : memref<4x1xf32>
  glow_inst.softmax @out %a, @in %x axis 0 : memref<4x1xf32>, memref<4x1xf32>
  %b = glow_inst.alloc_activation : memref<4x1xf32>
  glow_inst.relu @out %b, @in %a : memref<4x1xf32>, memref<4x1xf32>
  %c = glow_inst.alloc_activation : memref<4x1xf32>
  glow_inst.copy @out %c, @in %a : memref<4x1xf32>, memref<4x1xf32>
  glow_inst.dealloc_activation %c : memref<4x1xf32>
  glow_inst.dealloc_activation %a : memref<4x1xf32>
  glow_inst.transpose @out %y, @in %b permutation [1, 0] : memref<1x4xf32>, memref<4x1xf32>
  glow_inst.dealloc_activation %b : memref<4x1xf32>
  func.return
}

// CHECK: func.func @after_copy(
// CHECK-NEXT:   %a = glow_inst.alloc_activation : memref<4x1xf32>
// CHECK-NEXT:   glow_inst.softmax @out %a, @in %x axis 0 : memref<4x1xf32>, memref<4x1xf32>
// CHECK-NEXT:   glow_inst.stacked @inout %a : memref<4x1xf32> {
// CHECK:        glow_inst.transpose @out %y, @in %a permutation [1, 0] : memref<1x4xf32>, memref<4x1xf32>
// CHECK-NEXT:   glow_inst.dealloc_activation %a : memref<4x1xf32>
// CHECK-NEXT:   func.return

// an instruction that reads the old value of a state element by element takes its place, and the
// copy to the state disappears; what reads the state later reads the new value
func.func @state(%x: memref<2x2xf32> {glow.qualifier = "in"}, %s: memref<2x2xf32> {glow.state = 0 : i64, glow.qualifier = "inout"}, %y: memref<2x2xf32> {glow.qualifier = "out"}) {
  %a = glow_inst.alloc_activation : memref<2x2xf32>
  glow_inst.matmul @out %a, @in %x, @in %x : memref<2x2xf32>, memref<2x2xf32>, memref<2x2xf32> epilogue @in %s : memref<2x2xf32> {
  ^bb0(%acc: f32, %r: f32):
    %0 = glow.sub %r, %acc : (f32, f32) -> f32
    glow_inst.yield %0 : f32
  }
  glow_inst.softmax @out %y, @in %a axis 1 : memref<2x2xf32>, memref<2x2xf32>
  glow_inst.copy @out %s, @in %a : memref<2x2xf32>, memref<2x2xf32>
  glow_inst.dealloc_activation %a : memref<2x2xf32>
  func.return
}

// CHECK: func.func @state(
// CHECK-NEXT:   glow_inst.matmul @inout %s, @in %x, @in %x : memref<2x2xf32>, memref<2x2xf32>, memref<2x2xf32> epilogue {
// CHECK-NEXT:   ^bb0(%acc: f32, %r: f32):
// CHECK-NEXT:     %0 = glow.sub %r, %acc
// CHECK-NEXT:     glow_inst.yield %0 : f32
// CHECK-NEXT:   }
// CHECK-NEXT:   glow_inst.softmax @out %y, @in %s axis 1
// CHECK-NEXT:   func.return

// the old value is read later, or as a whole operand
func.func @old_state(%x: memref<2x2xf32> {glow.qualifier = "in"}, %s: memref<2x2xf32> {glow.state = 0 : i64, glow.qualifier = "inout"}, %t: memref<2x2xf32> {glow.state = 1 : i64, glow.qualifier = "inout"}, %y: memref<2x2xf32> {glow.qualifier = "out"}) {
  %a = glow_inst.alloc_activation : memref<2x2xf32>
  glow_inst.add @out %a, @in %s, @in %x : memref<2x2xf32>, memref<2x2xf32>, memref<2x2xf32>
  %b = glow_inst.alloc_activation : memref<2x2xf32>
  glow_inst.matmul @out %b, @in %t, @in %x : memref<2x2xf32>, memref<2x2xf32>, memref<2x2xf32> epilogue @in %t : memref<2x2xf32> {
  ^bb0(%acc: f32, %r: f32):
    %0 = glow.sub %r, %acc : (f32, f32) -> f32
    glow_inst.yield %0 : f32
  }
  glow_inst.softmax @out %y, @in %s axis 1 : memref<2x2xf32>, memref<2x2xf32>
  glow_inst.copy @out %s, @in %a : memref<2x2xf32>, memref<2x2xf32>
  glow_inst.dealloc_activation %a : memref<2x2xf32>
  glow_inst.copy @out %t, @in %b : memref<2x2xf32>, memref<2x2xf32>
  glow_inst.dealloc_activation %b : memref<2x2xf32>
  func.return
}

// CHECK: func.func @old_state(
// CHECK:   glow_inst.add @out %a, @in %s
// CHECK:   glow_inst.matmul @out %b, @in %t
// CHECK:   glow_inst.copy @out %s, @in %a
// CHECK:   glow_inst.copy @out %t, @in %b
