// RUN: glow-opt %s --loop-batch --split-input-file | filecheck %s

// A constant that is the same for all images is made for one image.
func.func @main(%x: tensor<3x8xf32> {glow.name = "x"}) -> (tensor<3x5xf32> {glow.name = "y"}) {
  %w = glow.constant dense<0.5> : tensor<8x5xf32>
  %one = glow.splat value 1.0 : tensor<3x8xf32>
  %a = glow.add %x, %one : (tensor<3x8xf32>, tensor<3x8xf32>) -> tensor<3x8xf32>
  %y = glow.matmul %a, %w : (tensor<3x8xf32>, tensor<8x5xf32>) -> tensor<3x5xf32>
  func.return %y : tensor<3x5xf32>
}

// CHECK-LABEL: @main(%x: tensor<3x8xf32> {glow.name = "x"}, %images: tensor<i64> {glow.name = "images"})
// CHECK-NEXT:  %0, %1 = glow.loop trips(%images) reads(%x) steps 3 : (tensor<i64>, tensor<3x8xf32>) -> (tensor<3x5xf32>, tensor<i32>) {
// CHECK-NEXT:  ^bb0(%2: tensor<i64>, %3: tensor<3x8xf32>):
// CHECK-NEXT:    %4 = glow.reshape %2 : (tensor<i64>) -> tensor<1xi64>
// CHECK-NEXT:    %5 = glow.gather %3, %4 axis 0 : (tensor<3x8xf32>, tensor<1xi64>) -> tensor<1x8xf32>
// CHECK-NEXT:    %w = glow.constant dense<5.000000e-01> : tensor<8x5xf32>
// CHECK-NEXT:    %one = glow.splat value 1.0 : tensor<1x8xf32>
// CHECK-NEXT:    %a = glow.add %5, %one : (tensor<1x8xf32>, tensor<1x8xf32>) -> tensor<1x8xf32>
// CHECK-NEXT:    %y = glow.matmul %a, %w : (tensor<1x8xf32>, tensor<8x5xf32>) -> tensor<1x5xf32>
// CHECK-NEXT:    %6 = glow.reshape %y : (tensor<1x5xf32>) -> tensor<5xf32>
// CHECK-NEXT:    glow.yield %6 : tensor<5xf32>
// CHECK-NEXT:  }
// CHECK-NEXT:  func.return %0 : tensor<3x5xf32>

// -----

// A factor that repeats along dimension 0 is whole where all images read all of it.
func.func @main(%x: tensor<3x3xf32>) -> tensor<3x3xf32> {
  %s = glow.splat value 2.0 : tensor<3x3xf32>
  %a = glow.mul %x, %s : (tensor<3x3xf32>, tensor<3x3xf32>) -> tensor<3x3xf32>
  %y = glow.matmul %a, %s : (tensor<3x3xf32>, tensor<3x3xf32>) -> tensor<3x3xf32>
  func.return %y : tensor<3x3xf32>
}

// CHECK-LABEL: @main(
// CHECK:         glow.mul {{.*}} : (tensor<1x3xf32>, tensor<1x3xf32>) -> tensor<1x3xf32>
// CHECK:         glow.matmul {{.*}} : (tensor<1x3xf32>, tensor<3x3xf32>) -> tensor<1x3xf32>

// -----

// One image needs no loop.
func.func @main(%x: tensor<1x4xf32>) -> tensor<1x4xf32> {
  %y = glow.relu %x : (tensor<1x4xf32>) -> tensor<1x4xf32>
  func.return %y : tensor<1x4xf32>
}

// CHECK-LABEL: @main(
// CHECK-NEXT:  %y = glow.relu %x : (tensor<1x4xf32>) -> tensor<1x4xf32>
// CHECK-NEXT:  func.return %y : tensor<1x4xf32>
