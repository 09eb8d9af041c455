// RUN: glow-opt %s --lower-nodes="backend=none keep=relu" --split-input-file | filecheck %s

// A data-parallel node becomes the primitives of its expression.
func.func @sigmoid(%x: tensor<4xf32>) -> tensor<4xf32> {
  %a = glow.sigmoid %x : (tensor<4xf32>) -> tensor<4xf32>
  func.return %a : tensor<4xf32>
}

// CHECK-LABEL: @sigmoid(
// CHECK-NEXT:  %a = glow.neg %x : (tensor<4xf32>) -> tensor<4xf32>
// CHECK-NEXT:  %a_1 = glow.exp %a : (tensor<4xf32>) -> tensor<4xf32>
// CHECK-NEXT:  %a_2 = glow.splat value 1.0 : tensor<4xf32>
// CHECK-NEXT:  %a_3 = glow.add %a_2, %a_1 : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
// CHECK-NEXT:  %a_4 = glow.splat value 1.0 : tensor<4xf32>
// CHECK-NEXT:  %a_5 = glow.div %a_4, %a_3 : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
// CHECK-NEXT:  func.return %a_5 : tensor<4xf32>

// -----

// Primitives stay, and so do operators named by `keep`.
func.func @kept(%x: tensor<4xf32>) -> tensor<4xf32> {
  %a = glow.relu %x : (tensor<4xf32>) -> tensor<4xf32>
  %b = glow.exp %a : (tensor<4xf32>) -> tensor<4xf32>
  func.return %b : tensor<4xf32>
}

// CHECK-LABEL: @kept(
// CHECK-NEXT:  %a = glow.relu %x : (tensor<4xf32>) -> tensor<4xf32>
// CHECK-NEXT:  %b = glow.exp %a : (tensor<4xf32>) -> tensor<4xf32>
// CHECK-NEXT:  func.return %b : tensor<4xf32>

// -----

// Steps on 16-bit floats compute in f32; one step rounds once anyway.
func.func @half(%x: tensor<4xf16>) -> (tensor<4xf16>, tensor<4xf16>) {
  %a = glow.hard_swish %x : (tensor<4xf16>) -> tensor<4xf16>
  %b = glow.reciprocal %x : (tensor<4xf16>) -> tensor<4xf16>
  func.return %a, %b : tensor<4xf16>, tensor<4xf16>
}

// CHECK-LABEL: @half(
// CHECK-NEXT:  %a = glow.cast %x : (tensor<4xf16>) -> tensor<4xf32>
// CHECK-NEXT:  %a_1 = glow.splat value 0.16666666666666666 : tensor<4xf32>
// CHECK-NEXT:  %a_2 = glow.mul %a, %a_1 : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
// CHECK-NEXT:  %a_3 = glow.splat value 0.5 : tensor<4xf32>
// CHECK-NEXT:  %a_4 = glow.add %a_2, %a_3 : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
// CHECK-NEXT:  %a_5 = glow.splat value 1.0 : tensor<4xf32>
// CHECK-NEXT:  %a_6 = glow.minimum %a_5, %a_4 : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
// CHECK-NEXT:  %a_7 = glow.splat value 0.0 : tensor<4xf32>
// CHECK-NEXT:  %a_8 = glow.maximum %a_7, %a_6 : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
// CHECK-NEXT:  %a_9 = glow.mul %a, %a_8 : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
// CHECK-NEXT:  %a_10 = glow.cast %a_9 : (tensor<4xf32>) -> tensor<4xf16>
// CHECK-NEXT:  %b = glow.splat value 1.0 : tensor<4xf16>
// CHECK-NEXT:  %b_1 = glow.div %b, %x : (tensor<4xf16>, tensor<4xf16>) -> tensor<4xf16>
// CHECK-NEXT:  func.return %a_10, %b_1 : tensor<4xf16>, tensor<4xf16>

// -----

func.func @fully_connected(%x: tensor<2x3xf32>, %w: tensor<4x3xf32>, %b: tensor<4xf32>) -> tensor<2x4xf32> {
  %a = glow.fully_connected %x, %w, %b : (tensor<2x3xf32>, tensor<4x3xf32>, tensor<4xf32>) -> tensor<2x4xf32>
  func.return %a : tensor<2x4xf32>
}

