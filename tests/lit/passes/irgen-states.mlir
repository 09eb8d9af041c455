// RUN: glow-opt %s --split-input-file --irgen --eliminate-copies --verify-memory | filecheck %s

// A cache: what is kept stays where it is, and new rows are computed in their place.

func.func @cache(%x: tensor<1x2xf32>, %s: tensor<5x2xf32> {glow.name = "past", glow.state = 1}) -> (tensor<2xf32>, tensor<5x2xf32> {glow.name = "present"}) {
  %kept = glow.slice %s sizes [4, 2] : (tensor<5x2xf32>) -> tensor<4x2xf32>
  %new = glow.relu %x : (tensor<1x2xf32>) -> tensor<1x2xf32>
  %whole = glow.concat %kept, %new axis 0 : (tensor<4x2xf32>, tensor<1x2xf32>) -> tensor<5x2xf32>
  %sum = glow.reduce_sum %whole axes [0] : (tensor<5x2xf32>) -> tensor<2xf32>
  func.return %sum, %whole : tensor<2xf32>, tensor<5x2xf32>
}

// CHECK: func.func @cache(%x: memref<1x2xf32> {glow.qualifier = "in"}, %s: memref<5x2xf32> {glow.name = "past", glow.state = 1 : i64, glow.result = "present",
// CHECK-SAME: glow.qualifier = "inout"}, %sum: memref<2xf32> {glow.qualifier = "out"}) {
// CHECK-NEXT:   [[NEW:%.*]] = glow_inst.tensor_view %s : memref<5x2xf32> to memref<1x2xf32, strided<[2, 1], offset: 8>>
// CHECK-NEXT:   glow_inst.relu @out [[NEW]], @in %x
// CHECK-NEXT:   glow_inst.reduce_sum @out %sum, @in %s axes [0]
// CHECK-NEXT:   func.return

// -----

// The old value is read after the new one is computed, so the copy stays.

func.func @old_value(%s: tensor<4xf32> {glow.state = 1}) -> (tensor<4xf32>, tensor<4xf32>) {
  %new = glow.relu %s : (tensor<4xf32>) -> tensor<4xf32>
  %difference = glow.sub %s, %new : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  func.return %difference, %new : tensor<4xf32>, tensor<4xf32>
}

// CHECK: func.func @old_value
// CHECK: glow_inst.relu @out %new, @in %s
// CHECK-NEXT: glow_inst.sub @out %difference, @in %s, @in %new
// CHECK-NEXT: glow_inst.copy @out %s, @in %new

// -----

// Two states that change places: one is saved before either changes.

func.func @swap(%a: tensor<3xf32> {glow.state = 1}, %b: tensor<3xf32> {glow.state = 0}) -> (tensor<3xf32>, tensor<3xf32>) {
  func.return %a, %b : tensor<3xf32>, tensor<3xf32>
}

// CHECK: func.func @swap
// CHECK: [[SAVED:%.*]] = glow_inst.alloc_activation
// CHECK: glow_inst.copy @out [[SAVED]]
// CHECK: func.return
