// RUN: glow-opt %s --set-machine="vector-bits=64 vector-registers=16" --pack-weights --split-input-file | filecheck %s

// A matrix that a loop of many steps reads is packed before the loop: three panels of two vectors.

func.func @read(%x: tensor<3x10xf32>, %w: tensor<10x10xf32>) -> tensor<3x10xf32> {
  %r, %n = glow.loop carries(%x) reads(%w) steps 16 : (tensor<3x10xf32>, tensor<10x10xf32>) -> (tensor<3x10xf32>, tensor<i32>) {
  ^bb0(%i: tensor<i64>, %0: tensor<3x10xf32>, %1: tensor<10x10xf32>):
    %2 = glow.matmul %0, %1 transpose_rhs true : (tensor<3x10xf32>, tensor<10x10xf32>) -> tensor<3x10xf32>
    glow.yield %2 : tensor<3x10xf32>
  }
  func.return %r : tensor<3x10xf32>
}

// CHECK:      func.func @read
// CHECK-NEXT:   %[[p:.*]] = glow.pad %w high [2, 0]
// CHECK-NEXT:   %[[s:.*]] = glow.reshape %[[p]] : (tensor<12x10xf32>) -> tensor<3x4x10xf32>
// CHECK-NEXT:   %[[t:.*]] = glow.transpose %[[s]] permutation [0, 2, 1] : (tensor<3x4x10xf32>) -> tensor<3x10x4xf32>
// CHECK-NEXT:   glow.loop carries(%x) reads(%[[t]])
// CHECK-NEXT:   ^bb0(%i: tensor<i64>, %{{.*}}: tensor<3x10xf32>, %[[a:.*]]: tensor<3x10x4xf32>):
// CHECK-NEXT:     glow_cpu.packed_matmul %{{.*}}, %[[a]] columns 10

// -----

// Few steps do not repay it, what a loop carries differs from step to step, and one panel is the
// matrix itself.

func.func @few(%x: tensor<3x10xf32>, %w: tensor<10x10xf32>) -> tensor<3x10xf32> {
  %r, %n = glow.loop carries(%x) reads(%w) steps 15 : (tensor<3x10xf32>, tensor<10x10xf32>) -> (tensor<3x10xf32>, tensor<i32>) {
  ^bb0(%i: tensor<i64>, %0: tensor<3x10xf32>, %1: tensor<10x10xf32>):
    %2 = glow.matmul %0, %1 : (tensor<3x10xf32>, tensor<10x10xf32>) -> tensor<3x10xf32>
    glow.yield %2 : tensor<3x10xf32>
  }
  func.return %r : tensor<3x10xf32>
}

// CHECK-LABEL: @few(
// CHECK-NOT:     glow_cpu
// CHECK:         glow.matmul

func.func @carried(%x: tensor<10x10xf32>) -> tensor<10x10xf32> {
  %r, %n = glow.loop carries(%x) steps 16 : (tensor<10x10xf32>) -> (tensor<10x10xf32>, tensor<i32>) {
  ^bb0(%i: tensor<i64>, %0: tensor<10x10xf32>):
    %1 = glow.matmul %0, %0 : (tensor<10x10xf32>, tensor<10x10xf32>) -> tensor<10x10xf32>
    glow.yield %1 : tensor<10x10xf32>
  }
  func.return %r : tensor<10x10xf32>
}

// CHECK-LABEL: @carried(
// CHECK-NOT:     glow_cpu
// CHECK:         glow.matmul

func.func @narrow(%x: tensor<3x4xf32>, %w: tensor<4x4xf32>) -> tensor<3x4xf32> {
  %r, %n = glow.loop carries(%x) reads(%w) steps 16 : (tensor<3x4xf32>, tensor<4x4xf32>) -> (tensor<3x4xf32>, tensor<i32>) {
  ^bb0(%i: tensor<i64>, %0: tensor<3x4xf32>, %1: tensor<4x4xf32>):
    %2 = glow.matmul %0, %1 : (tensor<3x4xf32>, tensor<4x4xf32>) -> tensor<3x4xf32>
    glow.yield %2 : tensor<3x4xf32>
  }
  func.return %r : tensor<3x4xf32>
}

// CHECK-LABEL: @narrow(
// CHECK-NOT:     glow_cpu
// CHECK:         glow.matmul
