// RUN: glow-opt %s --set-machine="vector-bits=64 vector-registers=16" --pack-weights --split-input-file | filecheck %s

// Five columns in panels of four would leave the second almost empty, but a panel has whole vectors.
func.func @matmul(%x: tensor<2x2xf32>) -> tensor<2x5xf32> {
  %w = glow.constant dense<[[1.0, 2.0, 3.0, 4.0, 5.0], [6.0, 7.0, 8.0, 9.0, 10.0]]> : tensor<2x5xf32>
  %r = glow.matmul %x, %w : (tensor<2x2xf32>, tensor<2x5xf32>) -> tensor<2x5xf32>
  func.return %r : tensor<2x5xf32>
}

// CHECK-LABEL: @matmul(
// CHECK-NEXT:  %r = glow.constant dense<{{\[\[}}[1.000000e+00, 2.000000e+00, 3.000000e+00, 4.000000e+00], [6.000000e+00, 7.000000e+00, 8.000000e+00, 9.000000e+00]],
// CHECK-SAME:  {{\[\[}}5.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00], [1.000000e+01, 0.000000e+00, 0.000000e+00, 0.000000e+00]]]> : tensor<2x2x4xf32>
// CHECK-NEXT:  %r_1 = glow_cpu.packed_matmul %x, %r columns 5 : (tensor<2x2xf32>, tensor<2x2x4xf32>) -> tensor<2x5xf32>
// CHECK-NEXT:  func.return %r_1 : tensor<2x5xf32>

// -----

// Panels are about equally full: six columns are two panels of one vector and a half, rounded up.
func.func @transposed(%x: tensor<3x1xf32>) -> tensor<3x6xf32> {
  %w = glow.constant dense<[[1.0], [2.0], [3.0], [4.0], [5.0], [6.0]]> : tensor<6x1xf32>
  %r = glow.matmul %x, %w transpose_rhs true : (tensor<3x1xf32>, tensor<6x1xf32>) -> tensor<3x6xf32>
  func.return %r : tensor<3x6xf32>
}

// CHECK-LABEL: @transposed(
// CHECK-NEXT:  %r = glow.constant dense<{{\[\[}}[1.000000e+00, 2.000000e+00, 3.000000e+00, 4.000000e+00]], {{\[\[}}5.000000e+00, 6.000000e+00, 0.000000e+00, 0.000000e+00]]]> : tensor<2x1x4xf32>
// CHECK-NEXT:  %r_1 = glow_cpu.packed_matmul %x, %r columns 6 : (tensor<3x1xf32>, tensor<2x1x4xf32>) -> tensor<3x6xf32>
// CHECK-NEXT:  func.return %r_1 : tensor<3x6xf32>

// -----

// The bias of a fully connected layer becomes a sum.
func.func @fully_connected(%x: tensor<2x2xf32>) -> tensor<2x2xf32> {
  %w = glow.constant dense<[[1.0, 2.0], [3.0, 4.0]]> : tensor<2x2xf32>
  %b = glow.constant dense<[5.0, 6.0]> : tensor<2xf32>
  %r = glow.fully_connected %x, %w, %b : (tensor<2x2xf32>, tensor<2x2xf32>, tensor<2xf32>) -> tensor<2x2xf32>
  func.return %r : tensor<2x2xf32>
}

// CHECK-LABEL: @fully_connected(
// CHECK-NEXT:  %b = glow.constant dense<[5.000000e+00, 6.000000e+00]> : tensor<2xf32>
// CHECK-NEXT:  %r = glow.constant dense<{{\[\[}}[1.000000e+00, 3.000000e+00], [2.000000e+00, 4.000000e+00]]]> : tensor<1x2x2xf32>
// CHECK-NEXT:  %r_1 = glow_cpu.packed_matmul %x, %r columns 2 : (tensor<2x2xf32>, tensor<1x2x2xf32>) -> tensor<2x2xf32>
// CHECK-NEXT:  %r_2 = glow.broadcast %b : (tensor<2xf32>) -> tensor<2x2xf32>
// CHECK-NEXT:  %r_3 = glow.add %r_1, %r_2 : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
// CHECK-NEXT:  func.return %r_3 : tensor<2x2xf32>