// CHECK-LABEL: @fully_connected(
// CHECK-NEXT:  %a = glow.matmul %x, %w transpose_rhs true : (tensor<2x3xf32>, tensor<4x3xf32>) -> tensor<2x4xf32>
// CHECK-NEXT:  %a_1 = glow.broadcast %b : (tensor<4xf32>) -> tensor<2x4xf32>
// CHECK-NEXT:  %a_2 = glow.add %a, %a_1 : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
// CHECK-NEXT:  func.return %a_2 : tensor<2x4xf32>

// -----

// The sum of 16-bit floats could overflow, so it is computed in f32.
func.func @reduce_mean(%x: tensor<2x5xf16>) -> tensor<2xf16> {
  %a = glow.reduce_mean %x axes [1] : (tensor<2x5xf16>) -> tensor<2xf16>
  func.return %a : tensor<2xf16>
}

// CHECK-LABEL: @reduce_mean(
// CHECK-NEXT:  %a = glow.cast %x : (tensor<2x5xf16>) -> tensor<2x5xf32>
// CHECK-NEXT:  %a_1 = glow.reduce_sum %a axes [1] : (tensor<2x5xf32>) -> tensor<2xf32>
// CHECK-NEXT:  %a_2 = glow.splat value 5.0 : tensor<2xf32>
// CHECK-NEXT:  %a_3 = glow.div %a_1, %a_2 : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
// CHECK-NEXT:  %a_4 = glow.cast %a_3 : (tensor<2xf32>) -> tensor<2xf16>
// CHECK-NEXT:  func.return %a_4 : tensor<2xf16>

// -----

func.func @log_softmax(%x: tensor<2x3xf32>) -> tensor<2x3xf32> {
  %a = glow.log_softmax %x axis 1 : (tensor<2x3xf32>) -> tensor<2x3xf32>
  func.return %a : tensor<2x3xf32>
}

// CHECK-LABEL: @log_softmax(
// CHECK-NEXT:  %a = glow.reduce_max %x axes [1] keep_dims true : (tensor<2x3xf32>) -> tensor<2x1xf32>
// CHECK-NEXT:  %a_1 = glow.broadcast %a : (tensor<2x1xf32>) -> tensor<2x3xf32>
// CHECK-NEXT:  %a_2 = glow.sub %x, %a_1 : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
// CHECK-NEXT:  %a_3 = glow.exp %a_2 : (tensor<2x3xf32>) -> tensor<2x3xf32>
// CHECK-NEXT:  %a_4 = glow.reduce_sum %a_3 axes [1] keep_dims true : (tensor<2x3xf32>) -> tensor<2x1xf32>
// CHECK-NEXT:  %a_5 = glow.log %a_4 : (tensor<2x1xf32>) -> tensor<2x1xf32>
// CHECK-NEXT:  %a_6 = glow.broadcast %a_5 : (tensor<2x1xf32>) -> tensor<2x3xf32>
// CHECK-NEXT:  %a_7 = glow.sub %a_2, %a_6 : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
// CHECK-NEXT:  func.return %a_7 : tensor<2x3xf32>

// -----

func.func @softmax(%x: tensor<2x3xf32>) -> tensor<2x3xf32> {
  %a = glow.softmax %x axis 0 : (tensor<2x3xf32>) -> tensor<2x3xf32>
  func.return %a : tensor<2x3xf32>
}

// CHECK-LABEL: @softmax(
// CHECK-NEXT:  %a = glow.reduce_max %x axes [0] keep_dims true : (tensor<2x3xf32>) -> tensor<1x3xf32>
// CHECK-NEXT:  %a_1 = glow.broadcast %a : (tensor<1x3xf32>) -> tensor<2x3xf32>
// CHECK-NEXT:  %a_2 = glow.sub %x, %a_1 : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
// CHECK-NEXT:  %a_3 = glow.exp %a_2 : (tensor<2x3xf32>) -> tensor<2x3xf32>
// CHECK-NEXT:  %a_4 = glow.reduce_sum %a_3 axes [0] keep_dims true : (tensor<2x3xf32>) -> tensor<1x3xf32>
// CHECK-NEXT:  %a_5 = glow.broadcast %a_4 : (tensor<1x3xf32>) -> tensor<2x3xf32>
// CHECK-NEXT:  %a_6 = glow.div %a_3, %a_5 : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
// CHECK-NEXT:  func.return %a_6 : tensor<2x3xf32>

// -----

