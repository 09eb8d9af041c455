// RUN: glow-opt %s --eliminate-copies --split-input-file | filecheck %s

// The producer writes into the output.

func.func @main(%x: memref<4xf32> {glow.qualifier = "in"}, %y: memref<4xf32> {glow.qualifier = "out"}) {
  %a = glow_inst.alloc_activation : memref<4xf32>
  glow_inst.relu @out %a, @in %x : memref<4xf32>, memref<4xf32>
  glow_inst.copy @out %y, @in %a : memref<4xf32>, memref<4xf32>
  glow_inst.dealloc_activation %a : memref<4xf32>
  func.return
}

// CHECK: func.func @main(%x: memref<4xf32> {glow.qualifier = "in"}, %y: memref<4xf32> {glow.qualifier = "out"}) {
// CHECK-NEXT:   glow_inst.relu @out %y, @in %x : memref<4xf32>, memref<4xf32>
// CHECK-NEXT:   func.return
// CHECK-NEXT: }

// -----

// Both producers write into their parts of a concatenation, one of them through a reshape; parts that interleave do not overlap.

func.func @concat(%x: memref<2x3xf32> {glow.qualifier = "in"}, %y: memref<2x4xf32> {glow.qualifier = "out"}) {
  %a = glow_inst.alloc_activation : memref<2x3xf32>
  glow_inst.relu @out %a, @in %x : memref<2x3xf32>, memref<2x3xf32>
  %b = glow_inst.alloc_activation : memref<2xf32>
  %b1 = glow_inst.tensor_view %b : memref<2xf32> to memref<2x1xf32>
  glow_inst.reduce_sum @out %b, @in %a axes [1] : memref<2xf32>, memref<2x3xf32>
  %c0 = glow_inst.tensor_view %y : memref<2x4xf32> to memref<2x3xf32, strided<[4, 1]>>
  %c1 = glow_inst.tensor_view %y : memref<2x4xf32> to memref<2x1xf32, strided<[4, 1], offset: 3>>
  glow_inst.copy @out %c0, @in %a : memref<2x3xf32, strided<[4, 1]>>, memref<2x3xf32>
  glow_inst.dealloc_activation %a : memref<2x3xf32>
  glow_inst.copy @out %c1, @in %b1 : memref<2x1xf32, strided<[4, 1], offset: 3>>, memref<2x1xf32>
  glow_inst.dealloc_activation %b : memref<2xf32>
  func.return
}

// CHECK: func.func @concat(%x: memref<2x3xf32> {glow.qualifier = "in"}, %y: memref<2x4xf32> {glow.qualifier = "out"}) {
// CHECK-NEXT:   %y_1 = glow_inst.tensor_view %y : memref<2x4xf32> to memref<2xf32, strided<[4], offset: 3>>
// CHECK-NEXT:   %c0 = glow_inst.tensor_view %y : memref<2x4xf32> to memref<2x3xf32, strided<[4, 1]>>
// CHECK-NEXT:   glow_inst.relu @out %c0, @in %x : memref<2x3xf32, strided<[4, 1]>>, memref<2x3xf32>
// CHECK-NEXT:   glow_inst.reduce_sum @out %y_1, @in %c0 axes [1] : memref<2xf32, strided<[4], offset: 3>>, memref<2x3xf32, strided<[4, 1]>>
// CHECK-NEXT:   func.return
// CHECK-NEXT: }

// -----

// The fill of a padded buffer moves in front of the producer.

func.func @pad(%x: memref<2xf32> {glow.qualifier = "in"}, %y: memref<4xf32> {glow.qualifier = "out"}) {
  %a = glow_inst.alloc_activation : memref<2xf32>
  glow_inst.relu @out %a, @in %x : memref<2xf32>, memref<2xf32>
  %inside = glow_inst.tensor_view %y : memref<4xf32> to memref<2xf32, strided<[1], offset: 1>>
  glow_inst.splat @out %y value 0.0 : memref<4xf32>
  glow_inst.copy @out %inside, @in %a : memref<2xf32, strided<[1], offset: 1>>, memref<2xf32>
  glow_inst.dealloc_activation %a : memref<2xf32>
  func.return
}

// CHECK: func.func @pad(%x: memref<2xf32> {glow.qualifier = "in"}, %y: memref<4xf32> {glow.qualifier = "out"}) {
// CHECK-NEXT:   %inside = glow_inst.tensor_view %y : memref<4xf32> to memref<2xf32, strided<[1], offset: 1>>
// CHECK-NEXT:   glow_inst.splat @out %y value 0.0 : memref<4xf32>
// CHECK-NEXT:   glow_inst.relu @out %inside, @in %x : memref<2xf32, strided<[1], offset: 1>>, memref<2xf32>
// CHECK-NEXT:   func.return
// CHECK-NEXT: }

// -----

// Readers of a copy of an input read the input, here a part of it.

func.func @read_source(%x: memref<4xf32> {glow.qualifier = "in"}, %y: memref<2xf32> {glow.qualifier = "out"}) {
  %part = glow_inst.tensor_view %x : memref<4xf32> to memref<2xf32, strided<[2]>>
  %a = glow_inst.alloc_activation : memref<2xf32>
  glow_inst.copy @out %a, @in %part : memref<2xf32>, memref<2xf32, strided<[2]>>
  glow_inst.relu @out %y, @in %a : memref<2xf32>, memref<2xf32>
  glow_inst.dealloc_activation %a : memref<2xf32>
  func.return
}

