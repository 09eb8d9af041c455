// RUN: glow-opt %s --schedule-nodes --split-input-file | filecheck %s

// Each large intermediate result is reduced before the next one is made.

func.func @main(%x: tensor<4xf32>, %y: tensor<4xf32>) -> tensor<4xf32> {
  %a = glow.broadcast %x : (tensor<4xf32>) -> tensor<100x4xf32>
  %b = glow.broadcast %y : (tensor<4xf32>) -> tensor<100x4xf32>
  %c = glow.exp %a : (tensor<100x4xf32>) -> tensor<100x4xf32>
  %d = glow.exp %b : (tensor<100x4xf32>) -> tensor<100x4xf32>
  %e = glow.reduce_sum %c axes [0] : (tensor<100x4xf32>) -> tensor<4xf32>
  %f = glow.reduce_sum %d axes [0] : (tensor<100x4xf32>) -> tensor<4xf32>
  %g = glow.add %e, %f : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  func.return %g : tensor<4xf32>
}

// CHECK: func.func @main(%x: tensor<4xf32>, %y: tensor<4xf32>) -> tensor<4xf32> {
// CHECK-NEXT:   %a = glow.broadcast %x : (tensor<4xf32>) -> tensor<100x4xf32>
// CHECK-NEXT:   %c = glow.exp %a : (tensor<100x4xf32>) -> tensor<100x4xf32>
// CHECK-NEXT:   %e = glow.reduce_sum %c axes [0] : (tensor<100x4xf32>) -> tensor<4xf32>
// CHECK-NEXT:   %b = glow.broadcast %y : (tensor<4xf32>) -> tensor<100x4xf32>
// CHECK-NEXT:   %d = glow.exp %b : (tensor<100x4xf32>) -> tensor<100x4xf32>
// CHECK-NEXT:   %f = glow.reduce_sum %d axes [0] : (tensor<100x4xf32>) -> tensor<4xf32>
// CHECK-NEXT:   %g = glow.add %e, %f : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
// CHECK-NEXT:   func.return %g : tensor<4xf32>
// CHECK-NEXT: }

// -----

// An order that cannot be improved stays as it is.

func.func @chain(%x: tensor<4xf32>) -> tensor<4xf32> {
  %a = glow.exp %x : (tensor<4xf32>) -> tensor<4xf32>
  %b = glow.neg %x : (tensor<4xf32>) -> tensor<4xf32>
  %c = glow.add %a, %b : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  func.return %c : tensor<4xf32>
}

// CHECK: func.func @chain(%x: tensor<4xf32>) -> tensor<4xf32> {
// CHECK-NEXT:   %a = glow.exp %x : (tensor<4xf32>) -> tensor<4xf32>
// CHECK-NEXT:   %b = glow.neg %x : (tensor<4xf32>) -> tensor<4xf32>
// CHECK-NEXT:   %c = glow.add %a, %b : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
// CHECK-NEXT:   func.return %c : tensor<4xf32>
// CHECK-NEXT: }

// -----

// Instructions have effects and are not reordered.

func.func @program(%x: memref<4xf32> {glow.qualifier = "in"}, %y: memref<4xf32> {glow.qualifier = "out"}) {
  glow_inst.exp @out %y, @in %x : memref<4xf32>, memref<4xf32>
  glow_inst.relu @out %y, @in %x : memref<4xf32>, memref<4xf32>
  func.return
}

// CHECK: func.func @program(%x: memref<4xf32> {glow.qualifier = "in"}, %y: memref<4xf32> {glow.qualifier = "out"}) {
// CHECK-NEXT:   glow_inst.exp @out %y, @in %x : memref<4xf32>, memref<4xf32>
// CHECK-NEXT:   glow_inst.relu @out %y, @in %x : memref<4xf32>, memref<4xf32>
// CHECK-NEXT:   func.return
// CHECK-NEXT: }

// -----

// The new value of a state is computed after what reads the old one, in whose place it then is.

func.func @state(%x: tensor<4xf32>, %s: tensor<4xf32> {glow.state = 1}) -> (tensor<4xf32>, tensor<4xf32>) {
  %new = glow.add %s, %x : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %old = glow.exp %s : (tensor<4xf32>) -> tensor<4xf32>
  func.return %old, %new : tensor<4xf32>, tensor<4xf32>
}

// CHECK: func.func @state
// CHECK-NEXT:   %old = glow.exp %s
// CHECK-NEXT:   %new = glow.add %s, %x

// -----

// What needs the new value comes after it, and so do both of two values that read each other's
// state.

func.func @needed(%s: tensor<4xf32> {glow.state = 1}) -> (tensor<4xf32>, tensor<4xf32>) {
  %new = glow.exp %s : (tensor<4xf32>) -> tensor<4xf32>
  %change = glow.sub %new, %s : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  func.return %change, %new : tensor<4xf32>, tensor<4xf32>
}

// CHECK: func.func @needed
// CHECK-NEXT:   %new = glow.exp %s
// CHECK-NEXT:   %change = glow.sub %new, %s

func.func @both(%a: tensor<4xf32> {glow.state = 0}, %b: tensor<4xf32> {glow.state = 1}) -> (tensor<4xf32>, tensor<4xf32>) {
  %c = glow.exp %b : (tensor<4xf32>) -> tensor<4xf32>
  %d = glow.neg %a : (tensor<4xf32>) -> tensor<4xf32>
  func.return %c, %d : tensor<4xf32>, tensor<4xf32>
}

// CHECK: func.func @both
// CHECK:   func.return
