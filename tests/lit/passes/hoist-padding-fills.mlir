// RUN: glow-opt %s --hoist-padding-fills --split-input-file | filecheck %s

// The borders are filled first; %b is over when %c begins, and becomes the same buffer, whose border is still there.

func.func @main(%x: memref<2xf32> {glow.qualifier = "in"}, %y: memref<2xf32> {glow.qualifier = "out"}, %z: memref<8xf32> {glow.qualifier = "out"}) {
  %b = glow_inst.alloc_activation : memref<4xf32>
  %b_low = glow_inst.tensor_view %b : memref<4xf32> to memref<1xf32>
  %b_high = glow_inst.tensor_view %b : memref<4xf32> to memref<1xf32, strided<[1], offset: 3>>
  %b_inside = glow_inst.tensor_view %b : memref<4xf32> to memref<2xf32, strided<[1], offset: 1>>
  glow_inst.exp @out %b_inside, @in %x : memref<2xf32, strided<[1], offset: 1>>, memref<2xf32>
  glow_inst.splat @out %b_low value 1.0 : memref<1xf32>
  glow_inst.splat @out %b_high value 2.0 : memref<1xf32, strided<[1], offset: 3>>
  %a = glow_inst.alloc_activation : memref<2xf32>
  %b_left = glow_inst.tensor_view %b : memref<4xf32> to memref<2xf32>
  %b_right = glow_inst.tensor_view %b : memref<4xf32> to memref<2xf32, strided<[1], offset: 2>>
  glow_inst.add @out %a, @in %b_left, @in %b_right : memref<2xf32>, memref<2xf32>, memref<2xf32, strided<[1], offset: 2>>
  glow_inst.dealloc_activation %b : memref<4xf32>
  %d = glow_inst.alloc_activation : memref<2xf32>
  glow_inst.exp @out %d, @in %a : memref<2xf32>, memref<2xf32>
  glow_inst.dealloc_activation %a : memref<2xf32>
  %c = glow_inst.alloc_activation : memref<4xf32>
  %c_low = glow_inst.tensor_view %c : memref<4xf32> to memref<1xf32>
  %c_high = glow_inst.tensor_view %c : memref<4xf32> to memref<1xf32, strided<[1], offset: 3>>
  %c_inside = glow_inst.tensor_view %c : memref<4xf32> to memref<2xf32, strided<[1], offset: 1>>
  glow_inst.splat @out %c_high value 2.0 : memref<1xf32, strided<[1], offset: 3>>
  glow_inst.log @out %c_inside, @in %d : memref<2xf32, strided<[1], offset: 1>>, memref<2xf32>
  glow_inst.splat @out %c_low value 1.0 : memref<1xf32>
  %c_left = glow_inst.tensor_view %c : memref<4xf32> to memref<2xf32>
  glow_inst.mul @out %y, @in %c_left, @in %d : memref<2xf32>, memref<2xf32>, memref<2xf32>
  glow_inst.dealloc_activation %c : memref<4xf32>
  glow_inst.dealloc_activation %d : memref<2xf32>
  %e = glow_inst.alloc_activation : memref<8xf32>
  glow_inst.splat @out %e value 3.0 : memref<8xf32>
  glow_inst.exp @out %z, @in %e : memref<8xf32>, memref<8xf32>
  glow_inst.dealloc_activation %e : memref<8xf32>
  func.return
}

// CHECK-LABEL: func.func @main
// CHECK-NEXT:    %b = glow_inst.alloc_activation : memref<4xf32>
// CHECK:         glow_inst.splat @out %b_low value 1.0 : memref<1xf32>
// CHECK-NEXT:    glow_inst.splat @out %b_high value 2.0 : memref<1xf32, strided<[1], offset: 3>>
// CHECK-NEXT:    glow_inst.exp @out %b_inside, @in %x
// CHECK-NEXT:    %a = glow_inst.alloc_activation : memref<2xf32>
// CHECK-NEXT:    glow_inst.add @out %a, @in %b_left, @in %b_right
// CHECK-NEXT:    %d = glow_inst.alloc_activation : memref<2xf32>
// CHECK-NEXT:    glow_inst.exp @out %d, @in %a
// CHECK-NEXT:    glow_inst.dealloc_activation %a : memref<2xf32>
// CHECK-NEXT:    glow_inst.log @out %b_inside, @in %d
// CHECK-NEXT:    glow_inst.mul @out %y, @in %b_left, @in %d
// CHECK-NEXT:    glow_inst.dealloc_activation %b : memref<4xf32>
// CHECK-NEXT:    glow_inst.dealloc_activation %d : memref<2xf32>
// CHECK-NOT:     %c

