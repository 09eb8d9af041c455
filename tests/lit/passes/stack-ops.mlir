// RUN: glow-opt %s --stack-ops --split-input-file | filecheck %s

// A chain and a tree become one loop; a splat and a weight of one element become numbers.

func.func @main(%x: memref<4xf32> {glow.qualifier = "in"}, %u: memref<4xf32> {glow.qualifier = "in"}, %y: memref<4xf32> {glow.qualifier = "out"}) {
  %w = glow_inst.weight dense<2.0> : tensor<1xf32> : memref<1xf32>
  %v = glow_inst.tensor_view %w : memref<1xf32> to memref<4xf32, strided<[0]>>
  %a = glow_inst.alloc_activation : memref<4xf32>
  glow_inst.relu @out %a, @in %x : memref<4xf32>, memref<4xf32>
  %b = glow_inst.alloc_activation : memref<4xf32>
  glow_inst.mul @out %b, @in %u, @in %v : memref<4xf32>, memref<4xf32>, memref<4xf32, strided<[0]>>
  %c = glow_inst.alloc_activation : memref<4xf32>
  glow_inst.splat @out %c value 3.0 : memref<4xf32>
  %d = glow_inst.alloc_activation : memref<4xf32>
  glow_inst.sub @out %d, @in %b, @in %c : memref<4xf32>, memref<4xf32>, memref<4xf32>
  glow_inst.dealloc_activation %b : memref<4xf32>
  glow_inst.dealloc_activation %c : memref<4xf32>
  glow_inst.add @out %y, @in %a, @in %d : memref<4xf32>, memref<4xf32>, memref<4xf32>
  glow_inst.dealloc_activation %a : memref<4xf32>
  glow_inst.dealloc_activation %d : memref<4xf32>
  func.return
}

// CHECK: func.func @main(%x: memref<4xf32> {glow.qualifier = "in"}, %u: memref<4xf32> {glow.qualifier = "in"}, %y: memref<4xf32> {glow.qualifier = "out"}) {
// CHECK-NEXT:   glow_inst.stacked @out %y, @in %x, @in %u : memref<4xf32>, memref<4xf32>, memref<4xf32> {
// CHECK-NEXT:   ^bb0(%0: f32, %1: f32):
// CHECK-NEXT:     %2 = glow.relu %0 : (f32) -> f32
// CHECK-NEXT:     %3 = glow.splat value 2.0 : f32
// CHECK-NEXT:     %4 = glow.mul %1, %3 : (f32, f32) -> f32
// CHECK-NEXT:     %5 = glow.splat value 3.0 : f32
// CHECK-NEXT:     %6 = glow.sub %4, %5 : (f32, f32) -> f32
// CHECK-NEXT:     %7 = glow.add %2, %6 : (f32, f32) -> f32
// CHECK-NEXT:     glow_inst.yield %7 : f32
// CHECK-NEXT:   }
// CHECK-NEXT:   func.return
// CHECK-NEXT: }

// -----

// Neighbours are merged even if the intermediate result is needed elsewhere: it is stored too.

func.func @shared(%x: memref<2x2xf32> {glow.qualifier = "in"}, %y: memref<2x2xf32> {glow.qualifier = "out"}, %z: memref<2x2xf32> {glow.qualifier = "out"}) {
  %a = glow_inst.alloc_activation : memref<2x2xf32>
  glow_inst.relu @out %a, @in %x : memref<2x2xf32>, memref<2x2xf32>
  glow_inst.mul @out %y, @in %a, @in %a : memref<2x2xf32>, memref<2x2xf32>, memref<2x2xf32>
  glow_inst.transpose @out %z, @in %a permutation [1, 0] : memref<2x2xf32>, memref<2x2xf32>
  glow_inst.dealloc_activation %a : memref<2x2xf32>
  func.return
}

