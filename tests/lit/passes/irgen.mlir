// RUN: glow-opt %s --irgen --split-input-file | filecheck %s

// A node becomes its instruction; a result becomes an output argument.

func.func @main(%x: tensor<2x3xf32> {glow.name = "x"}) -> (tensor<2x3xf32> {glow.name = "y"}) attributes {glow.model = "m"} {
  %a = glow.relu %x : (tensor<2x3xf32>) -> tensor<2x3xf32>
  func.return %a : tensor<2x3xf32>
}

// CHECK: func.func @main(%x: memref<2x3xf32> {glow.name = "x", glow.qualifier = "in"}, %a: memref<2x3xf32> {glow.name = "y", glow.qualifier = "out"}) attributes {glow.model = "m"} {
// CHECK-NEXT:   %a_1 = glow_inst.alloc_activation : memref<2x3xf32>
// CHECK-NEXT:   glow_inst.relu @out %a_1, @in %x : memref<2x3xf32>, memref<2x3xf32>
// CHECK-NEXT:   glow_inst.copy @out %a, @in %a_1 : memref<2x3xf32>, memref<2x3xf32>
// CHECK-NEXT:   glow_inst.dealloc_activation %a_1 : memref<2x3xf32>
// CHECK-NEXT:   func.return
// CHECK-NEXT: }

// -----

// Reshape, broadcast and slice are views, and views compose into one view of the buffer.

func.func @views(%x: tensor<4x6xf32>) -> tensor<2x2x3xf32> {
  %a = glow.exp %x : (tensor<4x6xf32>) -> tensor<4x6xf32>
  %b = glow.slice %a starts [3, 0] sizes [2, 6] strides [-2, 1] : (tensor<4x6xf32>) -> tensor<2x6xf32>
  %c = glow.reshape %b : (tensor<2x6xf32>) -> tensor<2x2x3xf32>
  %d = glow.neg %c : (tensor<2x2x3xf32>) -> tensor<2x2x3xf32>
  func.return %d : tensor<2x2x3xf32>
}

// CHECK: func.func @views(%x: memref<4x6xf32> {glow.qualifier = "in"}, %d: memref<2x2x3xf32> {glow.qualifier = "out"}) {
// CHECK-NEXT:   %a = glow_inst.alloc_activation : memref<4x6xf32>
// CHECK-NEXT:   %a_1 = glow_inst.tensor_view %a : memref<4x6xf32> to memref<2x2x3xf32, strided<[-12, 3, 1], offset: 18>>
// CHECK-NEXT:   glow_inst.exp @out %a, @in %x : memref<4x6xf32>, memref<4x6xf32>
// CHECK-NEXT:   %d_1 = glow_inst.alloc_activation : memref<2x2x3xf32>
// CHECK-NEXT:   glow_inst.neg @out %d_1, @in %a_1 : memref<2x2x3xf32>, memref<2x2x3xf32, strided<[-12, 3, 1], offset: 18>>
// CHECK-NEXT:   glow_inst.dealloc_activation %a : memref<4x6xf32>
// CHECK-NEXT:   glow_inst.copy @out %d, @in %d_1 : memref<2x2x3xf32>, memref<2x2x3xf32>
// CHECK-NEXT:   glow_inst.dealloc_activation %d_1 : memref<2x2x3xf32>
// CHECK-NEXT:   func.return
// CHECK-NEXT: }

// -----

// Strides cannot join the dimensions of a part: it is copied before it is reshaped.

func.func @reshape_of_part(%x: tensor<4x6xf32>) -> tensor<8xf32> {
  %a = glow.slice %x sizes [4, 2] : (tensor<4x6xf32>) -> tensor<4x2xf32>
  %b = glow.reshape %a : (tensor<4x2xf32>) -> tensor<8xf32>
  func.return %b : tensor<8xf32>
}

