// RUN: glow-opt %s --split-input-file --verify-diagnostics | filecheck %s

// What ensembles of decision trees refuse.

// CHECK: expected features of f32 or f64, found tensor<7x4xf16>
%x, %n, %r, %l = "test.op"() : () -> (tensor<7x4xf16>, tensor<8xi16>, tensor<1x2xi16>, tensor<2x1xf16>)
%y = glow.tree_ensemble %x, %n, %r, %l walks [1, 1] : (tensor<7x4xf16>, tensor<8xi16>, tensor<1x2xi16>, tensor<2x1xf16>) -> tensor<7x1xf16>

// -----

// CHECK: expected nodes of 4 numbers of i32, and as many in roots, found tensor<7xi32> and tensor<1x2xi32>
%x, %n, %r, %l = "test.op"() : () -> (tensor<7x4xf32>, tensor<7xi32>, tensor<1x2xi32>, tensor<2x1xf32>)
%y = glow.tree_ensemble %x, %n, %r, %l walks [1, 1] : (tensor<7x4xf32>, tensor<7xi32>, tensor<1x2xi32>, tensor<2x1xf32>) -> tensor<7x1xf32>

// -----

// CHECK: expected roots of shape (3, 2), found tensor<1x2xi32>
%x, %n, %r, %l = "test.op"() : () -> (tensor<7x4xf32>, tensor<8xi32>, tensor<1x2xi32>, tensor<2x1xf32>)
%y = glow.tree_ensemble %x, %n, %r, %l walks [3, 1] : (tensor<7x4xf32>, tensor<8xi32>, tensor<1x2xi32>, tensor<2x1xf32>) -> tensor<7x1xf32>

// -----

// CHECK: expected walks with pairs of a number of trees and of steps, found [1]
%x, %n, %r, %l = "test.op"() : () -> (tensor<7x4xf32>, tensor<8xi32>, tensor<1x2xi32>, tensor<2x1xf32>)
%y = glow.tree_ensemble %x, %n, %r, %l walks [1] : (tensor<7x4xf32>, tensor<8xi32>, tensor<1x2xi32>, tensor<2x1xf32>) -> tensor<7x1xf32>

// -----

// CHECK: expected groups of equally many of 1 trees, found 2
%x, %n, %r, %l = "test.op"() : () -> (tensor<7x4xf32>, tensor<8xi32>, tensor<1x2xi32>, tensor<2x1xf32>)
%y = glow.tree_ensemble %x, %n, %r, %l walks [1, 1] groups 2 : (tensor<7x4xf32>, tensor<8xi32>, tensor<1x2xi32>, tensor<2x1xf32>) -> tensor<7x2xf32>

// -----

// CHECK: expected to combine by one of sum, min, max, found 'mean'
%x, %n, %r, %l = "test.op"() : () -> (tensor<7x4xf32>, tensor<8xi32>, tensor<1x2xi32>, tensor<2x1xf32>)
%y = glow.tree_ensemble %x, %n, %r, %l walks [1, 1] combine "mean" : (tensor<7x4xf32>, tensor<8xi32>, tensor<1x2xi32>, tensor<2x1xf32>) -> tensor<7x1xf32>