// CHECK: func.func @shared(%x: memref<2x2xf32> {glow.qualifier = "in"}, %y: memref<2x2xf32> {glow.qualifier = "out"}, %z: memref<2x2xf32> {glow.qualifier = "out"}) {
// CHECK-NEXT:   %a = glow_inst.alloc_activation : memref<2x2xf32>
// CHECK-NEXT:   glow_inst.stacked @out %a, @out %y, @in %x : memref<2x2xf32>, memref<2x2xf32>, memref<2x2xf32> {
// CHECK-NEXT:   ^bb0(%0: f32):
// CHECK-NEXT:     %1 = glow.relu %0 : (f32) -> f32
// CHECK-NEXT:     %2 = glow.mul %1, %1 : (f32, f32) -> f32
// CHECK-NEXT:     glow_inst.yield %1, %2 : f32, f32
// CHECK-NEXT:   }
// CHECK-NEXT:   glow_inst.transpose @out %z, @in %a permutation [1, 0] : memref<2x2xf32>, memref<2x2xf32>
// CHECK-NEXT:   glow_inst.dealloc_activation %a : memref<2x2xf32>
// CHECK-NEXT:   func.return
// CHECK-NEXT: }

// -----

// Convolution, bias, batch normalisation, activation and residual addition: one instruction, which moves down to where the shortcut is known.

func.func @residual(%x: memref<1x2x4x4xf32> {glow.qualifier = "in"}, %w: memref<2x2x1x1xf32> {glow.qualifier = "in"},
    %b: memref<2xf32> {glow.qualifier = "in"}, %scale: memref<2xf32> {glow.qualifier = "in"}, %y: memref<1x2x4x4xf32> {glow.qualifier = "out"}) {
  %s = glow_inst.tensor_view %scale : memref<2xf32> to memref<1x2x4x4xf32, strided<[2, 1, 0, 0]>>
  %a = glow_inst.alloc_activation : memref<1x2x4x4xf32>
  glow_inst.convolution @out %a, @in %x, @in %w, @in %b : memref<1x2x4x4xf32>, memref<1x2x4x4xf32>, memref<2x2x1x1xf32>, memref<2xf32>
  %c = glow_inst.alloc_activation : memref<1x2x4x4xf32>
  glow_inst.mul @out %c, @in %a, @in %s : memref<1x2x4x4xf32>, memref<1x2x4x4xf32>, memref<1x2x4x4xf32, strided<[2, 1, 0, 0]>>
  glow_inst.dealloc_activation %a : memref<1x2x4x4xf32>
  %d = glow_inst.alloc_activation : memref<1x2x4x4xf32>
  glow_inst.transpose @out %d, @in %x permutation [0, 1, 3, 2] : memref<1x2x4x4xf32>, memref<1x2x4x4xf32>
  %e = glow_inst.alloc_activation : memref<1x2x4x4xf32>
  glow_inst.add @out %e, @in %c, @in %d : memref<1x2x4x4xf32>, memref<1x2x4x4xf32>, memref<1x2x4x4xf32>
  glow_inst.dealloc_activation %c : memref<1x2x4x4xf32>
  glow_inst.dealloc_activation %d : memref<1x2x4x4xf32>
  glow_inst.relu @out %y, @in %e : memref<1x2x4x4xf32>, memref<1x2x4x4xf32>
  glow_inst.dealloc_activation %e : memref<1x2x4x4xf32>
  func.return
}

