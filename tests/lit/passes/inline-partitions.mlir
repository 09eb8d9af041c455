// RUN: glow-opt %s --inline-partitions --split-input-file --verify-diagnostics | filecheck %s

// Bodies take the place of calls, in their order.
builtin.module attributes {glow.devices = [{name = "a", backend = "cpu"}, {name = "b", backend = "cpu"}]} {
  func.func private @one(%x: tensor<3xf32>) -> (tensor<3xf32>, tensor<3xf32>) attributes {glow.device = "a", glow.backend = "cpu"} {
    %k = glow.constant dense<[1.0, 2.0, 3.0]> : tensor<3xf32>
    %a = glow.mul %x, %k : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
    %b = glow.neg %a : (tensor<3xf32>) -> tensor<3xf32>
    func.return %b, %a : tensor<3xf32>, tensor<3xf32>
  }
  func.func private @two(%p: tensor<3xf32>, %q: tensor<3xf32>) -> tensor<3xf32> attributes {glow.device = "b", glow.backend = "cpu"} {
    %y = glow.sub %p, %q : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
    func.return %y : tensor<3xf32>
  }
  func.func @main(%x: tensor<3xf32> {glow.name = "x"}) -> (tensor<3xf32>, tensor<3xf32>) {
    %b, %a = func.call @one(%x) : (tensor<3xf32>) -> (tensor<3xf32>, tensor<3xf32>)
    %y = func.call @two(%b, %a) : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
    func.return %y, %b : tensor<3xf32>, tensor<3xf32>
  }
}

// CHECK:       builtin.module {
// CHECK-NEXT:    func.func @main(%x: tensor<3xf32> {glow.name = "x"}) -> (tensor<3xf32>, tensor<3xf32>) {
// CHECK-NEXT:      %k = glow.constant
// CHECK-NEXT:      %a = glow.mul %x, %k
// CHECK-NEXT:      %b = glow.neg %a
// CHECK-NEXT:      %y = glow.sub %b, %a
// CHECK-NEXT:      func.return %y, %b

// -----

// Other modules stay as they are.
func.func @main(%x: tensor<3xf32>) -> tensor<3xf32> {
  %y = glow.neg %x : (tensor<3xf32>) -> tensor<3xf32>
  func.return %y : tensor<3xf32>
}

// CHECK:       func.func @main
// CHECK-NEXT:    %y = glow.neg %x
// CHECK-NEXT:    func.return %y

// -----

// CHECK: func.call %y: expected a function @helper of one block beside @main
func.func private @helper(tensor<3xf32>) -> tensor<3xf32>
func.func @main(%x: tensor<3xf32>) -> tensor<3xf32> {
  %y = func.call @helper(%x) : (tensor<3xf32>) -> tensor<3xf32>
  func.return %y : tensor<3xf32>
}