// -----

// Of two buffers that are alive together, each is taken up by the next that finds it free.

func.func @in_turns(%x: memref<2xf32> {glow.qualifier = "in"}, %y: memref<2xf32> {glow.qualifier = "out"}) {
  %a = glow_inst.alloc_activation : memref<3xf32>
  %a_low = glow_inst.tensor_view %a : memref<3xf32> to memref<1xf32>
  %a_inside = glow_inst.tensor_view %a : memref<3xf32> to memref<2xf32, strided<[1], offset: 1>>
  %a_left = glow_inst.tensor_view %a : memref<3xf32> to memref<2xf32>
  glow_inst.splat @out %a_low value 1.0 : memref<1xf32>
  glow_inst.exp @out %a_inside, @in %x : memref<2xf32, strided<[1], offset: 1>>, memref<2xf32>
  %b = glow_inst.alloc_activation : memref<3xf32>
  %b_low = glow_inst.tensor_view %b : memref<3xf32> to memref<1xf32>
  %b_inside = glow_inst.tensor_view %b : memref<3xf32> to memref<2xf32, strided<[1], offset: 1>>
  %b_left = glow_inst.tensor_view %b : memref<3xf32> to memref<2xf32>
  glow_inst.splat @out %b_low value 1.0 : memref<1xf32>
  glow_inst.exp @out %b_inside, @in %a_left : memref<2xf32, strided<[1], offset: 1>>, memref<2xf32>
  glow_inst.dealloc_activation %a : memref<3xf32>
  %c = glow_inst.alloc_activation : memref<3xf32>
  %c_low = glow_inst.tensor_view %c : memref<3xf32> to memref<1xf32>
  %c_inside = glow_inst.tensor_view %c : memref<3xf32> to memref<2xf32, strided<[1], offset: 1>>
  %c_left = glow_inst.tensor_view %c : memref<3xf32> to memref<2xf32>
  glow_inst.splat @out %c_low value 1.0 : memref<1xf32>
  glow_inst.exp @out %c_inside, @in %b_left : memref<2xf32, strided<[1], offset: 1>>, memref<2xf32>
  glow_inst.dealloc_activation %b : memref<3xf32>
  glow_inst.exp @out %y, @in %c_left : memref<2xf32>, memref<2xf32>
  glow_inst.dealloc_activation %c : memref<3xf32>
  func.return
}

// CHECK-LABEL: func.func @in_turns
// CHECK:         glow_inst.exp @out %a_inside, @in %x
// CHECK:         glow_inst.exp @out %b_inside, @in %a_left
// CHECK-NEXT:    glow_inst.exp @out %a_inside, @in %b_left
// CHECK-NEXT:    glow_inst.dealloc_activation %b : memref<3xf32>
// CHECK-NEXT:    glow_inst.exp @out %y, @in %a_left
// CHECK-NEXT:    glow_inst.dealloc_activation %a : memref<3xf32>

// -----

// Not where the memory between the two is needed: %big is alive when most bytes are.