// -----

// For a single row: a fully connected layer stays.
func.func @one_row(%x: tensor<1x1xf32>) -> (tensor<1x2xf32>, tensor<1x5xf32>) {
  %w = glow.constant dense<[[1.0], [2.0]]> : tensor<2x1xf32>
  %b = glow.constant dense<[5.0, 6.0]> : tensor<2xf32>
  %m = glow.constant dense<[[1.0, 2.0, 3.0, 4.0, 5.0]]> : tensor<1x5xf32>
  %r = glow.fully_connected %x, %w, %b : (tensor<1x1xf32>, tensor<2x1xf32>, tensor<2xf32>) -> tensor<1x2xf32>
  %s = glow.matmul %x, %m : (tensor<1x1xf32>, tensor<1x5xf32>) -> tensor<1x5xf32>
  func.return %r, %s : tensor<1x2xf32>, tensor<1x5xf32>
}

// CHECK-LABEL: @one_row(
// CHECK-NEXT:  %w = glow.constant dense<{{\[\[}}1.000000e+00], [2.000000e+00]]> : tensor<2x1xf32>
// CHECK-NEXT:  %b = glow.constant dense<[5.000000e+00, 6.000000e+00]> : tensor<2xf32>
// CHECK-NEXT:  %r = glow.fully_connected %x, %w, %b : (tensor<1x1xf32>, tensor<2x1xf32>, tensor<2xf32>) -> tensor<1x2xf32>
// CHECK-NEXT:  %s = glow.constant dense<{{\[\[}}[1.000000e+00, 2.000000e+00, 3.000000e+00, 4.000000e+00]], {{\[\[}}5.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00]]]> : tensor<2x1x4xf32>
// CHECK-NEXT:  %s_1 = glow_cpu.packed_matmul %x, %s columns 5 : (tensor<1x1xf32>, tensor<2x1x4xf32>) -> tensor<1x5xf32>
// CHECK-NEXT:  func.return %r, %s_1 : tensor<1x2xf32>, tensor<1x5xf32>

// -----

// A reshape that keeps the columns moves before the product.
func.func @reshape(%x: tensor<4x1xf32>) -> tensor<2x2x2xf32> {
  %w = glow.constant dense<[[1.0, 2.0]]> : tensor<1x2xf32>
  %r = glow.matmul %x, %w : (tensor<4x1xf32>, tensor<1x2xf32>) -> tensor<4x2xf32>
  %s = glow.reshape %r : (tensor<4x2xf32>) -> tensor<2x2x2xf32>
  func.return %s : tensor<2x2x2xf32>
}

// CHECK-LABEL: @reshape(
// CHECK-NEXT:  %r = glow.constant dense<{{\[\[}}[1.000000e+00, 2.000000e+00]]]> : tensor<1x1x2xf32>
// CHECK-NEXT:  %s = glow.reshape %x : (tensor<4x1xf32>) -> tensor<2x2x1xf32>
// CHECK-NEXT:  %s_1 = glow_cpu.packed_matmul %s, %r columns 2 : (tensor<2x2x1xf32>, tensor<1x1x2xf32>) -> tensor<2x2x2xf32>
// CHECK-NEXT:  func.return %s_1 : tensor<2x2x2xf32>

// -----

// Not if it divides the columns, or if something else uses the product.
func.func @other_reshapes(%x: tensor<4x1xf32>) -> (tensor<8x1xf32>, tensor<2x2x2xf32>, tensor<4x2xf32>) {
  %w = glow.constant dense<[[1.0, 2.0]]> : tensor<1x2xf32>
  %v = glow.constant dense<[[3.0, 4.0]]> : tensor<1x2xf32>
  %r = glow.matmul %x, %w : (tensor<4x1xf32>, tensor<1x2xf32>) -> tensor<4x2xf32>
  %s = glow.reshape %r : (tensor<4x2xf32>) -> tensor<8x1xf32>
  %t = glow.matmul %x, %v : (tensor<4x1xf32>, tensor<1x2xf32>) -> tensor<4x2xf32>
  %u = glow.reshape %t : (tensor<4x2xf32>) -> tensor<2x2x2xf32>
  func.return %s, %u, %t : tensor<8x1xf32>, tensor<2x2x2xf32>, tensor<4x2xf32>
}

