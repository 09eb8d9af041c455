// RUN: glow-opt %s --differentiate --split-input-file --verify-diagnostics | filecheck %s

func.func @no_scalar(%x: tensor<3xf32> {glow.name = "x"}) -> (tensor<3xf32> {glow.name = "y"}) {
  %y = glow.relu %x : (tensor<3xf32>) -> tensor<3xf32>
  func.return %y : tensor<3xf32>
}

// CHECK: expected a scalar to differentiate, found y of type tensor<3xf32>; reduce it, or give a seed with seed=true

// -----

func.func @integers(%x: tensor<3xi32> {glow.name = "x"}) -> (tensor<3xi32> {glow.name = "y"}) {
  %y = glow.add %x, %x : (tensor<3xi32>, tensor<3xi32>) -> tensor<3xi32>
  func.return %y : tensor<3xi32>
}

// CHECK: there is no input of floats to differentiate with respect to

// -----

func.func @no_rule(%x: tensor<7x4xf32> {glow.name = "x"}, %nodes: tensor<80xi32>, %roots: tensor<5x2xi32>, %leaves: tensor<20x2xf32>) -> (tensor<f32> {glow.name = "y"}) {
  %s = glow.tree_ensemble %x, %nodes, %roots, %leaves walks [5, 3] combine "sum" groups 1 : (tensor<7x4xf32>, tensor<80xi32>, tensor<5x2xi32>, tensor<20x2xf32>) -> tensor<7x2xf32>
  %y = glow.reduce_sum %s axes [0, 1] : (tensor<7x2xf32>) -> tensor<f32>
  func.return %y : tensor<f32>
}

// CHECK: 'glow.tree_ensemble' op (%s){{.*}}has no rule for its derivative; it is on the path glow.tree_ensemble %s <- x