// CHECK: func.func @reshape_of_part(%x: memref<4x6xf32> {glow.qualifier = "in"}, %b: memref<8xf32> {glow.qualifier = "out"}) {
// CHECK-NEXT:   %x_1 = glow_inst.tensor_view %x : memref<4x6xf32> to memref<4x2xf32, strided<[6, 1]>>
// CHECK-NEXT:   %a = glow_inst.alloc_activation : memref<4x2xf32>
// CHECK-NEXT:   %a_1 = glow_inst.tensor_view %a : memref<4x2xf32> to memref<8xf32>
// CHECK-NEXT:   glow_inst.copy @out %a, @in %x_1 : memref<4x2xf32>, memref<4x2xf32, strided<[6, 1]>>
// CHECK-NEXT:   glow_inst.copy @out %b, @in %a_1 : memref<8xf32>, memref<8xf32>
// CHECK-NEXT:   glow_inst.dealloc_activation %a : memref<4x2xf32>
// CHECK-NEXT:   func.return
// CHECK-NEXT: }

// -----

// Equal constants are one weight; a broadcast repeats with strides of 0.

func.func @weights(%x: tensor<2x3xf32>) -> tensor<2x3xf32> {
  %a = glow.constant dense<[1.0, 2.0, 3.0]> : tensor<3xf32>
  %b = glow.constant dense<[1.0, 2.0, 3.0]> : tensor<3xf32>
  %c = glow.broadcast %a : (tensor<3xf32>) -> tensor<2x3xf32>
  %d = glow.broadcast %b : (tensor<3xf32>) -> tensor<2x3xf32>
  %e = glow.add %x, %c : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  %f = glow.mul %e, %d : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  func.return %f : tensor<2x3xf32>
}

// CHECK: func.func @weights(%x: memref<2x3xf32> {glow.qualifier = "in"}, %f: memref<2x3xf32> {glow.qualifier = "out"}) {
// CHECK-NEXT:   %a = glow_inst.weight dense<[1.000000e+00, 2.000000e+00, 3.000000e+00]> : tensor<3xf32> : memref<3xf32>
// CHECK-NEXT:   %a_1 = glow_inst.tensor_view %a : memref<3xf32> to memref<2x3xf32, strided<[0, 1]>>
// CHECK-NEXT:   %e = glow_inst.alloc_activation : memref<2x3xf32>
// CHECK-NEXT:   glow_inst.add @out %e, @in %x, @in %a_1 : memref<2x3xf32>, memref<2x3xf32>, memref<2x3xf32, strided<[0, 1]>>
// CHECK-NEXT:   %f_1 = glow_inst.alloc_activation : memref<2x3xf32>
// CHECK-NEXT:   glow_inst.mul @out %f_1, @in %e, @in %a_1 : memref<2x3xf32>, memref<2x3xf32>, memref<2x3xf32, strided<[0, 1]>>
// CHECK-NEXT:   glow_inst.dealloc_activation %e : memref<2x3xf32>
// CHECK-NEXT:   glow_inst.copy @out %f, @in %f_1 : memref<2x3xf32>, memref<2x3xf32>
// CHECK-NEXT:   glow_inst.dealloc_activation %f_1 : memref<2x3xf32>
// CHECK-NEXT:   func.return
// CHECK-NEXT: }

// -----

// A concatenation copies into its parts; a padding fills and copies into the inside.

func.func @parts(%x: tensor<2x3xf32>, %y: tensor<2x1xf32>) -> (tensor<2x4xf32>, tensor<4x3xf32>) {
  %a = glow.concat %x, %y axis 1 : (tensor<2x3xf32>, tensor<2x1xf32>) -> tensor<2x4xf32>
  %b = glow.pad %x low [1, 0] high [1, 0] value 2.0 : (tensor<2x3xf32>) -> tensor<4x3xf32>
  func.return %a, %b : tensor<2x4xf32>, tensor<4x3xf32>
}

