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

func.func @no_rule(%x: tensor<4x2xf32> {glow.name = "x"}, %n: tensor<1xi64>, %u: tensor<1x2xf32>) -> (tensor<f32> {glow.name = "y"}) {
  %s = glow.scatter %x, %n, %u reduction "max" : (tensor<4x2xf32>, tensor<1xi64>, tensor<1x2xf32>) -> tensor<4x2xf32>
  %y = glow.reduce_sum %s axes [0, 1] : (tensor<4x2xf32>) -> tensor<f32>
  func.return %y : tensor<f32>
}

// CHECK: 'glow.scatter' op (%s){{.*}}has no derivative with reduction 'max'; 'none' and 'add' have one
