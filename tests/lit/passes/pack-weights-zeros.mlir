// RUN: glow-opt %s --set-machine="vector-bits=64 l2-bytes=24" --pack-weights --split-input-file | filecheck %s
// RUN: glow-opt %s --set-machine="vector-bits=64 l2-bytes=25" --pack-weights --split-input-file | filecheck %s --check-prefix=NEAR

// NEAR-NOT: glow_cpu.sparse_vector_matmul

// What a rectifier made, also through pooling and changes of layout. The matrix is stored by rows.
func.func @fully_connected(%x: tensor<1x1x2x6x2xf32>) -> tensor<1x2xf32> {
  %w = glow.constant dense<[[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]> : tensor<2x3xf32>
  %b = glow.constant dense<[5.0, 6.0]> : tensor<2xf32>
  %a = glow.relu %x : (tensor<1x1x2x6x2xf32>) -> tensor<1x1x2x6x2xf32>
  %p = glow_cpu.blocked_max_pool %a strides [2, 2] kernel [2, 2] : (tensor<1x1x2x6x2xf32>) -> tensor<1x1x1x3x2xf32>
  %u = glow_cpu.unpack_channels %p channels 1 : (tensor<1x1x1x3x2xf32>) -> tensor<1x1x1x3xf32>
  %v = glow.reshape %u : (tensor<1x1x1x3xf32>) -> tensor<1x3xf32>
  %r = glow.fully_connected %v, %w, %b : (tensor<1x3xf32>, tensor<2x3xf32>, tensor<2xf32>) -> tensor<1x2xf32>
  func.return %r : tensor<1x2xf32>
}

// CHECK-LABEL: @fully_connected(
// CHECK:       %v = glow.reshape %u
// CHECK-NEXT:  %r = glow.constant dense<{{\[\[}}1.000000e+00, 4.000000e+00], [2.000000e+00, 5.000000e+00], [3.000000e+00, 6.000000e+00]]> : tensor<3x2xf32>
// CHECK-NEXT:  %r_1 = glow_cpu.sparse_vector_matmul %v, %r : (tensor<1x3xf32>, tensor<3x2xf32>) -> tensor<1x2xf32>
// CHECK-NEXT:  %r_2 = glow.broadcast %b : (tensor<2xf32>) -> tensor<1x2xf32>
// CHECK-NEXT:  %r_3 = glow.add %r_1, %r_2 : (tensor<1x2xf32>, tensor<1x2xf32>) -> tensor<1x2xf32>
// CHECK-NEXT:  func.return %r_3 : tensor<1x2xf32>

// -----

// A matrix that is stored by rows stays. Limits from zero make zeros, too.
func.func @matmul(%x: tensor<1x2xf32>) -> tensor<1x3xf32> {
  %w = glow.constant dense<[[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]> : tensor<2x3xf32>
  %a = glow.clip %x min 0.0 max 6.0 : (tensor<1x2xf32>) -> tensor<1x2xf32>
  %r = glow.matmul %a, %w : (tensor<1x2xf32>, tensor<2x3xf32>) -> tensor<1x3xf32>
  func.return %r : tensor<1x3xf32>
}

// CHECK-LABEL: @matmul(
// CHECK:       %w = glow.constant
// CHECK-NEXT:  %a = glow.clip
// CHECK-NEXT:  %r = glow_cpu.sparse_vector_matmul %a, %w : (tensor<1x2xf32>, tensor<2x3xf32>) -> tensor<1x3xf32>
// CHECK-NEXT:  func.return %r : tensor<1x3xf32>

// -----

// An input may have no zeros.
func.func @of_an_input(%x: tensor<1x2xf32>) -> tensor<1x3xf32> {
  %w = glow.constant dense<[[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]> : tensor<2x3xf32>
  %r = glow.matmul %x, %w : (tensor<1x2xf32>, tensor<2x3xf32>) -> tensor<1x3xf32>
  func.return %r : tensor<1x3xf32>
}

// CHECK-LABEL: @of_an_input(
// CHECK-NOT:   glow_cpu.sparse_vector_matmul
// CHECK:       func.return

// -----

// Limits that are not zero make no zeros.
func.func @within_other_limits(%x: tensor<1x2xf32>) -> tensor<1x3xf32> {
  %w = glow.constant dense<[[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]> : tensor<2x3xf32>
  %a = glow.clip %x min -1.0 max 1.0 : (tensor<1x2xf32>) -> tensor<1x2xf32>
  %r = glow.matmul %a, %w : (tensor<1x2xf32>, tensor<2x3xf32>) -> tensor<1x3xf32>
  func.return %r : tensor<1x3xf32>
}

// CHECK-LABEL: @within_other_limits(
// CHECK-NOT:   glow_cpu.sparse_vector_matmul
// CHECK:       func.return

// -----

// A sum of what rectifiers made and another value may have no zeros.
func.func @of_a_sum(%x: tensor<1x2xf32>, %y: tensor<1x2xf32>) -> tensor<1x3xf32> {
  %w = glow.constant dense<[[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]> : tensor<2x3xf32>
  %a = glow.relu %x : (tensor<1x2xf32>) -> tensor<1x2xf32>
  %b = glow.add %a, %y : (tensor<1x2xf32>, tensor<1x2xf32>) -> tensor<1x2xf32>
  %r = glow.matmul %b, %w : (tensor<1x2xf32>, tensor<2x3xf32>) -> tensor<1x3xf32>
  func.return %r : tensor<1x3xf32>
}

// CHECK-LABEL: @of_a_sum(
// CHECK-NOT:   glow_cpu.sparse_vector_matmul
// CHECK:       func.return

// -----

// Each of several rows has zeros elsewhere.
func.func @of_two_rows(%x: tensor<2x2xf32>) -> tensor<2x3xf32> {
  %w = glow.constant dense<[[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]> : tensor<2x3xf32>
  %a = glow.relu %x : (tensor<2x2xf32>) -> tensor<2x2xf32>
  %r = glow.matmul %a, %w : (tensor<2x2xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  func.return %r : tensor<2x3xf32>
}

// CHECK-LABEL: @of_two_rows(
// CHECK-NOT:   glow_cpu.sparse_vector_matmul
// CHECK:       func.return

// -----

// A matrix that is not constant stays.
func.func @by_an_input(%x: tensor<1x2xf32>, %w: tensor<2x3xf32>) -> tensor<1x3xf32> {
  %a = glow.relu %x : (tensor<1x2xf32>) -> tensor<1x2xf32>
  %r = glow.matmul %a, %w : (tensor<1x2xf32>, tensor<2x3xf32>) -> tensor<1x3xf32>
  func.return %r : tensor<1x3xf32>
}

// CHECK-LABEL: @by_an_input(
// CHECK-NOT:   glow_cpu.sparse_vector_matmul
// CHECK:       func.return

// -----

// Products of integers stay.
func.func @of_integers(%x: tensor<1x2xi32>) -> tensor<1x3xi32> {
  %w = glow.constant dense<[[1, 2, 3], [4, 5, 6]]> : tensor<2x3xi32>
  %a = glow.relu %x : (tensor<1x2xi32>) -> tensor<1x2xi32>
  %r = glow.matmul %a, %w : (tensor<1x2xi32>, tensor<2x3xi32>) -> tensor<1x3xi32>
  func.return %r : tensor<1x3xi32>
}

// CHECK-LABEL: @of_integers(
// CHECK-NOT:   glow_cpu.sparse_vector_matmul
// CHECK:       func.return

// -----

// A batch of matrices stays.
func.func @of_a_batch(%x: tensor<1x1x2xf32>) -> tensor<1x1x3xf32> {
  %w = glow.constant dense<[[[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]]> : tensor<1x2x3xf32>
  %a = glow.relu %x : (tensor<1x1x2xf32>) -> tensor<1x1x2xf32>
  %r = glow.matmul %a, %w : (tensor<1x1x2xf32>, tensor<1x2x3xf32>) -> tensor<1x1x3xf32>
  func.return %r : tensor<1x1x3xf32>
}

// CHECK-LABEL: @of_a_batch(
// CHECK-NOT:   glow_cpu.sparse_vector_matmul
// CHECK:       func.return

// -----

// Zero times infinity is NaN.
func.func @by_an_infinity(%x: tensor<1x2xf32>) -> tensor<1x3xf32> {
  %w = glow.constant dense<[[1.0, 2.0, 0x7F800000], [4.0, 5.0, 6.0]]> : tensor<2x3xf32>
  %a = glow.relu %x : (tensor<1x2xf32>) -> tensor<1x2xf32>
  %r = glow.matmul %a, %w : (tensor<1x2xf32>, tensor<2x3xf32>) -> tensor<1x3xf32>
  func.return %r : tensor<1x3xf32>
}

// CHECK-LABEL: @by_an_infinity(
// CHECK-NOT:   glow_cpu.sparse_vector_matmul
// CHECK:       func.return

// -----

// Zero times NaN is NaN.
func.func @by_a_nan(%x: tensor<1x2xf32>) -> tensor<1x3xf32> {
  %w = glow.constant dense<[[1.0, 2.0, 3.0], [4.0, 0x7FC00000, 6.0]]> : tensor<2x3xf32>
  %a = glow.relu %x : (tensor<1x2xf32>) -> tensor<1x2xf32>
  %r = glow.matmul %a, %w : (tensor<1x2xf32>, tensor<2x3xf32>) -> tensor<1x3xf32>
  func.return %r : tensor<1x3xf32>
}

// CHECK-LABEL: @by_a_nan(
// CHECK-NOT:   glow_cpu.sparse_vector_matmul
// CHECK:       func.return