// CHECK: func.func @residual(%x: memref<1x2x4x4xf32> {glow.qualifier = "in"}, %w: memref<2x2x1x1xf32> {glow.qualifier = "in"},
// CHECK-SAME: %b: memref<2xf32> {glow.qualifier = "in"}, %scale: memref<2xf32> {glow.qualifier = "in"}, %y: memref<1x2x4x4xf32> {glow.qualifier = "out"}) {
// CHECK-NEXT:   %s = glow_inst.tensor_view %scale : memref<2xf32> to memref<1x2x4x4xf32, strided<[2, 1, 0, 0]>>
// CHECK-NEXT:   %d = glow_inst.alloc_activation : memref<1x2x4x4xf32>
// CHECK-NEXT:   glow_inst.transpose @out %d, @in %x permutation [0, 1, 3, 2] : memref<1x2x4x4xf32>, memref<1x2x4x4xf32>
// CHECK-NEXT:   glow_inst.convolution @out %y, @in %x, @in %w, @in %b : memref<1x2x4x4xf32>, memref<1x2x4x4xf32>, memref<2x2x1x1xf32>, memref<2xf32> epilogue @in %s,
// CHECK-SAME:   @in %d : memref<1x2x4x4xf32, strided<[2, 1, 0, 0]>>, memref<1x2x4x4xf32> {
// CHECK-NEXT:   ^bb0(%0: f32, %1: f32, %2: f32):
// CHECK-NEXT:     %3 = glow.mul %0, %1 : (f32, f32) -> f32
// CHECK-NEXT:     %4 = glow.add %3, %2 : (f32, f32) -> f32
// CHECK-NEXT:     %5 = glow.relu %4 : (f32) -> f32
// CHECK-NEXT:     glow_inst.yield %5 : f32
// CHECK-NEXT:   }
// CHECK-NEXT:   glow_inst.dealloc_activation %d : memref<1x2x4x4xf32>
// CHECK-NEXT:   func.return
// CHECK-NEXT: }

// -----

// Not into an epilogue: the result of the product has another reader.

func.func @two_readers(%x: memref<2x2xf32> {glow.qualifier = "in"}, %y: memref<2x2xf32> {glow.qualifier = "out"}, %z: memref<2x2xf32> {glow.qualifier = "out"}) {
  %a = glow_inst.alloc_activation : memref<2x2xf32>
  glow_inst.matmul @out %a, @in %x, @in %x : memref<2x2xf32>, memref<2x2xf32>, memref<2x2xf32>
  glow_inst.relu @out %y, @in %a : memref<2x2xf32>, memref<2x2xf32>
  glow_inst.transpose @out %z, @in %a permutation [1, 0] : memref<2x2xf32>, memref<2x2xf32>
  glow_inst.dealloc_activation %a : memref<2x2xf32>
  func.return
}

// CHECK: func.func @two_readers(%x: memref<2x2xf32> {glow.qualifier = "in"}, %y: memref<2x2xf32> {glow.qualifier = "out"}, %z: memref<2x2xf32> {glow.qualifier = "out"}) {
// CHECK-NEXT:   %a = glow_inst.alloc_activation : memref<2x2xf32>
// CHECK-NEXT:   glow_inst.matmul @out %a, @in %x, @in %x : memref<2x2xf32>, memref<2x2xf32>, memref<2x2xf32>
// CHECK-NEXT:   glow_inst.relu @out %y, @in %a : memref<2x2xf32>, memref<2x2xf32>
// CHECK-NEXT:   glow_inst.transpose @out %z, @in %a permutation [1, 0] : memref<2x2xf32>, memref<2x2xf32>
// CHECK-NEXT:   glow_inst.dealloc_activation %a : memref<2x2xf32>
// CHECK-NEXT:   func.return
// CHECK-NEXT: }

// -----

// Not across a write: %y is read before and after it changes.

func.func @no_reordering(%x: memref<4xf32> {glow.qualifier = "in"}, %y: memref<4xf32> {glow.qualifier = "out"}, %z: memref<4xf32> {glow.qualifier = "out"}) {
  glow_inst.exp @out %y, @in %x : memref<4xf32>, memref<4xf32>
  %a = glow_inst.alloc_activation : memref<4xf32>
  glow_inst.softmax @out %a, @in %x axis 0 : memref<4xf32>, memref<4xf32>
  %b = glow_inst.alloc_activation : memref<4xf32>
  glow_inst.mul @out %b, @in %a, @in %y : memref<4xf32>, memref<4xf32>, memref<4xf32>
  glow_inst.softmax @out %y, @in %a axis 0 : memref<4xf32>, memref<4xf32>
  glow_inst.dealloc_activation %a : memref<4xf32>
  glow_inst.sub @out %z, @in %b, @in %y : memref<4xf32>, memref<4xf32>, memref<4xf32>
  glow_inst.dealloc_activation %b : memref<4xf32>
  func.return
}

