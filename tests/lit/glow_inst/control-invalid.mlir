// RUN: glow-opt %s --split-input-file --verify-diagnostics | filecheck %s

// CHECK: 'glow_inst.if' op: expected operand 1 to be dense, found memref<2xf32, strided<[2]>>
%c, %y = "test.op"() : () -> (memref<i1>, memref<2xf32, strided<[2]>>)
glow_inst.if @in %c, @out %y : memref<i1>, memref<2xf32, strided<[2]>> then {
^bb0(%0: memref<2xf32, strided<[2]>>):
  glow_inst.yield
} else {
^bb1(%1: memref<2xf32, strided<[2]>>):
  glow_inst.yield
}

// -----

// CHECK: 'glow_inst.if' op: expected a condition memref<i1>, found memref<i8>
%c = "test.op"() : () -> memref<i8>
glow_inst.if @in %c : memref<i8> then {
  glow_inst.yield
} else {
  glow_inst.yield
}

// -----

// What a body may only read is no result.

// CHECK: 'glow_inst.relu' op: expected operand 0 (@out) to be writable, found an input
%c, %x = "test.op"() : () -> (memref<i1>, memref<2xf32>)
glow_inst.if @in %c, @in %x : memref<i1>, memref<2xf32> then {
^bb0(%0: memref<2xf32>):
  %1 = glow_inst.weight dense<1.0> : tensor<2xf32> : memref<2xf32>
  glow_inst.relu @out %0, @in %1 : memref<2xf32>, memref<2xf32>
  glow_inst.yield
} else {
^bb1(%2: memref<2xf32>):
  glow_inst.yield
}

// -----

// CHECK: 'glow_inst.loop' op: expected stacks of 3 rows, found memref<4x2xf32>
%k, %i, %s = "test.op"() : () -> (memref<i32>, memref<i64>, memref<4x2xf32>)
glow_inst.loop count @out %k step @out %i stacks @out %s steps 3 : memref<i32>, memref<i64>, memref<4x2xf32> {
^bb0(%0: memref<i64>, %1: memref<2xf32>):
  glow_inst.yield
}

// -----

// CHECK: 'glow_inst.loop' op: expected a body on memref<i64>, memref<2xf32>, found memref<i64>, memref<3xf32>
%k, %i, %s = "test.op"() : () -> (memref<i32>, memref<i64>, memref<4x2xf32>)
glow_inst.loop count @out %k step @out %i stacks @out %s steps 4 : memref<i32>, memref<i64>, memref<4x2xf32> {
^bb0(%0: memref<i64>, %1: memref<3xf32>):
  glow_inst.yield
}
