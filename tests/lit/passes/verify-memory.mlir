// RUN: glow-opt %s --verify-memory --split-input-file --verify-diagnostics | filecheck %s

// A program without faults passes unchanged: parts of one buffer that do not overlap, an operand updated in place.

func.func @good(%x: memref<2x2xf32> {glow.qualifier = "in"}, %y: memref<2x2xf32> {glow.qualifier = "out"}) {
  %a = glow_inst.alloc_activation : memref<2x4xf32>
  %p = glow_inst.tensor_view %a : memref<2x4xf32> to memref<2x2xf32, strided<[4, 1]>>
  %q = glow_inst.tensor_view %a : memref<2x4xf32> to memref<2x2xf32, strided<[4, 1], offset: 2>>
  glow_inst.relu @out %p, @in %x : memref<2x2xf32, strided<[4, 1]>>, memref<2x2xf32>
  glow_inst.exp @out %q, @in %p : memref<2x2xf32, strided<[4, 1], offset: 2>>, memref<2x2xf32, strided<[4, 1]>>
  glow_inst.copy @out %y, @in %q : memref<2x2xf32>, memref<2x2xf32, strided<[4, 1], offset: 2>>
  glow_inst.dealloc_activation %a : memref<2x4xf32>
  func.return
}

// CHECK: func.func @good
// CHECK-NEXT: glow_inst.alloc_activation

// -----

func.func @use_after_dealloc(%x: memref<2xf32> {glow.qualifier = "in"}, %y: memref<2xf32> {glow.qualifier = "out"}) {
  %a = glow_inst.alloc_activation : memref<2xf32>
  glow_inst.relu @out %a, @in %x : memref<2xf32>, memref<2xf32>
  glow_inst.dealloc_activation %a : memref<2xf32>
  glow_inst.relu @out %y, @in %a : memref<2xf32>, memref<2xf32>
  func.return
}

// CHECK: 'glow_inst.relu' op: expected %a to be alive, found a use after its deallocation

// -----

func.func @double_dealloc(%x: memref<2xf32> {glow.qualifier = "in"}, %y: memref<2xf32> {glow.qualifier = "out"}) {
  %a = glow_inst.alloc_activation : memref<2xf32>
  glow_inst.relu @out %a, @in %x : memref<2xf32>, memref<2xf32>
  glow_inst.relu @out %y, @in %a : memref<2xf32>, memref<2xf32>
  glow_inst.dealloc_activation %a : memref<2xf32>
  glow_inst.dealloc_activation %a : memref<2xf32>
  func.return
}

// CHECK: 'glow_inst.dealloc_activation' op: expected %a to be freed once, found a second time

// -----

func.func @no_dealloc(%x: memref<2xf32> {glow.qualifier = "in"}, %y: memref<2xf32> {glow.qualifier = "out"}) {
  %a = glow_inst.alloc_activation : memref<2xf32>
  glow_inst.relu @out %a, @in %x : memref<2xf32>, memref<2xf32>
  glow_inst.relu @out %y, @in %a : memref<2xf32>, memref<2xf32>
  func.return
}

// CHECK: 'glow_inst.alloc_activation' op (%a): expected %a to be freed, found no deallocation

// -----

func.func @uninitialised(%y: memref<4xf32> {glow.qualifier = "out"}) {
  %a = glow_inst.alloc_activation : memref<8xf32>
  %p = glow_inst.tensor_view %a : memref<8xf32> to memref<4xf32>
  %q = glow_inst.tensor_view %a : memref<8xf32> to memref<4xf32, strided<[1], offset: 4>>
  glow_inst.splat @out %p value 1.0 : memref<4xf32>
  glow_inst.copy @out %y, @in %q : memref<4xf32>, memref<4xf32, strided<[1], offset: 4>>
  glow_inst.dealloc_activation %a : memref<8xf32>
  func.return
}

// CHECK: 'glow_inst.copy' op: expected %a to be written before it is read

// -----

func.func @output_read_first(%y: memref<4xf32> {glow.qualifier = "out"}, %z: memref<4xf32> {glow.qualifier = "out"}) {
  glow_inst.copy @out %z, @in %y : memref<4xf32>, memref<4xf32>
  func.return
}

// CHECK: 'glow_inst.copy' op: expected %y to be written before it is read

// -----

