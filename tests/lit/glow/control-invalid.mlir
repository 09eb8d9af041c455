// RUN: glow-opt %s --split-input-file --verify-diagnostics | filecheck %s

// CHECK: 'glow.if' op (%r): expected a body that yields tensor<2xf32>, found tensor<3xf32>
%c, %x = "test.op"() : () -> (tensor<i1>, tensor<3xf32>)
%r = glow.if %c, %x : (tensor<i1>, tensor<3xf32>) -> tensor<2xf32> then {
^bb0(%0: tensor<3xf32>):
  glow.yield %0 : tensor<3xf32>
} else {
^bb1(%1: tensor<3xf32>):
  glow.yield %1 : tensor<3xf32>
}

// -----

// CHECK: 'glow.if' op (%r): expected a body on tensor<3xf32>, found nothing
%c, %x = "test.op"() : () -> (tensor<i1>, tensor<3xf32>)
%r = glow.if %c, %x : (tensor<i1>, tensor<3xf32>) -> tensor<2xf32> then {
  %0 = glow.splat value 1.0 : tensor<2xf32>
  glow.yield %0 : tensor<2xf32>
} else {
  %1 = glow.splat value 2.0 : tensor<2xf32>
  glow.yield %1 : tensor<2xf32>
}

// -----

// CHECK: 'glow.loop' op (%r, %n): expected steps of at least 1, found 0
%x = "test.op"() : () -> tensor<3xf32>
%r, %n = glow.loop carries(%x) steps 0 : (tensor<3xf32>) -> (tensor<3xf32>, tensor<i32>) {
^bb0(%i: tensor<i64>, %0: tensor<3xf32>):
  glow.yield %0 : tensor<3xf32>
}

// -----

// CHECK: 'glow.loop' op (%r, %n): expected stacked results of 4 steps, found tensor<5x3xf32>
%x = "test.op"() : () -> tensor<3xf32>
%r, %n = glow.loop reads(%x) steps 4 : (tensor<3xf32>) -> (tensor<5x3xf32>, tensor<i32>) {
^bb0(%i: tensor<i64>, %0: tensor<3xf32>):
  glow.yield %0 : tensor<3xf32>
}

// -----

// A loop with a condition yields the next one.

// CHECK: 'glow.loop' op (%r, %n): expected a body that yields tensor<i1>, tensor<3xf32>, found tensor<3xf32>
%c, %x = "test.op"() : () -> (tensor<i1>, tensor<3xf32>)
%r, %n = glow.loop while(%c) carries(%x) steps 4 : (tensor<i1>, tensor<3xf32>) -> (tensor<3xf32>, tensor<i32>) {
^bb0(%i: tensor<i64>, %0: tensor<3xf32>):
  glow.yield %0 : tensor<3xf32>
}

// -----

// A body sees its arguments only.

// CHECK: Operation using value defined out of its IsolatedFromAbove parent
%c, %x = "test.op"() : () -> (tensor<i1>, tensor<3xf32>)
%r = glow.if %c : (tensor<i1>) -> tensor<3xf32> then {
  glow.yield %x : tensor<3xf32>
} else {
  glow.yield %x : tensor<3xf32>
}
