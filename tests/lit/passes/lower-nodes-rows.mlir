// RUN: glow-opt %s --lower-nodes="backend=none keep=softmax" --split-input-file | filecheck %s

func.func @layer_norm(%x: tensor<2x4xf32>, %s: tensor<4xf32>, %b: tensor<4xf32>) -> tensor<2x4xf32> {
  %a = glow.layer_norm %x, %s, %b axis 1 epsilon 0.5 : (tensor<2x4xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<2x4xf32>
  func.return %a : tensor<2x4xf32>
}

// CHECK-LABEL: @layer_norm(
// CHECK-NEXT:  %a = glow.reduce_sum %x axes [1] keep_dims true : (tensor<2x4xf32>) -> tensor<2x1xf32>
// CHECK-NEXT:  %a_1 = glow.splat value 4.0 : tensor<2x1xf32>
// CHECK-NEXT:  %a_2 = glow.div %a, %a_1 : (tensor<2x1xf32>, tensor<2x1xf32>) -> tensor<2x1xf32>
// CHECK-NEXT:  %a_3 = glow.broadcast %a_2 : (tensor<2x1xf32>) -> tensor<2x4xf32>
// CHECK-NEXT:  %a_4 = glow.sub %x, %a_3 : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
// CHECK-NEXT:  %a_5 = glow.mul %a_4, %a_4 : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
// CHECK-NEXT:  %a_6 = glow.reduce_sum %a_5 axes [1] keep_dims true : (tensor<2x4xf32>) -> tensor<2x1xf32>
// CHECK-NEXT:  %a_7 = glow.splat value 4.0 : tensor<2x1xf32>
// CHECK-NEXT:  %a_8 = glow.div %a_6, %a_7 : (tensor<2x1xf32>, tensor<2x1xf32>) -> tensor<2x1xf32>
// CHECK-NEXT:  %a_9 = glow.splat value 0.5 : tensor<2x1xf32>
// CHECK-NEXT:  %a_10 = glow.add %a_8, %a_9 : (tensor<2x1xf32>, tensor<2x1xf32>) -> tensor<2x1xf32>
// CHECK-NEXT:  %a_11 = glow.sqrt %a_10 : (tensor<2x1xf32>) -> tensor<2x1xf32>
// CHECK-NEXT:  %a_12 = glow.broadcast %a_11 : (tensor<2x1xf32>) -> tensor<2x4xf32>
// CHECK-NEXT:  %a_13 = glow.div %a_4, %a_12 : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
// CHECK-NEXT:  %a_14 = glow.broadcast %s : (tensor<4xf32>) -> tensor<2x4xf32>
// CHECK-NEXT:  %a_15 = glow.mul %a_13, %a_14 : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
// CHECK-NEXT:  %a_16 = glow.broadcast %b : (tensor<4xf32>) -> tensor<2x4xf32>
// CHECK-NEXT:  %a_17 = glow.add %a_15, %a_16 : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
// CHECK-NEXT:  func.return %a_17 : tensor<2x4xf32>

// -----

func.func @rms_norm(%x: tensor<2x4xf16>, %s: tensor<4xf16>) -> tensor<2x4xf16> {
  %a = glow.rms_norm %x, %s axis 1 epsilon 0.5 : (tensor<2x4xf16>, tensor<4xf16>) -> tensor<2x4xf16>
  func.return %a : tensor<2x4xf16>
}

// CHECK-LABEL: @rms_norm(
// CHECK-NEXT:  %a = glow.cast %x : (tensor<2x4xf16>) -> tensor<2x4xf32>
// CHECK-NEXT:  %a_1 = glow.cast %s : (tensor<4xf16>) -> tensor<4xf32>
// CHECK-NEXT:  %a_2 = glow.mul %a, %a : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
// CHECK-NEXT:  %a_3 = glow.reduce_sum %a_2 axes [1] keep_dims true : (tensor<2x4xf32>) -> tensor<2x1xf32>
// CHECK-NEXT:  %a_4 = glow.splat value 4.0 : tensor<2x1xf32>
// CHECK-NEXT:  %a_5 = glow.div %a_3, %a_4 : (tensor<2x1xf32>, tensor<2x1xf32>) -> tensor<2x1xf32>
// CHECK-NEXT:  %a_6 = glow.splat value 0.5 : tensor<2x1xf32>
// CHECK-NEXT:  %a_7 = glow.add %a_5, %a_6 : (tensor<2x1xf32>, tensor<2x1xf32>) -> tensor<2x1xf32>
// CHECK-NEXT:  %a_8 = glow.sqrt %a_7 : (tensor<2x1xf32>) -> tensor<2x1xf32>
// CHECK-NEXT:  %a_9 = glow.broadcast %a_8 : (tensor<2x1xf32>) -> tensor<2x4xf32>
// CHECK-NEXT:  %a_10 = glow.div %a, %a_9 : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
// CHECK-NEXT:  %a_11 = glow.broadcast %a_1 : (tensor<4xf32>) -> tensor<2x4xf32>
// CHECK-NEXT:  %a_12 = glow.mul %a_10, %a_11 : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
// CHECK-NEXT:  %a_13 = glow.cast %a_12 : (tensor<2x4xf32>) -> tensor<2x4xf16>
// CHECK-NEXT:  func.return %a_13 : tensor<2x4xf16>

// -----

func.func @group_norm(%x: tensor<1x4x3xf32>, %c: tensor<4xf32>) -> tensor<1x4x3xf32> {
  %a = glow.group_norm %x, %c, %c groups 2 epsilon 0.5 : (tensor<1x4x3xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<1x4x3xf32>
  func.return %a : tensor<1x4x3xf32>
}

// CHECK-LABEL: @group_norm(
// CHECK-NEXT:  %a = glow.reshape %x : (tensor<1x4x3xf32>) -> tensor<1x2x2x3xf32>
// CHECK-NEXT:  %a_1 = glow.reduce_sum %a axes [2, 3] keep_dims true : (tensor<1x2x2x3xf32>) -> tensor<1x2x1x1xf32>
// CHECK-NEXT:  %a_2 = glow.splat value 6.0 : tensor<1x2x1x1xf32>
// CHECK-NEXT:  %a_3 = glow.div %a_1, %a_2 : (tensor<1x2x1x1xf32>, tensor<1x2x1x1xf32>) -> tensor<1x2x1x1xf32>
// CHECK-NEXT:  %a_4 = glow.broadcast %a_3 : (tensor<1x2x1x1xf32>) -> tensor<1x2x2x3xf32>
// CHECK-NEXT:  %a_5 = glow.sub %a, %a_4 : (tensor<1x2x2x3xf32>, tensor<1x2x2x3xf32>) -> tensor<1x2x2x3xf32>
// CHECK-NEXT:  %a_6 = glow.mul %a_5, %a_5 : (tensor<1x2x2x3xf32>, tensor<1x2x2x3xf32>) -> tensor<1x2x2x3xf32>
// CHECK-NEXT:  %a_7 = glow.reduce_sum %a_6 axes [2, 3] keep_dims true : (tensor<1x2x2x3xf32>) -> tensor<1x2x1x1xf32>
// CHECK-NEXT:  %a_8 = glow.splat value 6.0 : tensor<1x2x1x1xf32>
// CHECK-NEXT:  %a_9 = glow.div %a_7, %a_8 : (tensor<1x2x1x1xf32>, tensor<1x2x1x1xf32>) -> tensor<1x2x1x1xf32>
// CHECK-NEXT:  %a_10 = glow.splat value 0.5 : tensor<1x2x1x1xf32>
// CHECK-NEXT:  %a_11 = glow.add %a_9, %a_10 : (tensor<1x2x1x1xf32>, tensor<1x2x1x1xf32>) -> tensor<1x2x1x1xf32>
// CHECK-NEXT:  %a_12 = glow.sqrt %a_11 : (tensor<1x2x1x1xf32>) -> tensor<1x2x1x1xf32>
// CHECK-NEXT:  %a_13 = glow.broadcast %a_12 : (tensor<1x2x1x1xf32>) -> tensor<1x2x2x3xf32>
// CHECK-NEXT:  %a_14 = glow.div %a_5, %a_13 : (tensor<1x2x2x3xf32>, tensor<1x2x2x3xf32>) -> tensor<1x2x2x3xf32>
// CHECK-NEXT:  %a_15 = glow.reshape %a_14 : (tensor<1x2x2x3xf32>) -> tensor<1x4x3xf32>
// CHECK-NEXT:  %a_16 = glow.reshape %c : (tensor<4xf32>) -> tensor<4x1xf32>
// CHECK-NEXT:  %a_17 = glow.broadcast %a_16 : (tensor<4x1xf32>) -> tensor<1x4x3xf32>
// CHECK-NEXT:  %a_18 = glow.mul %a_15, %a_17 : (tensor<1x4x3xf32>, tensor<1x4x3xf32>) -> tensor<1x4x3xf32>
// CHECK-NEXT:  %a_19 = glow.reshape %c : (tensor<4xf32>) -> tensor<4x1xf32>
// CHECK-NEXT:  %a_20 = glow.broadcast %a_19 : (tensor<4x1xf32>) -> tensor<1x4x3xf32>
// CHECK-NEXT:  %a_21 = glow.add %a_18, %a_20 : (tensor<1x4x3xf32>, tensor<1x4x3xf32>) -> tensor<1x4x3xf32>
// CHECK-NEXT:  func.return %a_21 : tensor<1x4x3xf32>

// -----

// The columns that only fill the last panel are cut off.
func.func @packed_matmul(%x: tensor<2x3x4xf32>, %w: tensor<2x4x8xf32>) -> tensor<2x3x9xf32> {
  %a = glow_cpu.packed_matmul %x, %w columns 9 : (tensor<2x3x4xf32>, tensor<2x4x8xf32>) -> tensor<2x3x9xf32>
  func.return %a : tensor<2x3x9xf32>
}

// CHECK-LABEL: @packed_matmul(
// CHECK-NEXT:  %a = glow.transpose %w permutation [1, 0, 2] : (tensor<2x4x8xf32>) -> tensor<4x2x8xf32>
// CHECK-NEXT:  %a_1 = glow.reshape %a : (tensor<4x2x8xf32>) -> tensor<4x16xf32>
// CHECK-NEXT:  %a_2 = glow.slice %a_1 sizes [4, 9] : (tensor<4x16xf32>) -> tensor<4x9xf32>
// CHECK-NEXT:  %a_3 = glow.reshape %x : (tensor<2x3x4xf32>) -> tensor<6x4xf32>
// CHECK-NEXT:  %a_4 = glow.matmul %a_3, %a_2 : (tensor<6x4xf32>, tensor<4x9xf32>) -> tensor<6x9xf32>
// CHECK-NEXT:  %a_5 = glow.reshape %a_4 : (tensor<6x9xf32>) -> tensor<2x3x9xf32>
// CHECK-NEXT:  func.return %a_5 : tensor<2x3x9xf32>

// -----

// Rows that meet a zero do not count, even if they are infinite.
func.func @sparse_vector_matmul(%x: tensor<1x1x4xf32>, %w: tensor<4x9xf32>) -> tensor<1x1x9xf32> {
  %a = glow_cpu.sparse_vector_matmul %x, %w : (tensor<1x1x4xf32>, tensor<4x9xf32>) -> tensor<1x1x9xf32>
  func.return %a : tensor<1x1x9xf32>
}

// CHECK-LABEL: @sparse_vector_matmul(
// CHECK-NEXT:  %a = glow.reshape %x : (tensor<1x1x4xf32>) -> tensor<4x1xf32>
// CHECK-NEXT:  %a_1 = glow.splat value 0.0 : tensor<4x1xf32>
// CHECK-NEXT:  %a_2 = glow.equal %a, %a_1 : (tensor<4x1xf32>, tensor<4x1xf32>) -> tensor<4x1xi1>
// CHECK-NEXT:  %a_3 = glow.broadcast %a_2 : (tensor<4x1xi1>) -> tensor<4x9xi1>
// CHECK-NEXT:  %a_4 = glow.splat value 0.0 : tensor<4x9xf32>
// CHECK-NEXT:  %a_5 = glow.select %a_3, %a_4, %w : (tensor<4x9xi1>, tensor<4x9xf32>, tensor<4x9xf32>) -> tensor<4x9xf32>
// CHECK-NEXT:  %a_6 = glow.reshape %x : (tensor<1x1x4xf32>) -> tensor<1x4xf32>
// CHECK-NEXT:  %a_7 = glow.matmul %a_6, %a_5 : (tensor<1x4xf32>, tensor<4x9xf32>) -> tensor<1x9xf32>
// CHECK-NEXT:  %a_8 = glow.reshape %a_7 : (tensor<1x9xf32>) -> tensor<1x1x9xf32>
// CHECK-NEXT:  func.return %a_8 : tensor<1x1x9xf32>

// -----

func.func @attention(%q: tensor<1x7x2x4xf16>, %m: tensor<1x2x7x7xf16>) -> tensor<1x7x2x4xf16> {
  %a = glow.masked_attention %q, %q, %q, %m scale 0.5 : (tensor<1x7x2x4xf16>, tensor<1x7x2x4xf16>, tensor<1x7x2x4xf16>, tensor<1x2x7x7xf16>) -> tensor<1x7x2x4xf16>
  func.return %a : tensor<1x7x2x4xf16>
}

// CHECK-LABEL: @attention(
// CHECK-NEXT:  %a = glow.cast %q : (tensor<1x7x2x4xf16>) -> tensor<1x7x2x4xf32>
// CHECK-NEXT:  %a_1 = glow.transpose %a permutation [0, 2, 1, 3] : (tensor<1x7x2x4xf32>) -> tensor<1x2x7x4xf32>
// CHECK-NEXT:  %a_2 = glow.cast %q : (tensor<1x7x2x4xf16>) -> tensor<1x7x2x4xf32>
// CHECK-NEXT:  %a_3 = glow.transpose %a_2 permutation [0, 2, 1, 3] : (tensor<1x7x2x4xf32>) -> tensor<1x2x7x4xf32>
// CHECK-NEXT:  %a_4 = glow.cast %q : (tensor<1x7x2x4xf16>) -> tensor<1x7x2x4xf32>
// CHECK-NEXT:  %a_5 = glow.transpose %a_4 permutation [0, 2, 1, 3] : (tensor<1x7x2x4xf32>) -> tensor<1x2x7x4xf32>
// CHECK-NEXT:  %a_6 = glow.matmul %a_1, %a_3 transpose_rhs true : (tensor<1x2x7x4xf32>, tensor<1x2x7x4xf32>) -> tensor<1x2x7x7xf32>
// CHECK-NEXT:  %a_7 = glow.splat value 0.5 : tensor<1x2x7x7xf32>
// CHECK-NEXT:  %a_8 = glow.mul %a_6, %a_7 : (tensor<1x2x7x7xf32>, tensor<1x2x7x7xf32>) -> tensor<1x2x7x7xf32>
// CHECK-NEXT:  %a_9 = glow.cast %m : (tensor<1x2x7x7xf16>) -> tensor<1x2x7x7xf32>
// CHECK-NEXT:  %a_10 = glow.add %a_8, %a_9 : (tensor<1x2x7x7xf32>, tensor<1x2x7x7xf32>) -> tensor<1x2x7x7xf32>
// CHECK-NEXT:  %a_11 = glow.softmax %a_10 axis 3 : (tensor<1x2x7x7xf32>) -> tensor<1x2x7x7xf32>
// CHECK-NEXT:  %a_12 = glow.matmul %a_11, %a_5 : (tensor<1x2x7x7xf32>, tensor<1x2x7x4xf32>) -> tensor<1x2x7x4xf32>
// CHECK-NEXT:  %a_13 = glow.transpose %a_12 permutation [0, 2, 1, 3] : (tensor<1x2x7x4xf32>) -> tensor<1x7x2x4xf32>
// CHECK-NEXT:  %a_14 = glow.cast %a_13 : (tensor<1x7x2x4xf32>) -> tensor<1x7x2x4xf16>
// CHECK-NEXT:  func.return %a_14 : tensor<1x7x2x4xf16>
