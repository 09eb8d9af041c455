// RUN: glow-opt %s | glow-opt | filecheck %s
// RUN: glow-opt %s --print-op-generic | glow-opt | filecheck %s

// Branches and loops, one inside the other.

func.func @control(%n: tensor<i64>, %c: tensor<i1>, %x: tensor<2xf32>, %w: tensor<2xf32>) {
  %last, %all, %count = glow.loop trips(%n) while(%c) carries(%x) reads(%w, %c) steps 10 : (tensor<i64>, tensor<i1>, tensor<2xf32>, tensor<2xf32>,
      tensor<i1>) -> (tensor<2xf32>, tensor<10x2xf32>, tensor<i32>) {
  ^bb0(%i: tensor<i64>, %0: tensor<2xf32>, %1: tensor<2xf32>, %2: tensor<i1>):
    %3 = glow.if %2, %0, %1 : (tensor<i1>, tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32> then {
    ^bb1(%4: tensor<2xf32>, %5: tensor<2xf32>):
      %6 = glow.add %4, %5 : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
      glow.yield %6 : tensor<2xf32>
    } else {
    ^bb2(%7: tensor<2xf32>, %8: tensor<2xf32>):
      glow.yield %7 : tensor<2xf32>
    }
    glow.yield %2, %3, %3 : tensor<i1>, tensor<2xf32>, tensor<2xf32>
  }
  %rows, %five = glow.loop steps 5 {note = "kept"} : () -> (tensor<5xf32>, tensor<i32>) {
  ^bb3(%j: tensor<i64>):
    %9 = glow.cast %j : (tensor<i64>) -> tensor<f32>
    glow.yield %9 : tensor<f32>
  }
  func.return
}

// CHECK:      %last, %all, %count = glow.loop trips(%n) while(%c) carries(%x) reads(%w, %c) steps 10 : (tensor<i64>, tensor<i1>, tensor<2xf32>, tensor<2xf32>,
// CHECK-SAME: tensor<i1>) -> (tensor<2xf32>, tensor<10x2xf32>, tensor<i32>) {
// CHECK-NEXT: ^bb0(%i: tensor<i64>, %0: tensor<2xf32>, %1: tensor<2xf32>, %2: tensor<i1>):
// CHECK-NEXT:   %3 = glow.if %2, %0, %1 : (tensor<i1>, tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32> then {
// CHECK-NEXT:   ^bb{{.*}}(%4: tensor<2xf32>, %5: tensor<2xf32>):
// CHECK-NEXT:     %6 = glow.add %4, %5 : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
// CHECK-NEXT:     glow.yield %6 : tensor<2xf32>
// CHECK-NEXT:   } else {
// CHECK-NEXT:   ^bb{{.*}}(%7: tensor<2xf32>, %8: tensor<2xf32>):
// CHECK-NEXT:     glow.yield %7 : tensor<2xf32>
// CHECK-NEXT:   }
// CHECK-NEXT:   glow.yield %2, %3, %3 : tensor<i1>, tensor<2xf32>, tensor<2xf32>
// CHECK-NEXT: }
// CHECK-NEXT: %rows, %five = glow.loop steps 5 {note = "kept"} : () -> (tensor<5xf32>, tensor<i32>) {
