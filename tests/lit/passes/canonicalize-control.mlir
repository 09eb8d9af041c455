// RUN: glow-opt %s --canonicalize --split-input-file | filecheck %s

// The branch of a known condition takes the place of both.

func.func @known(%x: tensor<2xf32>) -> (tensor<2xf32>, tensor<2xf32>) {
  %c = glow.splat value false : tensor<i1>
  %a, %b = glow.if %c, %x : (tensor<i1>, tensor<2xf32>) -> (tensor<2xf32>, tensor<2xf32>) then {
  ^bb0(%0: tensor<2xf32>):
    glow.yield %0, %0 : tensor<2xf32>, tensor<2xf32>
  } else {
  ^bb1(%1: tensor<2xf32>):
    %2 = glow.exp %1 : (tensor<2xf32>) -> tensor<2xf32>
    glow.yield %2, %1 : tensor<2xf32>, tensor<2xf32>
  }
  func.return %a, %b : tensor<2xf32>, tensor<2xf32>
}

// CHECK:      func.func @known
// CHECK-NEXT:   %[[a:.*]] = glow.exp %x : (tensor<2xf32>) -> tensor<2xf32>
// CHECK-NEXT:   func.return %[[a]], %x : tensor<2xf32>, tensor<2xf32>

// -----

// Constants are inside of bodies, which read nothing that they do not use.

func.func @reads(%c: tensor<i1>, %n: tensor<i64>, %x: tensor<2xf32>, %y: tensor<2xf32>) -> (tensor<2xf32>, tensor<2xf32>) {
  %w = glow.constant dense<[1.0, 2.0]> : tensor<2xf32>
  %a = glow.if %c, %x, %w, %y : (tensor<i1>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32> then {
  ^bb0(%0: tensor<2xf32>, %1: tensor<2xf32>, %2: tensor<2xf32>):
    %3 = glow.mul %0, %1 : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
    glow.yield %3 : tensor<2xf32>
  } else {
  ^bb1(%4: tensor<2xf32>, %5: tensor<2xf32>, %6: tensor<2xf32>):
    glow.yield %4 : tensor<2xf32>
  }
  %b, %count = glow.loop trips(%n) carries(%x) reads(%y, %w) steps 5 : (tensor<i64>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>) -> (tensor<2xf32>, tensor<i32>) {
  ^bb2(%i: tensor<i64>, %7: tensor<2xf32>, %8: tensor<2xf32>, %9: tensor<2xf32>):
    %10 = glow.mul %7, %9 : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
    glow.yield %10 : tensor<2xf32>
  }
  func.return %a, %b : tensor<2xf32>, tensor<2xf32>
}

// CHECK:      func.func @reads
// CHECK-NEXT:   %a = glow.if %c, %x : (tensor<i1>, tensor<2xf32>) -> tensor<2xf32> then {
// CHECK-NEXT:   ^bb0(%0: tensor<2xf32>):
// CHECK-NEXT:     %1 = glow.constant dense<[1.000000e+00, 2.000000e+00]> : tensor<2xf32>
// CHECK-NEXT:     %2 = glow.mul %0, %1
// CHECK:        } else {
// CHECK-NEXT:   ^bb0(%3: tensor<2xf32>):
// CHECK-NEXT:     glow.yield %3
// CHECK:        glow.loop trips(%n) carries(%x) steps 5 : (tensor<i64>, tensor<2xf32>) -> (tensor<2xf32>, tensor<i32>) {
// CHECK-NEXT:   ^bb0(%i: tensor<i64>, %0: tensor<2xf32>):
// CHECK-NEXT:     %1 = glow.constant dense<[1.000000e+00, 2.000000e+00]> : tensor<2xf32>

// -----

// A value that is computed stays outside.

func.func @computed(%c: tensor<i1>, %x: tensor<2xf32>) -> tensor<2xf32> {
  %y = glow.exp %x : (tensor<2xf32>) -> tensor<2xf32>
  %a = glow.if %c, %y : (tensor<i1>, tensor<2xf32>) -> tensor<2xf32> then {
  ^bb0(%0: tensor<2xf32>):
    glow.yield %0 : tensor<2xf32>
  } else {
  ^bb1(%1: tensor<2xf32>):
    %2 = glow.neg %1 : (tensor<2xf32>) -> tensor<2xf32>
    glow.yield %2 : tensor<2xf32>
  }
  func.return %a : tensor<2xf32>
}

// CHECK:      func.func @computed
// CHECK-NEXT:   %y = glow.exp %x
// CHECK-NEXT:   %a = glow.if %c, %y : (tensor<i1>, tensor<2xf32>) -> tensor<2xf32> then {