// CHECK-LABEL: @other_reshapes(
// CHECK-NEXT:  %r = glow.constant dense<{{\[\[}}[1.000000e+00, 2.000000e+00]]]> : tensor<1x1x2xf32>
// CHECK-NEXT:  %r_1 = glow_cpu.packed_matmul %x, %r columns 2 : (tensor<4x1xf32>, tensor<1x1x2xf32>) -> tensor<4x2xf32>
// CHECK-NEXT:  %s = glow.reshape %r_1 : (tensor<4x2xf32>) -> tensor<8x1xf32>
// CHECK-NEXT:  %t = glow.constant dense<{{\[\[}}[3.000000e+00, 4.000000e+00]]]> : tensor<1x1x2xf32>
// CHECK-NEXT:  %t_1 = glow_cpu.packed_matmul %x, %t columns 2 : (tensor<4x1xf32>, tensor<1x1x2xf32>) -> tensor<4x2xf32>
// CHECK-NEXT:  %u = glow.reshape %t_1 : (tensor<4x2xf32>) -> tensor<2x2x2xf32>
// CHECK-NEXT:  func.return %s, %u, %t_1 : tensor<8x1xf32>, tensor<2x2x2xf32>, tensor<4x2xf32>

// -----

// Not two dynamic operands, integers, a batch of matrices, or a transposed left operand.
func.func @others(%x: tensor<2x2xf32>, %i: tensor<2x1xi32>, %b: tensor<1x2x1xf32>) -> (tensor<2x2xf32>, tensor<2x2xi32>, tensor<1x2x2xf32>, tensor<2x2xf32>) {
  %w = glow.constant dense<[[1, 2]]> : tensor<1x2xi32>
  %v = glow.constant dense<[[[1.0, 2.0]]]> : tensor<1x1x2xf32>
  %u = glow.constant dense<[[1.0, 2.0], [3.0, 4.0]]> : tensor<2x2xf32>
  %r = glow.matmul %x, %x : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
  %s = glow.matmul %i, %w : (tensor<2x1xi32>, tensor<1x2xi32>) -> tensor<2x2xi32>
  %t = glow.matmul %b, %v : (tensor<1x2x1xf32>, tensor<1x1x2xf32>) -> tensor<1x2x2xf32>
  %q = glow.matmul %x, %u transpose_lhs true : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
  func.return %r, %s, %t, %q : tensor<2x2xf32>, tensor<2x2xi32>, tensor<1x2x2xf32>, tensor<2x2xf32>
}

// CHECK-LABEL: @others(
// CHECK-NEXT:  %w = glow.constant dense<{{\[\[}}1, 2]]> : tensor<1x2xi32>
// CHECK-NEXT:  %v = glow.constant dense<{{\[\[}}[1.000000e+00, 2.000000e+00]]]> : tensor<1x1x2xf32>
// CHECK-NEXT:  %u = glow.constant dense<{{\[\[}}1.000000e+00, 2.000000e+00], [3.000000e+00, 4.000000e+00]]> : tensor<2x2xf32>
// CHECK-NEXT:  %r = glow.matmul %x, %x : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
// CHECK-NEXT:  %s = glow.matmul %i, %w : (tensor<2x1xi32>, tensor<1x2xi32>) -> tensor<2x2xi32>
// CHECK-NEXT:  %t = glow.matmul %b, %v : (tensor<1x2x1xf32>, tensor<1x1x2xf32>) -> tensor<1x2x2xf32>
// CHECK-NEXT:  %q = glow.matmul %x, %u transpose_lhs true : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
// CHECK-NEXT:  func.return %r, %s, %t, %q : tensor<2x2xf32>, tensor<2x2xi32>, tensor<1x2x2xf32>, tensor<2x2xf32>

// -----