func.func @batch_norm(%x: tensor<1x2x3xf32>, %p: tensor<2xf32>, %q: tensor<2xf32>) -> tensor<1x2x3xf32> {
  %n = glow.batch_norm %x, %p, %q, %p, %q epsilon 0.001 : (tensor<1x2x3xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>) -> tensor<1x2x3xf32>
  func.return %n : tensor<1x2x3xf32>
}

// CHECK-LABEL: @batch_norm(
// CHECK-NEXT:  %n = glow.splat value 0.001 : tensor<2xf32>
// CHECK-NEXT:  %n_1 = glow.add %q, %n : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
// CHECK-NEXT:  %n_2 = glow.sqrt %n_1 : (tensor<2xf32>) -> tensor<2xf32>
// CHECK-NEXT:  %n_3 = glow.div %p, %n_2 : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
// CHECK-NEXT:  %n_4 = glow.mul %p, %n_3 : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
// CHECK-NEXT:  %n_5 = glow.sub %q, %n_4 : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
// CHECK-NEXT:  %n_6 = glow.reshape %n_3 : (tensor<2xf32>) -> tensor<2x1xf32>
// CHECK-NEXT:  %n_7 = glow.broadcast %n_6 : (tensor<2x1xf32>) -> tensor<1x2x3xf32>
// CHECK-NEXT:  %n_8 = glow.mul %x, %n_7 : (tensor<1x2x3xf32>, tensor<1x2x3xf32>) -> tensor<1x2x3xf32>
// CHECK-NEXT:  %n_9 = glow.reshape %n_5 : (tensor<2xf32>) -> tensor<2x1xf32>
// CHECK-NEXT:  %n_10 = glow.broadcast %n_9 : (tensor<2x1xf32>) -> tensor<1x2x3xf32>
// CHECK-NEXT:  %n_11 = glow.add %n_8, %n_10 : (tensor<1x2x3xf32>, tensor<1x2x3xf32>) -> tensor<1x2x3xf32>
// CHECK-NEXT:  func.return %n_11 : tensor<1x2x3xf32>

// -----

func.func @local_response_norm(%x: tensor<1x4x2xf32>) -> tensor<1x4x2xf32> {
  %a = glow.local_response_norm %x size 2 alpha 0.5 : (tensor<1x4x2xf32>) -> tensor<1x4x2xf32>
  func.return %a : tensor<1x4x2xf32>
}

// CHECK-LABEL: @local_response_norm(
// CHECK-NEXT:  %a = glow.mul %x, %x : (tensor<1x4x2xf32>, tensor<1x4x2xf32>) -> tensor<1x4x2xf32>
// CHECK-NEXT:  %a_1 = glow.pad %a high [0, 1, 0] value 0.0 : (tensor<1x4x2xf32>) -> tensor<1x5x2xf32>
// CHECK-NEXT:  %a_2 = glow.slice %a_1 sizes [1, 4, 2] : (tensor<1x5x2xf32>) -> tensor<1x4x2xf32>
// CHECK-NEXT:  %a_3 = glow.slice %a_1 starts [0, 1, 0] sizes [1, 4, 2] : (tensor<1x5x2xf32>) -> tensor<1x4x2xf32>
// CHECK-NEXT:  %a_4 = glow.add %a_2, %a_3 : (tensor<1x4x2xf32>, tensor<1x4x2xf32>) -> tensor<1x4x2xf32>
// CHECK-NEXT:  %a_5 = glow.splat value 0.25 : tensor<1x4x2xf32>
// CHECK-NEXT:  %a_6 = glow.mul %a_4, %a_5 : (tensor<1x4x2xf32>, tensor<1x4x2xf32>) -> tensor<1x4x2xf32>
// CHECK-NEXT:  %a_7 = glow.splat value 1.0 : tensor<1x4x2xf32>
// CHECK-NEXT:  %a_8 = glow.add %a_6, %a_7 : (tensor<1x4x2xf32>, tensor<1x4x2xf32>) -> tensor<1x4x2xf32>
// CHECK-NEXT:  %a_9 = glow.splat value 0.75 : tensor<1x4x2xf32>
// CHECK-NEXT:  %a_10 = glow.pow %a_8, %a_9 : (tensor<1x4x2xf32>, tensor<1x4x2xf32>) -> tensor<1x4x2xf32>
// CHECK-NEXT:  %a_11 = glow.div %x, %a_10 : (tensor<1x4x2xf32>, tensor<1x4x2xf32>) -> tensor<1x4x2xf32>
// CHECK-NEXT:  func.return %a_11 : tensor<1x4x2xf32>