// CHECK: func.func @parts(%x: memref<2x3xf32> {glow.qualifier = "in"}, %y: memref<2x1xf32> {glow.qualifier = "in"},
// CHECK-SAME: %a: memref<2x4xf32> {glow.qualifier = "out"}, %b: memref<4x3xf32> {glow.qualifier = "out"}) {
// CHECK-NEXT:   %a_1 = glow_inst.alloc_activation : memref<2x4xf32>
// CHECK-NEXT:   %a_2 = glow_inst.tensor_view %a_1 : memref<2x4xf32> to memref<2x3xf32, strided<[4, 1]>>
// CHECK-NEXT:   %a_3 = glow_inst.tensor_view %a_1 : memref<2x4xf32> to memref<2x1xf32, strided<[4, 1], offset: 3>>
// CHECK-NEXT:   glow_inst.copy @out %a_2, @in %x : memref<2x3xf32, strided<[4, 1]>>, memref<2x3xf32>
// CHECK-NEXT:   glow_inst.copy @out %a_3, @in %y : memref<2x1xf32, strided<[4, 1], offset: 3>>, memref<2x1xf32>
// CHECK-NEXT:   %b_1 = glow_inst.alloc_activation : memref<4x3xf32>
// CHECK-NEXT:   %b_2 = glow_inst.tensor_view %b_1 : memref<4x3xf32> to memref<1x3xf32>
// CHECK-NEXT:   %b_3 = glow_inst.tensor_view %b_1 : memref<4x3xf32> to memref<1x3xf32, strided<[3, 1], offset: 9>>
// CHECK-NEXT:   %b_4 = glow_inst.tensor_view %b_1 : memref<4x3xf32> to memref<2x3xf32, strided<[3, 1], offset: 3>>
// CHECK-NEXT:   glow_inst.splat @out %b_2 value 2.0 : memref<1x3xf32>
// CHECK-NEXT:   glow_inst.splat @out %b_3 value 2.0 : memref<1x3xf32, strided<[3, 1], offset: 9>>
// CHECK-NEXT:   glow_inst.copy @out %b_4, @in %x : memref<2x3xf32, strided<[3, 1], offset: 3>>, memref<2x3xf32>
// CHECK-NEXT:   glow_inst.copy @out %a, @in %a_1 : memref<2x4xf32>, memref<2x4xf32>
// CHECK-NEXT:   glow_inst.dealloc_activation %a_1 : memref<2x4xf32>
// CHECK-NEXT:   glow_inst.copy @out %b, @in %b_1 : memref<4x3xf32>, memref<4x3xf32>
// CHECK-NEXT:   glow_inst.dealloc_activation %b_1 : memref<4x3xf32>
// CHECK-NEXT:   func.return
// CHECK-NEXT: }

// -----

// Inputs and constants that are results are copied; so is a value that is returned twice.

func.func @results(%x: tensor<2xf32>) -> (tensor<2xf32>, tensor<2xf32>, tensor<1xf32>) {
  %a = glow.constant dense<[1.0]> : tensor<1xf32>
  func.return %x, %x, %a : tensor<2xf32>, tensor<2xf32>, tensor<1xf32>
}

// CHECK: func.func @results(%x: memref<2xf32> {glow.qualifier = "in"}, %x_1: memref<2xf32> {glow.qualifier = "out"},
// CHECK-SAME: %x_2: memref<2xf32> {glow.qualifier = "out"}, %a: memref<1xf32> {glow.qualifier = "out"}) {
// CHECK-NEXT:   %a_1 = glow_inst.weight dense<1.000000e+00> : tensor<1xf32> : memref<1xf32>
// CHECK-NEXT:   glow_inst.copy @out %x_1, @in %x : memref<2xf32>, memref<2xf32>
// CHECK-NEXT:   glow_inst.copy @out %x_2, @in %x : memref<2xf32>, memref<2xf32>
// CHECK-NEXT:   glow_inst.copy @out %a, @in %a_1 : memref<1xf32>, memref<1xf32>
// CHECK-NEXT:   func.return
// CHECK-NEXT: }

// -----

// A function over memrefs is left alone.

func.func @kernel(%x: memref<2xf32>) {
  func.return
}

// CHECK: func.func @kernel(%x: memref<2xf32>) {
// CHECK-NEXT:   func.return
// CHECK-NEXT: }