// Weights that are not constant: the kernel of a product packs them, where rows and weights are many.
func.func @trained(%x: tensor<64x100xf32>, %w: tensor<128x100xf32>, %b: tensor<128xf32>) -> tensor<64x128xf32> {
  %r = glow.fully_connected %x, %w, %b : (tensor<64x100xf32>, tensor<128x100xf32>, tensor<128xf32>) -> tensor<64x128xf32>
  func.return %r : tensor<64x128xf32>
}

// CHECK-LABEL: @trained(
// CHECK-NEXT:  %r = glow.matmul %x, %w transpose_rhs true
// CHECK-NEXT:  %r_1 = glow.broadcast %b : (tensor<128xf32>) -> tensor<64x128xf32>
// CHECK-NEXT:  %r_2 = glow.add %r, %r_1

// -----

// Few rows, or few weights, are not worth it.
func.func @few(%x: tensor<8x100xf32>, %w: tensor<128x100xf32>, %b: tensor<128xf32>, %y: tensor<64x10xf32>, %v: tensor<12x10xf32>, %c: tensor<12xf32>) -> (tensor<8x128xf32>, tensor<64x12xf32>) {
  %r = glow.fully_connected %x, %w, %b : (tensor<8x100xf32>, tensor<128x100xf32>, tensor<128xf32>) -> tensor<8x128xf32>
  %s = glow.fully_connected %y, %v, %c : (tensor<64x10xf32>, tensor<12x10xf32>, tensor<12xf32>) -> tensor<64x12xf32>
  func.return %r, %s : tensor<8x128xf32>, tensor<64x12xf32>
}

// CHECK-LABEL: @few(
// CHECK-NEXT:  %r = glow.fully_connected %x, %w, %b
// CHECK-NEXT:  %s = glow.fully_connected %y, %v, %c
// CHECK-NEXT:  func.return %r, %s

// -----

// The weights of recurrent layers: of a GRU, those of two gates and those of the new state start with a panel each.
func.func @gru(%x: tensor<5x1x30xf32>, %i: tensor<1x1x10xf32>, %b: tensor<1x10xf32>) -> tensor<1x6x1x10xf32> {
  %w = glow.constant dense<0.5> : tensor<10x30xf32>
  %r = glow.gru %x, %w, %i, %b reset_after true : (tensor<5x1x30xf32>, tensor<10x30xf32>, tensor<1x1x10xf32>, tensor<1x10xf32>) -> tensor<1x6x1x10xf32>
  func.return %r : tensor<1x6x1x10xf32>
}

// CHECK-LABEL: @gru(
// CHECK-NEXT:  %r = glow.constant {{.*}} : tensor<8x10x4xf32>
// CHECK-NEXT:  %r_1 = glow.gru %x, %r, %i, %b reset_after true : (tensor<5x1x30xf32>, tensor<8x10x4xf32>, tensor<1x1x10xf32>, tensor<1x10xf32>) -> tensor<1x6x1x10xf32>

// -----

// Weights that are not constant, or that fill one panel, stay a matrix.
func.func @rnn(%x: tensor<5x1x10xf32>, %i: tensor<1x1x10xf32>, %w: tensor<10x10xf32>, %y: tensor<5x1x2xf32>, %j: tensor<1x1x2xf32>) -> (tensor<1x6x1x10xf32>, tensor<1x6x1x2xf32>) {
  %v = glow.constant dense<0.5> : tensor<2x2xf32>
  %r = glow.rnn %x, %w, %i : (tensor<5x1x10xf32>, tensor<10x10xf32>, tensor<1x1x10xf32>) -> tensor<1x6x1x10xf32>
  %s = glow.rnn %y, %v, %j : (tensor<5x1x2xf32>, tensor<2x2xf32>, tensor<1x1x2xf32>) -> tensor<1x6x1x2xf32>
  func.return %r, %s : tensor<1x6x1x10xf32>, tensor<1x6x1x2xf32>
}

// CHECK-LABEL: @rnn(
// CHECK:       glow.rnn %x, %w, %i
// CHECK:       glow.rnn %y, %v, %j
