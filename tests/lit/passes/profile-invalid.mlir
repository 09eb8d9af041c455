// RUN: not glow-opt %s --profile="as-outputs=3" 2>&1 | filecheck %s --check-prefix=OPTION
// RUN: not glow-opt %s --profile --irgen 2>&1 | filecheck %s

// Programs have no instruction for observation.
func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {
  %y = glow.relu %x : (tensor<2xf32>) -> tensor<2xf32>
  func.return %y : tensor<2xf32>
}

// OPTION: as-outputs
// CHECK: glow-irgen: 'glow.profile' op: expected only nodes of the glow dialect that compute values
