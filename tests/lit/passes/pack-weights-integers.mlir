// RUN: glow-opt %s --set-machine="vector-bits=64 int8-dots=vpdpbusd" --pack-weights --split-input-file | filecheck %s
// RUN: glow-opt %s --set-machine="vector-bits=64" --pack-weights --split-input-file | filecheck %s --check-prefix=PAIRS

// ERROR: expected quads of u8, i8, found 'f32'

// Rows in quads, for which one is missing; the last panel is half empty.
func.func @unsigned(%x: tensor<2x3xui8>) -> tensor<2x3xi32> {
  %w = glow.constant dense<[[1, 2, 3], [4, 5, 6], [7, 8, 9]]> : tensor<3x3xi8>
  %r = glow.matmul %x, %w : (tensor<2x3xui8>, tensor<3x3xi8>) -> tensor<2x3xi32>
  func.return %r : tensor<2x3xi32>
}

// CHECK-LABEL: @unsigned(
// CHECK:       [[X:%.*]] = glow.pad %x high [0, 1] value 0.0 : (tensor<2x3xui8>) -> tensor<2x4xui8>
// CHECK:       [[W:%.*]] = glow.constant dense<[{{\[\[\[}}1, 4, 7, 0], [2, 5, 8, 0]]], {{\[\[\[}}3, 6, 9, 0], [0, 0, 0, 0]]]]> : tensor<2x1x2x4xi8>
// CHECK:       glow_cpu.dot_matmul [[X]], [[W]] columns 3 : (tensor<2x4xui8>, tensor<2x1x2x4xi8>) -> tensor<2x3xi32>

// PAIRS-LABEL: @unsigned(
// PAIRS:       glow_cpu.dot_matmul {{.*}} : (tensor<2x4xui8>, tensor<2x2x2x2xi8>) -> tensor<2x3xi32>

// -----

// Signed bytes are 128 larger as unsigned ones; 128 times the sums of columns are subtracted.
func.func @signed(%x: tensor<1x4x!quant.uniform<i8:f32, 0.5:3>>, %b: tensor<2xi32>) -> tensor<1x2xi32> {
  %w = glow.constant dense<[[1, 2, 3, 4], [5, 6, 7, -8]]> : tensor<2x4xi8>
  %r = glow.fully_connected %x, %w, %b : (tensor<1x4x!quant.uniform<i8:f32, 0.5:3>>, tensor<2x4xi8>, tensor<2xi32>) -> tensor<1x2xi32>
  func.return %r : tensor<1x2xi32>
}

// CHECK-LABEL: @signed(
// CHECK:       [[S:%.*]] = glow.storage_cast %x {{.*}} -> tensor<1x4xi8>
// CHECK:       [[C:%.*]] = glow.cast [[S]] : (tensor<1x4xi8>) -> tensor<1x4xui8>
// CHECK:       [[N:%.*]] = glow.splat value 128.0 : tensor<1x4xui8>
// CHECK:       [[X:%.*]] = glow.add [[C]], [[N]]
// CHECK:       [[E:%.*]] = glow.constant dense<1280> : tensor<2xi32>
// CHECK:       [[Y:%.*]] = glow_cpu.dot_matmul [[X]], {{.*}} columns 2 : (tensor<1x4xui8>, tensor<1x1x2x4xi8>) -> tensor<1x2xi32>
// CHECK:       glow.sub [[Y]],
// CHECK:       glow.add

// PAIRS-LABEL: @signed(
// PAIRS-NOT:   glow.sub
// PAIRS:       glow_cpu.dot_matmul %x, {{.*}} : (tensor<1x4x!quant.uniform<i8:f32, 0.5:3>>, tensor<1x2x2x2xi8>) -> tensor<1x2xi32>

// -----

// Weights that are not constant, and wide ones, stay.
func.func @unchanged(%x: tensor<2x4xui8>, %w: tensor<4x2xi8>, %y: tensor<2x4xi32>) {
  %v = glow.constant dense<1> : tensor<4x2xi32>
  %r = glow.matmul %x, %w : (tensor<2x4xui8>, tensor<4x2xi8>) -> tensor<2x2xi32>
  %s = glow.matmul %y, %v : (tensor<2x4xi32>, tensor<4x2xi32>) -> tensor<2x2xi32>
  "test.op"(%r, %s) : (tensor<2x2xi32>, tensor<2x2xi32>) -> ()
  func.return
}

// CHECK-LABEL: @unchanged(
// CHECK-NOT:   dot_matmul
// CHECK:       func.return
