// RUN: glow-opt %s --rematerialize="budget=9000" --split-input-file | filecheck %s

// The peak is at %c, where %a is alive and not read. It is computed again before its next reader.

func.func @main(%x: tensor<100x4xf32>) -> tensor<4xf32> {
  %a = glow.exp %x : (tensor<100x4xf32>) -> tensor<100x4xf32>
  %b = glow.reduce_sum %a axes [0] : (tensor<100x4xf32>) -> tensor<4xf32>
  %w = glow.broadcast %b : (tensor<4xf32>) -> tensor<500x4xf32>
  %c = glow.sin %w : (tensor<500x4xf32>) -> tensor<500x4xf32>
  %d = glow.reduce_sum %c axes [0] : (tensor<500x4xf32>) -> tensor<4xf32>
  %e = glow.broadcast %d : (tensor<4xf32>) -> tensor<100x4xf32>
  %f = glow.mul %a, %e : (tensor<100x4xf32>, tensor<100x4xf32>) -> tensor<100x4xf32>
  %y = glow.reduce_sum %f axes [0] : (tensor<100x4xf32>) -> tensor<4xf32>
  func.return %y : tensor<4xf32>
}

// CHECK: func.func @main(%x: tensor<100x4xf32>) -> tensor<4xf32> attributes {glow.kept_peak = 9616 : i64} {
// CHECK-NEXT:   %a = glow.exp %x : (tensor<100x4xf32>) -> tensor<100x4xf32>
// CHECK-NEXT:   %b = glow.reduce_sum %a axes [0] : (tensor<100x4xf32>) -> tensor<4xf32>
// CHECK-NEXT:   %w = glow.broadcast %b : (tensor<4xf32>) -> tensor<500x4xf32>
// CHECK-NEXT:   %c = glow.sin %w : (tensor<500x4xf32>) -> tensor<500x4xf32>
// CHECK-NEXT:   %d = glow.reduce_sum %c axes [0] : (tensor<500x4xf32>) -> tensor<4xf32>
// CHECK-NEXT:   %e = glow.broadcast %d : (tensor<4xf32>) -> tensor<100x4xf32>
// CHECK-NEXT:   [[A:%.+]] = glow.exp %x : (tensor<100x4xf32>) -> tensor<100x4xf32>
// CHECK-NEXT:   %f = glow.mul [[A]], %e : (tensor<100x4xf32>, tensor<100x4xf32>) -> tensor<100x4xf32>
// CHECK-NEXT:   %y = glow.reduce_sum %f axes [0] : (tensor<100x4xf32>) -> tensor<4xf32>
// CHECK-NEXT:   func.return %y : tensor<4xf32>

// -----

// The operand of %b is dead where %b is read again, so both are computed again; views move along.

func.func @chain(%x: tensor<100x4xf32>) -> tensor<4xf32> {
  %a = glow.exp %x : (tensor<100x4xf32>) -> tensor<100x4xf32>
  %b = glow.neg %a : (tensor<100x4xf32>) -> tensor<100x4xf32>
  %v = glow.reshape %b : (tensor<100x4xf32>) -> tensor<400xf32>
  %p = glow.reduce_sum %b axes [0] : (tensor<100x4xf32>) -> tensor<4xf32>
  %w = glow.broadcast %p : (tensor<4xf32>) -> tensor<500x4xf32>
  %c = glow.sin %w : (tensor<500x4xf32>) -> tensor<500x4xf32>
  %d = glow.reduce_sum %c axes [0] : (tensor<500x4xf32>) -> tensor<4xf32>
  %s = glow.exp %v : (tensor<400xf32>) -> tensor<400xf32>
  %t = glow.reshape %s : (tensor<400xf32>) -> tensor<100x4xf32>
  %u = glow.reduce_sum %t axes [0] : (tensor<100x4xf32>) -> tensor<4xf32>
  %y = glow.add %d, %u : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  func.return %y : tensor<4xf32>
}

// CHECK: func.func @chain(%x: tensor<100x4xf32>) -> tensor<4xf32> attributes {glow.kept_peak = 9616 : i64} {
// CHECK:        %d = glow.reduce_sum %c axes [0] : (tensor<500x4xf32>) -> tensor<4xf32>
// CHECK-NEXT:   [[A:%.+]] = glow.exp %x : (tensor<100x4xf32>) -> tensor<100x4xf32>
// CHECK-NEXT:   [[B:%.+]] = glow.neg [[A]] : (tensor<100x4xf32>) -> tensor<100x4xf32>
// CHECK-NEXT:   [[V:%.+]] = glow.reshape [[B]] : (tensor<100x4xf32>) -> tensor<400xf32>
// CHECK-NEXT:   %s = glow.exp [[V]] : (tensor<400xf32>) -> tensor<400xf32>

// -----

// What fits stays as it is.

func.func @fits(%x: tensor<100x4xf32>) -> tensor<100x4xf32> {
  %a = glow.exp %x : (tensor<100x4xf32>) -> tensor<100x4xf32>
  %b = glow.sin %a : (tensor<100x4xf32>) -> tensor<100x4xf32>
  %c = glow.neg %b : (tensor<100x4xf32>) -> tensor<100x4xf32>
  %y = glow.mul %a, %c : (tensor<100x4xf32>, tensor<100x4xf32>) -> tensor<100x4xf32>
  func.return %y : tensor<100x4xf32>
}

// CHECK: func.func @fits(%x: tensor<100x4xf32>) -> tensor<100x4xf32> {
// CHECK-NEXT:   %a = glow.exp %x
// CHECK-NEXT:   %b = glow.sin %a
// CHECK-NEXT:   %c = glow.neg %b
// CHECK-NEXT:   %y = glow.mul %a, %c
// CHECK-NEXT:   func.return

// -----

// What nothing reads before the peak only moves.

func.func @moves(%x: tensor<100x4xf32>, %s: tensor<4xf32>) -> tensor<4xf32> {
  %a = glow.exp %x : (tensor<100x4xf32>) -> tensor<100x4xf32>
  %w = glow.broadcast %s : (tensor<4xf32>) -> tensor<500x4xf32>
  %c = glow.sin %w : (tensor<500x4xf32>) -> tensor<500x4xf32>
  %d = glow.reduce_sum %c axes [0] : (tensor<500x4xf32>) -> tensor<4xf32>
  %e = glow.broadcast %d : (tensor<4xf32>) -> tensor<100x4xf32>
  %f = glow.mul %a, %e : (tensor<100x4xf32>, tensor<100x4xf32>) -> tensor<100x4xf32>
  %y = glow.reduce_sum %f axes [0] : (tensor<100x4xf32>) -> tensor<4xf32>
  func.return %y : tensor<4xf32>
}

// CHECK: func.func @moves(
// CHECK-NEXT:   %w = glow.broadcast
// CHECK-NEXT:   %c = glow.sin
// CHECK-NEXT:   %d = glow.reduce_sum
// CHECK-NEXT:   %e = glow.broadcast
// CHECK-NEXT:   [[A:%.+]] = glow.exp %x
// CHECK-NEXT:   %f = glow.mul [[A]], %e
