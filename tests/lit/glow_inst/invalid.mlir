// RUN: glow-opt %s --split-input-file --verify-diagnostics | filecheck %s

// Instructions that do not verify: each error says what was expected and what was found.

// CHECK: 'glow_inst.weight' op (%w): expected 16 bytes for memref<4xf32>, found 15
%w = glow_inst.weight #glow.blob<"model.onnx", 0, 15> : memref<4xf32>

// -----

// CHECK: 'glow_inst.weight' op (%w): expected a value like memref<3xf32>, found tensor<2xf32>
%w = glow_inst.weight dense<[1.0, 2.0]> : tensor<2xf32> : memref<3xf32>

// -----

// CHECK: 'glow_inst.weight' op (%w): expected a value like memref<2xf16>, found tensor<2xf32>
%w = glow_inst.weight dense<[1.0, 2.0]> : tensor<2xf32> : memref<2xf16>

// -----

// CHECK: 'glow_inst.alloc_activation' op (%a): expected a dense buffer, found memref<4x2xf32, strided<[4, 1]>>
%a = glow_inst.alloc_activation : memref<4x2xf32, strided<[4, 1]>>

// -----

// CHECK: 'glow_inst.dealloc_activation' op: expected the result of glow_inst.alloc_activation
%a = "test.op"() : () -> memref<4xf32>
glow_inst.dealloc_activation %a : memref<4xf32>

// -----

// CHECK: 'glow_inst.tensor_view' op (%v): expected a view within 4 elements, found memref<3xf32, strided<[2]>>
%a = "test.op"() : () -> memref<4xf32>
%v = glow_inst.tensor_view %a : memref<4xf32> to memref<3xf32, strided<[2]>>

// -----

// CHECK: 'glow_inst.tensor_view' op (%v): expected a view within 4 elements, found memref<3xf32, strided<[-1], offset: 1>>
%a = "test.op"() : () -> memref<4xf32>
%v = glow_inst.tensor_view %a : memref<4xf32> to memref<3xf32, strided<[-1], offset: 1>>

// -----

// CHECK: 'glow_inst.tensor_view' op (%v): expected elements f32, found memref<4xi32>
%a = "test.op"() : () -> memref<4xf32>
%v = glow_inst.tensor_view %a : memref<4xf32> to memref<4xi32>

// -----

// CHECK: 'glow_inst.tensor_view' op (%w): expected a buffer to view, found another view
%a = "test.op"() : () -> memref<4xf32>
%v = glow_inst.tensor_view %a : memref<4xf32> to memref<2xf32>
%w = glow_inst.tensor_view %v : memref<2xf32> to memref<1xf32>

// -----

// CHECK: 'glow_inst.tensor_view' op (%v): expected static strides, found memref<2xf32, strided<[?]>>
%a = "test.op"() : () -> memref<4xf32>
%v = glow_inst.tensor_view %a : memref<4xf32> to memref<2xf32, strided<[?]>>

// -----

// CHECK: 'glow_inst.copy' op: expected operand 0 (@out) to be writable, found a weight
%a = "test.op"() : () -> memref<4xf32>
%w = glow_inst.weight dense<0.0> : tensor<4xf32> : memref<4xf32>
glow_inst.copy @out %w, @in %a : memref<4xf32>, memref<4xf32>

// -----

// CHECK: 'glow_inst.splat' op: expected operand 0 (@out) to be writable, found a weight
%a = "test.op"() : () -> memref<4xf32>
%w = glow_inst.weight dense<0.0> : tensor<4xf32> : memref<4xf32>
%v = glow_inst.tensor_view %w : memref<4xf32> to memref<2xf32>
glow_inst.splat @out %v value 1.0 : memref<2xf32>

// -----

// CHECK: 'glow_inst.relu' op: expected operand 0 (@out) to be writable, found an input
func.func @main(%x: memref<4xf32> {glow.name = "x", glow.qualifier = "in"}, %y: memref<4xf32> {glow.name = "y", glow.qualifier = "out"}) {
  glow_inst.relu @out %x, @in %y : memref<4xf32>, memref<4xf32>
  func.return
}

// -----

// CHECK: 'glow_inst.relu' op: expected operand 0 (@out) to be used once; an operand that is read and written is @inout
%a = "test.op"() : () -> memref<4xf32>
glow_inst.relu @out %a, @in %a : memref<4xf32>, memref<4xf32>

// -----

// CHECK: 'glow_inst.copy' op: expected buffers of the same shape and elements, found memref<4xf32> and memref<5xf32>
%a, %b = "test.op"() : () -> (memref<4xf32>, memref<5xf32>)
glow_inst.copy @out %a, @in %b : memref<4xf32>, memref<5xf32>

// -----

// CHECK: 'glow_inst.copy' op: expected buffers of the same shape and elements, found memref<4xf32> and memref<4xi32>
%a, %b = "test.op"() : () -> (memref<4xf32>, memref<4xi32>)
glow_inst.copy @out %a, @in %b : memref<4xf32>, memref<4xi32>

// -----

// CHECK: 'glow_inst.copy' op: expected 2 operands, found 1
%a = "test.op"() : () -> memref<4xf32>
"glow_inst.copy"(%a) : (memref<4xf32>) -> ()

// -----

// CHECK: 'glow_inst.add' op: expected 3 operands, found 2
%a, %b = "test.op"() : () -> (memref<4xf32>, memref<4xf32>)
"glow_inst.add"(%a, %b) <{operandSegmentSizes = array<i32: 2, 0>}> : (memref<4xf32>, memref<4xf32>) -> ()

// -----