// CHECK: func.func @no_reordering(%x: memref<4xf32> {glow.qualifier = "in"}, %y: memref<4xf32> {glow.qualifier = "out"}, %z: memref<4xf32> {glow.qualifier = "out"}) {
// CHECK-NEXT:   glow_inst.exp @out %y, @in %x : memref<4xf32>, memref<4xf32>
// CHECK-NEXT:   %a = glow_inst.alloc_activation : memref<4xf32>
// CHECK-NEXT:   glow_inst.softmax @out %a, @in %x axis 0 : memref<4xf32>, memref<4xf32>
// CHECK-NEXT:   %b = glow_inst.alloc_activation : memref<4xf32>
// CHECK-NEXT:   glow_inst.mul @out %b, @in %a, @in %y : memref<4xf32>, memref<4xf32>, memref<4xf32>
// CHECK-NEXT:   glow_inst.softmax @out %y, @in %a axis 0 : memref<4xf32>, memref<4xf32>
// CHECK-NEXT:   glow_inst.dealloc_activation %a : memref<4xf32>
// CHECK-NEXT:   glow_inst.sub @out %z, @in %b, @in %y : memref<4xf32>, memref<4xf32>, memref<4xf32>
// CHECK-NEXT:   glow_inst.dealloc_activation %b : memref<4xf32>
// CHECK-NEXT:   func.return
// CHECK-NEXT: }

// -----

// Not where the consumer repeats what the producer computes once.

func.func @no_recomputation(%x: memref<1xf32> {glow.qualifier = "in"}, %y: memref<4xf32> {glow.qualifier = "out"}) {
  %a = glow_inst.alloc_activation : memref<1xf32>
  %v = glow_inst.tensor_view %a : memref<1xf32> to memref<4xf32, strided<[0]>>
  glow_inst.exp @out %a, @in %x : memref<1xf32>, memref<1xf32>
  glow_inst.relu @out %y, @in %v : memref<4xf32>, memref<4xf32, strided<[0]>>
  glow_inst.dealloc_activation %a : memref<1xf32>
  func.return
}

// CHECK: func.func @no_recomputation(%x: memref<1xf32> {glow.qualifier = "in"}, %y: memref<4xf32> {glow.qualifier = "out"}) {
// CHECK-NEXT:   %a = glow_inst.alloc_activation : memref<1xf32>
// CHECK-NEXT:   %v = glow_inst.tensor_view %a : memref<1xf32> to memref<4xf32, strided<[0]>>
// CHECK-NEXT:   glow_inst.exp @out %a, @in %x : memref<1xf32>, memref<1xf32>
// CHECK-NEXT:   glow_inst.relu @out %y, @in %v : memref<4xf32>, memref<4xf32, strided<[0]>>
// CHECK-NEXT:   glow_inst.dealloc_activation %a : memref<1xf32>
// CHECK-NEXT:   func.return
// CHECK-NEXT: }

// -----

// What widens elements for one later loop goes with that loop, not with what is before it: narrow elements go through memory.

