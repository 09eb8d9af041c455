// RUN: glow-opt %s --profile --split-input-file | filecheck %s
// RUN: glow-opt %s --profile --profile --split-input-file | filecheck %s
// RUN: glow-opt %s --profile --canonicalize --cse --dce --split-input-file | filecheck %s --check-prefix=CLEAN
// RUN: glow-opt %s --profile="as-outputs=true" --split-input-file | filecheck %s --check-prefix=OUT
// RUN: glow-opt %s --profile --profile="as-outputs=true" --split-input-file | filecheck %s --check-prefix=OUT

// Inputs and results of nodes are observed; constants are not. A value without a name is called
// after its operator, and what has the same name is told apart as when it is printed.
func.func @main(%x: tensor<2x3xf32> {glow.name = "data"}) -> (tensor<2x3xf32> {glow.name = "y"}) {
  %c = glow.constant dense<[1.0, 2.0, 3.0]> : tensor<3xf32>
  %b = glow.broadcast %c : (tensor<3xf32>) -> tensor<2x3xf32>
  %0 = glow.add %x, %b : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  %y = glow.relu %0 : (tensor<2x3xf32>) -> tensor<2x3xf32>
  func.return %y : tensor<2x3xf32>
}

// CHECK-LABEL: @main(
// CHECK-NEXT:  glow.profile %x {value = "x", operator = "input", key = "[[X:[0-9a-f]*]]", local_key = "{{[0-9a-f]*}}"} : tensor<2x3xf32>
// CHECK-NEXT:  %c = glow.constant
// CHECK-NEXT:  %b = glow.broadcast
// CHECK-NEXT:  %0 = glow.add
// CHECK-NEXT:  glow.profile %0 {value = "add", operator = "glow.add",
// CHECK-NEXT:  %y = glow.relu
// CHECK-NEXT:  glow.profile %y {value = "y", operator = "glow.relu",
// CHECK-NEXT:  func.return %y : tensor<2x3xf32>

// CLEAN-LABEL: @main(
// CLEAN:       glow.profile %x
// CLEAN:       glow.profile %0
// CLEAN:       glow.profile %y

// The input and what is returned anyway stay where they are.
// OUT-LABEL: @main(
// OUT-SAME:  %x: tensor<2x3xf32> {glow.name = "data", glow.profiled = {value = "x", operator = "input",
// OUT-SAME:  -> (tensor<2x3xf32> {glow.name = "y", glow.profiled = {value = "y", operator = "glow.relu",
// OUT-SAME:  , tensor<2x3xf32> {glow.name = "profile.add", glow.profiled = {value = "add", operator = "glow.add",
// OUT-NOT:   glow.profile %
// OUT:       func.return %y, %0 : tensor<2x3xf32>, tensor<2x3xf32>

// -----

// What nothing uses is observed, and stays; what is computed twice is observed under both names.
func.func @main(%x: tensor<4xf16>) {
  %dead = glow.exp %x : (tensor<4xf16>) -> tensor<4xf16>
  %again = glow.exp %x : (tensor<4xf16>) -> tensor<4xf16>
  func.return
}

// CHECK-LABEL: @main(
// CHECK:       glow.profile %dead {value = "dead", operator = "glow.exp", key = "[[KEY:[0-9a-f]*]]"
// CHECK:       glow.profile %again {value = "again", operator = "glow.exp", key = "[[KEY]]"

// CLEAN-LABEL: @main(
// CLEAN:       %dead = glow.exp
// CLEAN-DAG:   glow.profile %dead {value = "dead"
// CLEAN-DAG:   glow.profile %dead {value = "again"

// OUT-LABEL: @main(
// OUT:       func.return %dead, %again : tensor<4xf16>, tensor<4xf16>

// -----

// Integers, truth values and quantized numbers are not observed.
func.func @unchanged(%x: tensor<4xi32>, %q: tensor<4x!quant.uniform<i8:f32, 0.5>>) -> tensor<4xi1> {
  %s = glow.add %x, %x : (tensor<4xi32>, tensor<4xi32>) -> tensor<4xi32>
  %y = glow.equal %s, %x : (tensor<4xi32>, tensor<4xi32>) -> tensor<4xi1>
  func.return %y : tensor<4xi1>
}

// CHECK-LABEL: @unchanged(
// CHECK-NOT:   glow.profile
// CHECK:       func.return %y : tensor<4xi1>

// CLEAN-LABEL: @unchanged(

// OUT-LABEL: @unchanged(
// OUT-NOT:   glow.profiled
// OUT:       func.return %y : tensor<4xi1>
