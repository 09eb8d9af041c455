// Errors say where, without the module around them.
// RUN: not glow-opt --split-input-file %s 2>&1 | filecheck %s --check-prefix=FIRST
// RUN: glow-opt %s --split-input-file --verify-diagnostics --parsing-diagnostics | filecheck %s
// FIRST:      errors.mlir:10:3: error: 'glow.add' op (%sum): expected operand 1 of shape (2,), found tensor<3xf32>
// FIRST-NOT:  {{.}}

// the positions below are lines of the whole file
// CHECK: errors.mlir:10:3: error: 'glow.add' op (%sum): expected operand 1 of shape (2,), found tensor<3xf32>
func.func @shapes(%a: tensor<2xf32>, %b: tensor<3xf32>) -> tensor<2xf32> {
  %sum = glow.add %a, %b : (tensor<2xf32>, tensor<3xf32>) -> tensor<2xf32>
  func.return %sum : tensor<2xf32>
}

// -----

// An undefined value is reported where it is used.
// CHECK: errors.mlir:22:21: error: %missing is used but not defined
// CHECK-NEXT:   %c = glow.add %b, %missing
// CHECK-NEXT:                     ^^^^^^^^
func.func @undefined(%a: tensor<2xf32>) -> tensor<2xf32> {
  %b = glow.relu %a : (tensor<2xf32>) -> tensor<2xf32>
  %c = glow.add %b, %missing : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  func.return %c : tensor<2xf32>
}

// -----

// A value that is used before its definition.
// CHECK: errors.mlir:31:3: error: 'glow.relu' op (%b): expected %c to be defined before its use, but it is the result of a later glow.relu
func.func @order(%a: tensor<2xf32>) -> tensor<2xf32> {
  %b = glow.relu %c : (tensor<2xf32>) -> tensor<2xf32>
  %c = glow.relu %a : (tensor<2xf32>) -> tensor<2xf32>
  func.return %b : tensor<2xf32>
}

// -----

// Values of a region are not visible after it.
// CHECK: errors.mlir:45:13: error: %inner is used but not defined
func.func @scopes() {
  "test.op"() ({
    %inner = "test.op"() : () -> i32
    "test.op"(%inner) : (i32) -> ()
  }) : () -> ()
  "test.op"(%inner) : (i32) -> ()
  func.return
}

// -----

// Across blocks, definitions must dominate uses.
// CHECK: errors.mlir:59:3: error: 'test.op' op: expected %x to be defined before its use, but it is the result of a test.op elsewhere
func.func @blocks(%c: i1) {
  cf.cond_br %c, ^bb1, ^bb2
^bb1:
  %x = "test.op"() : () -> i32
  cf.br ^bb2
^bb2:
  "test.op"(%x) : (i32) -> ()
  func.return
}

// -----

// CHECK: errors.mlir:66:10: error: unknown operation glow.reluu; did you mean glow.relu
%a, %b = glow.reluu