func.func @memory(%x: memref<2xf32> {glow.qualifier = "in"}, %y: memref<2xf32> {glow.qualifier = "out"}) {
  %b = glow_inst.alloc_activation : memref<3xf32>
  %b_low = glow_inst.tensor_view %b : memref<3xf32> to memref<1xf32>
  %b_inside = glow_inst.tensor_view %b : memref<3xf32> to memref<2xf32, strided<[1], offset: 1>>
  %b_left = glow_inst.tensor_view %b : memref<3xf32> to memref<2xf32>
  glow_inst.splat @out %b_low value 1.0 : memref<1xf32>
  glow_inst.exp @out %b_inside, @in %x : memref<2xf32, strided<[1], offset: 1>>, memref<2xf32>
  %big = glow_inst.alloc_activation : memref<2x2xf32>
  %top = glow_inst.tensor_view %big : memref<2x2xf32> to memref<2xf32>
  %bottom = glow_inst.tensor_view %big : memref<2x2xf32> to memref<2xf32, strided<[1], offset: 2>>
  glow_inst.exp @out %top, @in %b_left : memref<2xf32>, memref<2xf32>
  glow_inst.exp @out %bottom, @in %b_inside : memref<2xf32, strided<[1], offset: 2>>, memref<2xf32, strided<[1], offset: 1>>
  glow_inst.dealloc_activation %b : memref<3xf32>
  %big2 = glow_inst.alloc_activation : memref<2x2xf32>
  glow_inst.exp @out %big2, @in %big : memref<2x2xf32>, memref<2x2xf32>
  glow_inst.dealloc_activation %big : memref<2x2xf32>
  %c = glow_inst.alloc_activation : memref<3xf32>
  %c_low = glow_inst.tensor_view %c : memref<3xf32> to memref<1xf32>
  %c_inside = glow_inst.tensor_view %c : memref<3xf32> to memref<2xf32, strided<[1], offset: 1>>
  %c_left = glow_inst.tensor_view %c : memref<3xf32> to memref<2xf32>
  %row = glow_inst.tensor_view %big2 : memref<2x2xf32> to memref<2xf32>
  glow_inst.splat @out %c_low value 1.0 : memref<1xf32>
  glow_inst.exp @out %c_inside, @in %row : memref<2xf32, strided<[1], offset: 1>>, memref<2xf32>
  glow_inst.dealloc_activation %big2 : memref<2x2xf32>
  glow_inst.exp @out %y, @in %c_left : memref<2xf32>, memref<2xf32>
  glow_inst.dealloc_activation %c : memref<3xf32>
  func.return
}

// CHECK-LABEL: func.func @memory
// CHECK:         glow_inst.splat @out %b_low
// CHECK:         glow_inst.splat @out %c_low
// CHECK-NEXT:    glow_inst.exp @out %c_inside

// -----

// Not with another number in the border, not where something else writes or reads the border before it is filled, and not in an output.

func.func @not(%x: memref<2xf32> {glow.qualifier = "in"}, %y: memref<2xf32> {glow.qualifier = "out"}, %z: memref<3xf32> {glow.qualifier = "out"}) {
  %b = glow_inst.alloc_activation : memref<3xf32>
  %b_low = glow_inst.tensor_view %b : memref<3xf32> to memref<1xf32>
  %b_inside = glow_inst.tensor_view %b : memref<3xf32> to memref<2xf32, strided<[1], offset: 1>>
  %b_left = glow_inst.tensor_view %b : memref<3xf32> to memref<2xf32>
  glow_inst.exp @out %b_inside, @in %x : memref<2xf32, strided<[1], offset: 1>>, memref<2xf32>
  glow_inst.splat @out %b_low value 1.0 : memref<1xf32>
  %a = glow_inst.alloc_activation : memref<2xf32>
  glow_inst.exp @out %a, @in %b_left : memref<2xf32>, memref<2xf32>
  glow_inst.dealloc_activation %b : memref<3xf32>
  %c = glow_inst.alloc_activation : memref<3xf32>
  %c_low = glow_inst.tensor_view %c : memref<3xf32> to memref<1xf32>
  %c_inside = glow_inst.tensor_view %c : memref<3xf32> to memref<2xf32, strided<[1], offset: 1>>
  %c_left = glow_inst.tensor_view %c : memref<3xf32> to memref<2xf32>
  glow_inst.exp @out %c_inside, @in %a : memref<2xf32, strided<[1], offset: 1>>, memref<2xf32>
  glow_inst.splat @out %c_low value 2.0 : memref<1xf32>
  glow_inst.exp @out %a, @in %c_left : memref<2xf32>, memref<2xf32>
  glow_inst.dealloc_activation %c : memref<3xf32>
  %d = glow_inst.alloc_activation : memref<3xf32>
  %d_low = glow_inst.tensor_view %d : memref<3xf32> to memref<1xf32>
  %d_inside = glow_inst.tensor_view %d : memref<3xf32> to memref<2xf32, strided<[1], offset: 1>>
  %d_left = glow_inst.tensor_view %d : memref<3xf32> to memref<2xf32>
  glow_inst.exp @out %d_left, @in %a : memref<2xf32>, memref<2xf32>
  glow_inst.splat @out %d_low value 1.0 : memref<1xf32>
  glow_inst.exp @out %a, @in %d_inside : memref<2xf32>, memref<2xf32, strided<[1], offset: 1>>
  glow_inst.dealloc_activation %d : memref<3xf32>
  %e = glow_inst.alloc_activation : memref<3xf32>
  %e_low = glow_inst.tensor_view %e : memref<3xf32> to memref<1xf32>
  %e_inside = glow_inst.tensor_view %e : memref<3xf32> to memref<2xf32, strided<[1], offset: 1>>
  glow_inst.exp @out %e_inside, @in %a : memref<2xf32, strided<[1], offset: 1>>, memref<2xf32>
  glow_inst.dealloc_activation %a : memref<2xf32>
  glow_inst.exp @out %z, @in %e : memref<3xf32>, memref<3xf32>
  glow_inst.splat @out %e_low value 1.0 : memref<1xf32>
  glow_inst.exp @out %z, @in %e : memref<3xf32>, memref<3xf32>
  glow_inst.dealloc_activation %e : memref<3xf32>
  %z_low = glow_inst.tensor_view %z : memref<3xf32> to memref<1xf32>
  glow_inst.splat @out %z_low value 1.0 : memref<1xf32>
  glow_inst.exp @out %y, @in %x : memref<2xf32>, memref<2xf32>
  func.return
}