// CHECK: 'glow_inst.relu' op: expected operand 0 (@out) like tensor<5xf32>, found tensor<4xf32>
%a, %b = "test.op"() : () -> (memref<4xf32>, memref<5xf32>)
glow_inst.relu @out %a, @in %b : memref<4xf32>, memref<5xf32>

// -----

// CHECK: 'glow_inst.matmul' op: index t runs over 3 values, but dimension 0 of rhs has 2; found lhs tensor<2x3xf32>, rhs tensor<2x2xf32>
%a, %b, %c = "test.op"() : () -> (memref<2x2xf32>, memref<2x3xf32>, memref<2x2xf32>)
glow_inst.matmul @out %a, @in %b, @in %c : memref<2x2xf32>, memref<2x3xf32>, memref<2x2xf32>

// -----

// CHECK: 'glow_inst.relu' op: expected no epilogue, glow.relu does not accept one
%a, %b = "test.op"() : () -> (memref<4xf32>, memref<4xf32>)
glow_inst.relu @out %a, @in %b : memref<4xf32>, memref<4xf32> epilogue {
^bb0(%0: f32):
  glow_inst.yield %0 : f32
}

// -----

// CHECK: 'glow_inst.relu' op: expected an epilogue that uses the further operands
%a, %b = "test.op"() : () -> (memref<4xf32>, memref<4xf32>)
glow_inst.relu @inout %a, @in %b : memref<4xf32>, memref<4xf32>

// -----

// CHECK: 'glow_inst.matmul' op: expected epilogue operands of shape (2, 2), found memref<4xf32>
%a, %b, %c, %d = "test.op"() : () -> (memref<2x2xf32>, memref<2x2xf32>, memref<2x2xf32>, memref<4xf32>)
glow_inst.matmul @out %a, @in %b, @in %c : memref<2x2xf32>, memref<2x2xf32>, memref<2x2xf32> epilogue @in %d : memref<4xf32> {
^bb0(%0: f32, %1: f32):
  glow_inst.yield %0 : f32
}

// -----

// CHECK: 'glow_inst.matmul' op: expected body arguments ['f32', 'f16'], found ['f32', 'f32']
%a, %b, %c, %d = "test.op"() : () -> (memref<2x2xf32>, memref<2x2xf32>, memref<2x2xf32>, memref<2x2xf16>)
glow_inst.matmul @out %a, @in %b, @in %c : memref<2x2xf32>, memref<2x2xf32>, memref<2x2xf32> epilogue @in %d : memref<2x2xf16> {
^bb0(%0: f32, %1: f32):
  glow_inst.yield %0 : f32
}

// -----

// CHECK: 'glow_inst.stacked' op: expected to yield ['f32'], found ['f16']
%a, %b = "test.op"() : () -> (memref<4xf32>, memref<4xf32>)
glow_inst.stacked @out %a, @in %b : memref<4xf32>, memref<4xf32> {
^bb0(%0: f32):
  %1 = glow.cast %0 : (f32) -> f16
  glow_inst.yield %1 : f16
}

// -----

// CHECK: 'glow_inst.stacked' op: expected only data-parallel nodes in the body, found test.op
%a, %b = "test.op"() : () -> (memref<4xf32>, memref<4xf32>)
glow_inst.stacked @out %a, @in %b : memref<4xf32>, memref<4xf32> {
^bb0(%0: f32):
  %1 = "test.op"(%0) : (f32) -> f32
  glow_inst.yield %1 : f32
}

// -----

// CHECK: Operation glow.relu terminates block in single-block region but is not a terminator
%a, %b = "test.op"() : () -> (memref<4xf32>, memref<4xf32>)
glow_inst.stacked @out %a, @in %b : memref<4xf32>, memref<4xf32> {
^bb0(%0: f32):
  %1 = glow.relu %0 : (f32) -> f32
}

// -----

// CHECK: 'glow_inst.stacked' op: expected operands of shape (4,), found memref<2x2xf32>
%a, %b = "test.op"() : () -> (memref<4xf32>, memref<2x2xf32>)
glow_inst.stacked @out %a, @in %b : memref<4xf32>, memref<2x2xf32> {
^bb0(%0: f32):
  glow_inst.yield %0 : f32
}

// -----

// CHECK: 'glow_inst.stacked' op: expected at least one @out or @inout operand, found none
%a = "test.op"() : () -> memref<4xf32>
glow_inst.stacked @in %a : memref<4xf32> {
^bb0(%0: f32):
  glow_inst.yield
}

// -----

// CHECK: 'glow_inst.stacked' op: expected operand 0 (@inout) to be used once; an operand that is read and written is @inout
%a = "test.op"() : () -> memref<4xf32>
glow_inst.stacked @inout %a, @in %a : memref<4xf32>, memref<4xf32> {
^bb0(%0: f32, %1: f32):
  glow_inst.yield %0 : f32
}

// -----

// CHECK: 'glow_inst.stacked' op: Region 'body' at position 0 expected a single block, but got 0 blocks
%a = "test.op"() : () -> memref<4xf32>
glow_inst.stacked @out %a : memref<4xf32> {
}

// -----

// CHECK: expected operand 0 (@out) like tensor<4x2xi32>, found tensor<4x2xf32>
func.func @epilogue_of_another_type(%x: memref<4x8xui8>, %w: memref<8x2xi8>, %y: memref<4x2xi8>) {
  glow_inst.matmul @out %y, @in %x, @in %w : memref<4x2xi8>, memref<4x8xui8>, memref<8x2xi8> epilogue {
  ^bb0(%0: f32):
    %1 = glow.cast %0 : (f32) -> i8
    glow_inst.yield %1 : i8
  }
  func.return
}
