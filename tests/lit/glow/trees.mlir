// RUN: glow-opt %s | glow-opt | filecheck %s
// RUN: glow-opt %s --print-op-generic | glow-opt | filecheck %s

// Ensembles of decision trees.

func.func @trees(%x: tensor<7x4xf32>, %n: tensor<80xi32>, %r: tensor<6x2xi32>, %l: tensor<20x2xf32>, %y: tensor<7x4xf64>, %m: tensor<8xi64>, %s: tensor<1x2xi64>, %k: tensor<1x1xf64>) {
  %sum = glow.tree_ensemble %x, %n, %r, %l walks [5, 3, 1, 4] : (tensor<7x4xf32>, tensor<80xi32>, tensor<6x2xi32>, tensor<20x2xf32>) -> tensor<7x2xf32>
  %max = glow.tree_ensemble %x, %n, %r, %l walks [6, 3] combine "max" groups 3 : (tensor<7x4xf32>, tensor<80xi32>, tensor<6x2xi32>, tensor<20x2xf32>) -> tensor<7x6xf32>
  %one = glow.tree_ensemble %y, %m, %s, %k walks [1, 0] : (tensor<7x4xf64>, tensor<8xi64>, tensor<1x2xi64>, tensor<1x1xf64>) -> tensor<7x1xf64>
  func.return
}

// CHECK:      %sum = glow.tree_ensemble %x, %n, %r, %l walks [5, 3, 1, 4] : (tensor<7x4xf32>, tensor<80xi32>, tensor<6x2xi32>, tensor<20x2xf32>) -> tensor<7x2xf32>
// CHECK-NEXT: %max = glow.tree_ensemble %x, %n, %r, %l walks [6, 3] combine "max" groups 3 : (tensor<7x4xf32>, tensor<80xi32>, tensor<6x2xi32>, tensor<20x2xf32>) -> tensor<7x6xf32>
// CHECK-NEXT: %one = glow.tree_ensemble %y, %m, %s, %k walks [1, 0] : (tensor<7x4xf64>, tensor<8xi64>, tensor<1x2xi64>, tensor<1x1xf64>) -> tensor<7x1xf64>