// CHECK-LABEL: func.func @not
// CHECK:         glow_inst.splat @out %b_low
// CHECK-NEXT:    glow_inst.exp @out %b_inside
// CHECK:         glow_inst.splat @out %c_low value 2.0
// CHECK-NEXT:    glow_inst.exp @out %c_inside
// CHECK:         glow_inst.exp @out %d_left
// CHECK-NEXT:    glow_inst.splat @out %d_low
// CHECK:         glow_inst.exp @out %e_inside
// CHECK:         glow_inst.exp @out %z, @in %e
// CHECK-NEXT:    glow_inst.splat @out %e_low
// CHECK-NEXT:    glow_inst.exp @out %z, @in %e
// CHECK-NEXT:    glow_inst.dealloc_activation %e
// CHECK-NEXT:    glow_inst.splat @out %z_low

// -----

// Not where fills overlap: the last one counts.

func.func @overlap(%x: memref<2xf32> {glow.qualifier = "in"}, %y: memref<2xf32> {glow.qualifier = "out"}) {
  %b = glow_inst.alloc_activation : memref<2xf32>
  %b_low = glow_inst.tensor_view %b : memref<2xf32> to memref<1xf32>
  glow_inst.splat @out %b value 1.0 : memref<2xf32>
  glow_inst.splat @out %b_low value 2.0 : memref<1xf32>
  glow_inst.exp @out %y, @in %b : memref<2xf32>, memref<2xf32>
  glow_inst.dealloc_activation %b : memref<2xf32>
  %c = glow_inst.alloc_activation : memref<2xf32>
  %c_low = glow_inst.tensor_view %c : memref<2xf32> to memref<1xf32>
  glow_inst.splat @out %c_low value 2.0 : memref<1xf32>
  glow_inst.splat @out %c value 1.0 : memref<2xf32>
  glow_inst.exp @out %y, @in %c : memref<2xf32>, memref<2xf32>
  glow_inst.dealloc_activation %c : memref<2xf32>
  func.return
}

// CHECK-LABEL: func.func @overlap
// CHECK:         glow_inst.splat @out %b value 1.0
// CHECK-NEXT:    glow_inst.splat @out %b_low
// CHECK:         glow_inst.splat @out %c_low
// CHECK-NEXT:    glow_inst.splat @out %c value 1.0
