// RUN: glow-opt %s --split-input-file --parsing-diagnostics | filecheck %s

// Instructions that do not parse.

// CHECK: expected @out for operand 0, found @in
%a, %b = "test.op"() : () -> (memref<4xf32>, memref<4xf32>)
glow_inst.relu @in %a, @in %b : memref<4xf32>, memref<4xf32>

// -----

// CHECK: expected @in for operand 1, found @inout
%a, %b = "test.op"() : () -> (memref<4xf32>, memref<4xf32>)
glow_inst.relu @out %a, @inout %b : memref<4xf32>, memref<4xf32>

// -----

// CHECK: expected @in, @out or @inout, found @result
%a, %b = "test.op"() : () -> (memref<4xf32>, memref<4xf32>)
glow_inst.relu @result %a, @in %b : memref<4xf32>, memref<4xf32>

// -----

// CHECK: expected 2 types, found 1
%a, %b = "test.op"() : () -> (memref<4xf32>, memref<4xf32>)
glow_inst.relu @out %a, @in %b : memref<4xf32>

// -----

// CHECK: expected 0 types, found 1
%a = "test.op"() : () -> memref<4xf32>
glow_inst.relu : memref<4xf32>

// -----

// CHECK: expected @out and @in operands
%a, %b = "test.op"() : () -> (memref<4xf32>, memref<4xf32>)
glow_inst.copy @in %a, @out %b : memref<4xf32>, memref<4xf32>

// -----

// CHECK: expected operands in the order @out, @inout, @in
%a, %b = "test.op"() : () -> (memref<4xf32>, memref<4xf32>)
glow_inst.stacked @in %a, @out %b : memref<4xf32>, memref<4xf32> {
^bb0(%0: f32):
  glow_inst.yield %0 : f32
}

// -----

// CHECK: expected @in for the operands of an epilogue
%a, %b, %c, %d = "test.op"() : () -> (memref<2x2xf32>, memref<2x2xf32>, memref<2x2xf32>, memref<2x2xf32>)
glow_inst.matmul @out %a, @in %b, @in %c : memref<2x2xf32>, memref<2x2xf32>, memref<2x2xf32> epilogue @out %d : memref<2x2xf32> {
^bb0(%0: f32, %1: f32):
  glow_inst.yield %0 : f32
}

// -----

// CHECK: glow_inst.softmax has no property axes; did you mean axis?
%a, %b = "test.op"() : () -> (memref<4xf32>, memref<4xf32>)
glow_inst.softmax @out %a, @in %b axes [0] : memref<4xf32>, memref<4xf32>

// -----

// CHECK: glow_inst.softmax lacks the property axis
%a, %b = "test.op"() : () -> (memref<4xf32>, memref<4xf32>)
glow_inst.softmax @out %a, @in %b : memref<4xf32>, memref<4xf32>