!q = !quant.uniform<u8:f32, 0.5:3>
func.func @narrow(%x: memref<1x2x4x4xf32> {glow.qualifier = "in"}, %w: memref<2x2x1x1xf32> {glow.qualifier = "in"},
    %b: memref<2xf32> {glow.qualifier = "in"}, %y: memref<1x2x4x4xf32> {glow.qualifier = "out"}) {
  %a = glow_inst.alloc_activation : memref<1x2x4x4xf32>
  glow_inst.convolution @out %a, @in %x, @in %w, @in %b : memref<1x2x4x4xf32>, memref<1x2x4x4xf32>, memref<2x2x1x1xf32>, memref<2xf32>
  %n = glow_inst.alloc_activation : memref<1x2x4x4x!q>
  glow_inst.quantize @out %n, @in %a : memref<1x2x4x4x!q>, memref<1x2x4x4xf32>
  glow_inst.dealloc_activation %a : memref<1x2x4x4xf32>
  %d = glow_inst.alloc_activation : memref<1x2x4x4xf32>
  glow_inst.dequantize @out %d, @in %n : memref<1x2x4x4xf32>, memref<1x2x4x4x!q>
  glow_inst.dealloc_activation %n : memref<1x2x4x4x!q>
  %c = glow_inst.alloc_activation : memref<1x2x4x4xf32>
  glow_inst.convolution @out %c, @in %x, @in %w, @in %b : memref<1x2x4x4xf32>, memref<1x2x4x4xf32>, memref<2x2x1x1xf32>, memref<2xf32>
  glow_inst.add @out %y, @in %c, @in %d : memref<1x2x4x4xf32>, memref<1x2x4x4xf32>, memref<1x2x4x4xf32>
  glow_inst.dealloc_activation %c : memref<1x2x4x4xf32>
  glow_inst.dealloc_activation %d : memref<1x2x4x4xf32>
  func.return
}

// CHECK: func.func @narrow(%x: {{.*}} {
// CHECK-NEXT:   %n = glow_inst.alloc_activation : memref<1x2x4x4x!quant.uniform<u8:f32, 0.5:3>>
// CHECK-NEXT:   glow_inst.convolution @out %n, {{.*}} epilogue {
// CHECK-NEXT:   ^bb0(%0: f32):
// CHECK-NEXT:     %1 = glow.quantize %0 : (f32) -> !quant.uniform<u8:f32, 0.5:3>
// CHECK-NEXT:     glow_inst.yield %1 : !quant.uniform<u8:f32, 0.5:3>
// CHECK-NEXT:   }
// CHECK-NEXT:   glow_inst.convolution @out %y, {{.*}} epilogue @in %n : memref<1x2x4x4x!quant.uniform<u8:f32, 0.5:3>> {
// CHECK-NEXT:   ^bb0(%2: f32, %3: !quant.uniform<u8:f32, 0.5:3>):
// CHECK-NEXT:     %4 = glow.dequantize %3 : (!quant.uniform<u8:f32, 0.5:3>) -> f32
// CHECK-NEXT:     %5 = glow.add %2, %4 : (f32, f32) -> f32
// CHECK-NEXT:     glow_inst.yield %5 : f32
// CHECK-NEXT:   }

// -----

// The result of a matrix product is read in another shape: the loop runs in the shape of the product, on views of its operands.

func.func @reshaped(%x: memref<6x4xf32> {glow.qualifier = "in"}, %w: memref<4x8xf32> {glow.qualifier = "in"},
    %b: memref<2x4xf32> {glow.qualifier = "in"}, %y: memref<6x2x4xf32> {glow.qualifier = "out"}) {
  %v = glow_inst.tensor_view %b : memref<2x4xf32> to memref<6x2x4xf32, strided<[0, 4, 1]>>
  %p = glow_inst.alloc_activation : memref<6x8xf32>
  %r = glow_inst.tensor_view %p : memref<6x8xf32> to memref<6x2x4xf32>
  glow_inst.matmul @out %p, @in %x, @in %w : memref<6x8xf32>, memref<6x4xf32>, memref<4x8xf32>
  glow_inst.add @out %y, @in %r, @in %v : memref<6x2x4xf32>, memref<6x2x4xf32>, memref<6x2x4xf32, strided<[0, 4, 1]>>
  glow_inst.dealloc_activation %p : memref<6x8xf32>
  func.return
}

// CHECK:      func.func @reshaped(
// CHECK-NEXT:   %[[B:.*]] = glow_inst.tensor_view %b : memref<2x4xf32> to memref<6x8xf32, strided<[0, 1]>>
// CHECK-NEXT:   %[[Y:.*]] = glow_inst.tensor_view %y : memref<6x2x4xf32> to memref<6x8xf32>
// CHECK-NEXT:   glow_inst.matmul @out %[[Y]], @in %x, @in %w {{.*}} epilogue @in %[[B]] : memref<6x8xf32, strided<[0, 1]>> {
// CHECK:        glow.add
// CHECK-NEXT:   glow_inst.yield