func.func @overlapping_operands(%x: memref<3xf32> {glow.qualifier = "in"}, %y: memref<3xf32> {glow.qualifier = "out"}) {
  %p = glow_inst.tensor_view %y : memref<3xf32> to memref<2xf32>
  %q = glow_inst.tensor_view %y : memref<3xf32> to memref<2xf32, strided<[1], offset: 1>>
  glow_inst.relu @out %y, @in %x : memref<3xf32>, memref<3xf32>
  glow_inst.relu @out %p, @in %q : memref<2xf32>, memref<2xf32, strided<[1], offset: 1>>
  func.return
}

// CHECK: 'glow_inst.relu' op: expected operand 0 (@out) to share no elements with operand 1, found both in %y

// -----

func.func @write_to_input(%x: memref<2xf32> {glow.qualifier = "in"}) {
  glow_inst.splat @out %x value 1.0 : memref<2xf32>
  func.return
}

// CHECK: expected operand 0 (@out) to be writable, found an input

// -----

func.func @write_to_weight() {
  %w = glow_inst.weight dense<1.0> : tensor<1xf32> : memref<1xf32>
  glow_inst.splat @out %w value 1.0 : memref<1xf32>
  func.return
}

// CHECK: expected operand 0 (@out) to be writable, found a weight

// -----

func.func @overlapping_plan(%x: memref<8xf32> {glow.qualifier = "in"}, %y: memref<8xf32> {glow.qualifier = "out"}) {
  %a = glow_inst.alloc_activation {offset = 0 : i64} : memref<8xf32>
  glow_inst.relu @out %a, @in %x : memref<8xf32>, memref<8xf32>
  %b = glow_inst.alloc_activation {offset = 16 : i64} : memref<8xf32>
  glow_inst.relu @out %b, @in %a : memref<8xf32>, memref<8xf32>
  glow_inst.dealloc_activation %a : memref<8xf32>
  glow_inst.relu @out %y, @in %b : memref<8xf32>, memref<8xf32>
  glow_inst.dealloc_activation %b : memref<8xf32>
  func.return
}

// CHECK: 'glow_inst.alloc_activation' op (%b): expected memory of its own, found 32 bytes at offset 16 that overlap %a, 32 bytes at offset 0, which is alive

// -----

func.func @half_planned(%x: memref<8xf32> {glow.qualifier = "in"}, %y: memref<8xf32> {glow.qualifier = "out"}) {
  %a = glow_inst.alloc_activation {offset = 0 : i64} : memref<8xf32>
  glow_inst.relu @out %a, @in %x : memref<8xf32>, memref<8xf32>
  %b = glow_inst.alloc_activation : memref<8xf32>
  glow_inst.relu @out %b, @in %a : memref<8xf32>, memref<8xf32>
  glow_inst.dealloc_activation %a : memref<8xf32>
  glow_inst.relu @out %y, @in %b : memref<8xf32>, memref<8xf32>
  glow_inst.dealloc_activation %b : memref<8xf32>
  func.return
}

// CHECK: 'glow_inst.alloc_activation' op (%b): expected an offset, since other allocations have one

// -----

func.func @outside_arena(%x: memref<8xf32> {glow.qualifier = "in"}, %y: memref<8xf32> {glow.qualifier = "out"}) attributes {glow.arena_size = 32 : i64} {
  %a = glow_inst.alloc_activation {offset = 4 : i64} : memref<8xf32>
  glow_inst.relu @out %a, @in %x : memref<8xf32>, memref<8xf32>
  glow_inst.relu @out %y, @in %a : memref<8xf32>, memref<8xf32>
  glow_inst.dealloc_activation %a : memref<8xf32>
  func.return
}

// CHECK: 'glow_inst.alloc_activation' op (%a): expected 32 bytes at offset 4 to lie inside the arena of 32 bytes

// -----

func.func @overlapping_weights(%y: memref<2xf32> {glow.qualifier = "out"}) {
  %w = glow_inst.weight dense<[1.0, 2.0]> : tensor<2xf32> {offset = 0 : i64} : memref<2xf32>
  %v = glow_inst.weight dense<[3.0, 4.0]> : tensor<2xf32> {offset = 4 : i64} : memref<2xf32>
  glow_inst.add @out %y, @in %w, @in %v : memref<2xf32>, memref<2xf32>, memref<2xf32>
  func.return
}

// CHECK: 'glow_inst.weight' op (%v): expected memory of its own at offset 4, found other weights there