// CHECK: func.func @read_source(%x: memref<4xf32> {glow.qualifier = "in"}, %y: memref<2xf32> {glow.qualifier = "out"}) {
// CHECK-NEXT:   %part = glow_inst.tensor_view %x : memref<4xf32> to memref<2xf32, strided<[2]>>
// CHECK-NEXT:   glow_inst.relu @out %y, @in %part : memref<2xf32>, memref<2xf32, strided<[2]>>
// CHECK-NEXT:   func.return
// CHECK-NEXT: }

// -----

// Not so if the source is overwritten while the copy is still read.

func.func @source_changes(%x: memref<2xf32> {glow.qualifier = "in"}, %y: memref<2xf32> {glow.qualifier = "out"}, %z: memref<2xf32> {glow.qualifier = "out"}) {
  %a = glow_inst.alloc_activation : memref<2xf32>
  glow_inst.relu @out %y, @in %x : memref<2xf32>, memref<2xf32>
  glow_inst.copy @out %a, @in %y : memref<2xf32>, memref<2xf32>
  glow_inst.exp @out %y, @in %x : memref<2xf32>, memref<2xf32>
  glow_inst.add @out %z, @in %a, @in %y : memref<2xf32>, memref<2xf32>, memref<2xf32>
  glow_inst.dealloc_activation %a : memref<2xf32>
  func.return
}

// CHECK: func.func @source_changes(%x: memref<2xf32> {glow.qualifier = "in"}, %y: memref<2xf32> {glow.qualifier = "out"}, %z: memref<2xf32> {glow.qualifier = "out"}) {
// CHECK-NEXT:   glow_inst.relu @out %y, @in %x : memref<2xf32>, memref<2xf32>
// CHECK-NEXT:   %a = glow_inst.alloc_activation : memref<2xf32>
// CHECK-NEXT:   glow_inst.copy @out %a, @in %y : memref<2xf32>, memref<2xf32>
// CHECK-NEXT:   glow_inst.exp @out %y, @in %x : memref<2xf32>, memref<2xf32>
// CHECK-NEXT:   glow_inst.add @out %z, @in %a, @in %y : memref<2xf32>, memref<2xf32>, memref<2xf32>
// CHECK-NEXT:   glow_inst.dealloc_activation %a : memref<2xf32>
// CHECK-NEXT:   func.return
// CHECK-NEXT: }

// -----

// Not so if the destination is still read before the copy.

func.func @dest_in_use(%x: memref<2xf32> {glow.qualifier = "in"}, %y: memref<2xf32> {glow.qualifier = "out"}) {
  glow_inst.relu @out %y, @in %x : memref<2xf32>, memref<2xf32>
  %a = glow_inst.alloc_activation : memref<2xf32>
  glow_inst.exp @out %a, @in %x : memref<2xf32>, memref<2xf32>
  %b = glow_inst.alloc_activation : memref<2xf32>
  glow_inst.add @out %b, @in %a, @in %y : memref<2xf32>, memref<2xf32>, memref<2xf32>
  glow_inst.copy @out %y, @in %a : memref<2xf32>, memref<2xf32>
  glow_inst.dealloc_activation %a : memref<2xf32>
  %part = glow_inst.tensor_view %y : memref<2xf32> to memref<1xf32>
  %half = glow_inst.tensor_view %b : memref<2xf32> to memref<1xf32>
  glow_inst.exp @out %part, @in %half : memref<1xf32>, memref<1xf32>
  glow_inst.dealloc_activation %b : memref<2xf32>
  func.return
}

// CHECK: func.func @dest_in_use(%x: memref<2xf32> {glow.qualifier = "in"}, %y: memref<2xf32> {glow.qualifier = "out"}) {
// CHECK-NEXT:   %part = glow_inst.tensor_view %y : memref<2xf32> to memref<1xf32>
// CHECK-NEXT:   glow_inst.relu @out %y, @in %x : memref<2xf32>, memref<2xf32>
// CHECK-NEXT:   %a = glow_inst.alloc_activation : memref<2xf32>
// CHECK-NEXT:   glow_inst.exp @out %a, @in %x : memref<2xf32>, memref<2xf32>
// CHECK-NEXT:   %b = glow_inst.alloc_activation : memref<2xf32>
// CHECK-NEXT:   %half = glow_inst.tensor_view %b : memref<2xf32> to memref<1xf32>
// CHECK-NEXT:   glow_inst.add @out %b, @in %a, @in %y : memref<2xf32>, memref<2xf32>, memref<2xf32>
// CHECK-NEXT:   glow_inst.copy @out %y, @in %a : memref<2xf32>, memref<2xf32>
// CHECK-NEXT:   glow_inst.dealloc_activation %a : memref<2xf32>
// CHECK-NEXT:   glow_inst.exp @out %part, @in %half : memref<1xf32>, memref<1xf32>
// CHECK-NEXT:   glow_inst.dealloc_activation %b : memref<2xf32>
// CHECK-NEXT:   func.return
// CHECK-NEXT: }

// -----

// An input that is an output has to be copied.

func.func @input_is_output(%x: memref<2xf32> {glow.qualifier = "in"}, %y: memref<2xf32> {glow.qualifier = "out"}) {
  glow_inst.copy @out %y, @in %x : memref<2xf32>, memref<2xf32>
  func.return
}

// CHECK: func.func @input_is_output(%x: memref<2xf32> {glow.qualifier = "in"}, %y: memref<2xf32> {glow.qualifier = "out"}) {
// CHECK-NEXT:   glow_inst.copy @out %y, @in %x : memref<2xf32>, memref<2xf32>
// CHECK-NEXT:   func.return
// CHECK-NEXT: }