// -----

// Strides cannot express an operand in the shape of the product, or something else needs the product.

func.func @not_reshaped(%x: memref<6x4xf32> {glow.qualifier = "in"}, %w: memref<4x8xf32> {glow.qualifier = "in"},
    %b: memref<4x2xf32> {glow.qualifier = "in"}, %y: memref<6x2x4xf32> {glow.qualifier = "out"}, %z: memref<6x2x4xf32> {glow.qualifier = "out"},
    %t: memref<8x6xf32> {glow.qualifier = "out"}) {
  %v = glow_inst.tensor_view %b : memref<4x2xf32> to memref<6x2x4xf32, strided<[0, 1, 2]>>
  %p = glow_inst.alloc_activation : memref<6x8xf32>
  %r = glow_inst.tensor_view %p : memref<6x8xf32> to memref<6x2x4xf32>
  glow_inst.matmul @out %p, @in %x, @in %w : memref<6x8xf32>, memref<6x4xf32>, memref<4x8xf32>
  glow_inst.add @out %y, @in %r, @in %v : memref<6x2x4xf32>, memref<6x2x4xf32>, memref<6x2x4xf32, strided<[0, 1, 2]>>
  glow_inst.dealloc_activation %p : memref<6x8xf32>
  %q = glow_inst.alloc_activation : memref<6x8xf32>
  %s = glow_inst.tensor_view %q : memref<6x8xf32> to memref<6x2x4xf32>
  glow_inst.matmul @out %q, @in %x, @in %w : memref<6x8xf32>, memref<6x4xf32>, memref<4x8xf32>
  glow_inst.relu @out %z, @in %s : memref<6x2x4xf32>, memref<6x2x4xf32>
  glow_inst.transpose @out %t, @in %q permutation [1, 0] : memref<8x6xf32>, memref<6x8xf32>
  glow_inst.dealloc_activation %q : memref<6x8xf32>
  func.return
}

// CHECK:      func.func @not_reshaped(
// CHECK:      glow_inst.matmul @out %p, @in %x, @in %w :
// CHECK-NEXT: glow_inst.add @out %y, @in %r, @in %v
// CHECK:      glow_inst.matmul @out %q, @in %x, @in %w :
// CHECK-NEXT: glow_inst.relu @out %z, @in %s

// -----

// An epilogue reads an operand that an instruction has twice from one argument, beside the accumulator.

func.func @twice(%x: memref<6x4xf32> {glow.qualifier = "in"}, %w: memref<4x8xf32> {glow.qualifier = "in"},
    %m: memref<6x8xf32> {glow.qualifier = "in"}, %y: memref<6x8xf32> {glow.qualifier = "out"}) {
  %p = glow_inst.alloc_activation : memref<6x8xf32>
  glow_inst.matmul @out %p, @in %x, @in %w : memref<6x8xf32>, memref<6x4xf32>, memref<4x8xf32>
  glow_inst.multiply_add @out %y, @in %p, @in %m, @in %m : memref<6x8xf32>, memref<6x8xf32>, memref<6x8xf32>, memref<6x8xf32>
  glow_inst.dealloc_activation %p : memref<6x8xf32>
  func.return
}

// CHECK:      func.func @twice(
// CHECK-NEXT:   glow_inst.matmul @out %y, @in %x, @in %w {{.*}} epilogue @in %m : memref<6x8xf32> {
// CHECK-NEXT:   ^bb0(%[[P:.*]]: f32, %[[M:.*]]: f32):
// CHECK-NEXT:     %[[R:.*]] = glow.multiply_add %[[P]], %[[M]], %[[M]] : (f32, f32, f32) -> f32
// CHECK-NEXT:     glow_inst.yield %[[R]] : f32
