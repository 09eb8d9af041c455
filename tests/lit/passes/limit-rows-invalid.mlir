// RUN: glow-opt %s --limit-rows='rows="x=1" count=m' --split-input-file --verify-diagnostics | filecheck %s

// CHECK: expected rows of an input (y), found x
func.func @main(%a: tensor<3x4xf32> {glow.name = "y"}) -> tensor<3x4xf32> {
  func.return %a : tensor<3x4xf32>
}

// -----

// CHECK: input x has no dimension 1: its shape is (3,)
func.func @main(%a: tensor<3xf32> {glow.name = "x"}) -> tensor<3xf32> {
  func.return %a : tensor<3xf32>
}

// -----

// CHECK: an input is already called m: give the count another name
func.func @main(%a: tensor<3x4xf32> {glow.name = "x"}, %b: tensor<3xf32> {glow.name = "m"}) -> tensor<3x4xf32> {
  func.return %a : tensor<3x4xf32>
}

// -----

// CHECK: expected static shapes, found tensor<?x4xf32, #glow.dims<n>>; bind the symbols (glow-bind-symbols)
func.func @main(%a: tensor<?x4xf32, #glow.dims<n>> {glow.name = "x"}) -> tensor<?x4xf32, #glow.dims<n>> {
  func.return %a : tensor<?x4xf32, #glow.dims<n>>
}
