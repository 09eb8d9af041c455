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

// Not what no rectifier made: an input, limits that are not zero, sums of what rectifiers made.
func.func @not_rectified(%x: tensor<1x2xf32>) -> (tensor<1x3xf32>, tensor<1x3xf32>, tensor<1x3xf32>) {
  %w = glow.constant dense<[[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]> : tensor<2x3xf32>
  %a = glow.clip %x min -1.0 max 1.0 : (tensor<1x2xf32>) -> tensor<1x2xf32>
  %b = glow.relu %x : (tensor<1x2xf32>) -> tensor<1x2xf32>
  %c = glow.add %b, %a : (tensor<1x2xf32>, tensor<1x2xf32>) -> tensor<1x2xf32>
  %r = glow.matmul %x, %w : (tensor<1x2xf32>, tensor<2x3xf32>) -> tensor<1x3xf32>
  %s = glow.matmul %a, %w : (tensor<1x2xf32>, tensor<2x3xf32>) -> tensor<1x3xf32>
  %t = glow.matmul %c, %w : (tensor<1x2xf32>, tensor<2x3xf32>) -> tensor<1x3xf32>
  func.return %r, %s, %t : tensor<1x3xf32>, tensor<1x3xf32>, tensor<1x3xf32>
}

// CHECK-LABEL: @not_rectified(
// CHECK-NOT:   glow_cpu.sparse_vector_matmul
// CHECK-COUNT-3: glow.matmul

// -----

// Not several rows, matrices that are not constant, a batch of matrices, or integers.
func.func @others(%x: tensor<2x2xf32>, %y: tensor<1x2xf32>, %m: tensor<2x3xf32>, %z: tensor<1x2xi32>, %u: tensor<1x1x2xf32>) -> (tensor<2x3xf32>, tensor<1x3xf32>, tensor<1x3xi32>, tensor<1x1x3xf32>) {
  %w = glow.constant dense<[[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]> : tensor<2x3xf32>
  %i = glow.constant dense<[[1, 2, 3], [4, 5, 6]]> : tensor<2x3xi32>
  %a = glow.relu %x : (tensor<2x2xf32>) -> tensor<2x2xf32>
  %b = glow.relu %y : (tensor<1x2xf32>) -> tensor<1x2xf32>
  %c = glow.relu %z : (tensor<1x2xi32>) -> tensor<1x2xi32>
  %r = glow.matmul %a, %w : (tensor<2x2xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  %s = glow.matmul %b, %m : (tensor<1x2xf32>, tensor<2x3xf32>) -> tensor<1x3xf32>
  %t = glow.matmul %c, %i : (tensor<1x2xi32>, tensor<2x3xi32>) -> tensor<1x3xi32>
  %v = glow.constant dense<[[[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]]> : tensor<1x2x3xf32>
  %d = glow.relu %u : (tensor<1x1x2xf32>) -> tensor<1x1x2xf32>
  %e = glow.matmul %d, %v : (tensor<1x1x2xf32>, tensor<1x2x3xf32>) -> tensor<1x1x3xf32>
  func.return %r, %s, %t, %e : tensor<2x3xf32>, tensor<1x3xf32>, tensor<1x3xi32>, tensor<1x1x3xf32>
}

// CHECK-LABEL: @others(
// CHECK-NOT:   glow_cpu.sparse_vector_matmul
// CHECK:       func.return

// -----

// Not matrices with an element that is not finite: zero times it is NaN.
func.func @not_finite(%x: tensor<1x2xf32>) -> (tensor<1x3xf32>, tensor<1x3xf32>) {
  %w = glow.constant dense<[[1.0, 2.0, 0x7F800000], [4.0, 5.0, 6.0]]> : tensor<2x3xf32>
  %v = glow.constant dense<[[1.0, 2.0, 3.0], [4.0, 0x7FC00000, 6.0]]> : tensor<2x3xf32>
  %a = glow.relu %x : (tensor<1x2xf32>) -> tensor<1x2xf32>
  %r = glow.matmul %a, %w : (tensor<1x2xf32>, tensor<2x3xf32>) -> tensor<1x3xf32>
  %s = glow.matmul %a, %v : (tensor<1x2xf32>, tensor<2x3xf32>) -> tensor<1x3xf32>
  func.return %r, %s : tensor<1x3xf32>, tensor<1x3xf32>
}

// CHECK-LABEL: @not_finite(
// CHECK-NOT:   glow_cpu.sparse_vector_matmul
// CHECK:       func.return
