// RUN: glow-opt %s --fold-batch-norm --split-input-file | filecheck %s

// Batch normalisation, then a product and a sum: one scaled filter and one bias.
func.func @convolution(%x: tensor<1x1x3xf32>) -> tensor<1x2x3xf32> {
  %w = glow.constant dense<[[[1.0]], [[2.0]]]> : tensor<2x1x1xf32>
  %b = glow.constant dense<[0.5, 1.0]> : tensor<2xf32>
  %scale = glow.constant dense<[2.0, 4.0]> : tensor<2xf32>
  %bias = glow.constant dense<[1.0, 2.0]> : tensor<2xf32>
  %mean = glow.constant dense<[0.5, 3.0]> : tensor<2xf32>
  %var = glow.constant dense<[4.0, 16.0]> : tensor<2xf32>
  %k = glow.constant dense<[[2.0], [3.0]]> : tensor<2x1xf32>
  %kb = glow.broadcast %k : (tensor<2x1xf32>) -> tensor<1x2x3xf32>
  %one = glow.splat value 1.0 : tensor<1x2x3xf32>
  %c = glow.convolution %x, %w, %b : (tensor<1x1x3xf32>, tensor<2x1x1xf32>, tensor<2xf32>) -> tensor<1x2x3xf32>
  %n = glow.batch_norm %c, %scale, %bias, %mean, %var epsilon 0.0 : (tensor<1x2x3xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>) -> tensor<1x2x3xf32>
  %m = glow.mul %n, %kb : (tensor<1x2x3xf32>, tensor<1x2x3xf32>) -> tensor<1x2x3xf32>
  %r = glow.sub %one, %m : (tensor<1x2x3xf32>, tensor<1x2x3xf32>) -> tensor<1x2x3xf32>
  func.return %r : tensor<1x2x3xf32>
}

// CHECK-LABEL: @convolution(
// CHECK-NEXT:  %r = glow.constant dense<[-1.000000e+00, 1.000000e+00]> : tensor<2xf32>
// CHECK-NEXT:  %r_1 = glow.constant dense<{{\[\[}}[-2.000000e+00]], {{\[\[}}-6.000000e+00]]]> : tensor<2x1x1xf32>
// CHECK-NEXT:  %r_2 = glow.convolution %x, %r_1, %r : (tensor<1x1x3xf32>, tensor<2x1x1xf32>, tensor<2xf32>) -> tensor<1x2x3xf32>
// CHECK-NEXT:  func.return %r_2 : tensor<1x2x3xf32>

// -----

// Not if something else uses the convolution: it would be computed twice.
func.func @two_users(%x: tensor<1x1x3xf32>) -> (tensor<1x2x3xf32>, tensor<1x2x3xf32>) {
  %w = glow.constant dense<[[[1.0]], [[2.0]]]> : tensor<2x1x1xf32>
  %b = glow.constant dense<[0.5, 1.0]> : tensor<2xf32>
  %k = glow.constant dense<[[2.0], [3.0]]> : tensor<2x1xf32>
  %kb = glow.broadcast %k : (tensor<2x1xf32>) -> tensor<1x2x3xf32>
  %c = glow.convolution %x, %w, %b : (tensor<1x1x3xf32>, tensor<2x1x1xf32>, tensor<2xf32>) -> tensor<1x2x3xf32>
  %m = glow.mul %c, %kb : (tensor<1x2x3xf32>, tensor<1x2x3xf32>) -> tensor<1x2x3xf32>
  func.return %c, %m : tensor<1x2x3xf32>, tensor<1x2x3xf32>
}

// CHECK-LABEL: @two_users(
// CHECK-NEXT:  %w = glow.constant dense<{{\[\[}}[1.000000e+00]], {{\[\[}}2.000000e+00]]]> : tensor<2x1x1xf32>
// CHECK-NEXT:  %b = glow.constant dense<[5.000000e-01, 1.000000e+00]> : tensor<2xf32>
// CHECK-NEXT:  %k = glow.constant dense<{{\[\[}}2.000000e+00], [3.000000e+00]]> : tensor<2x1xf32>
// CHECK-NEXT:  %kb = glow.broadcast %k : (tensor<2x1xf32>) -> tensor<1x2x3xf32>
// CHECK-NEXT:  %c = glow.convolution %x, %w, %b : (tensor<1x1x3xf32>, tensor<2x1x1xf32>, tensor<2xf32>) -> tensor<1x2x3xf32>
// CHECK-NEXT:  %m = glow.mul %c, %kb : (tensor<1x2x3xf32>, tensor<1x2x3xf32>) -> tensor<1x2x3xf32>
// CHECK-NEXT:  func.return %c, %m : tensor<1x2x3xf32>, tensor<1x2x3xf32>

// -----

// Not if the filter is not constant, or if the constant varies along another dimension.
func.func @not_constant(%x: tensor<1x1x3xf32>, %w: tensor<2x1x1xf32>) -> (tensor<1x2x3xf32>, tensor<1x2x3xf32>) {
  %v = glow.constant dense<[[[1.0]], [[2.0]]]> : tensor<2x1x1xf32>
  %b = glow.constant dense<[0.5, 1.0]> : tensor<2xf32>
  %two = glow.splat value 2.0 : tensor<1x2x3xf32>
  %k = glow.constant dense<[1.0, 2.0, 3.0]> : tensor<3xf32>
  %kb = glow.broadcast %k : (tensor<3xf32>) -> tensor<1x2x3xf32>
  %c = glow.convolution %x, %w, %b : (tensor<1x1x3xf32>, tensor<2x1x1xf32>, tensor<2xf32>) -> tensor<1x2x3xf32>
  %m = glow.mul %c, %two : (tensor<1x2x3xf32>, tensor<1x2x3xf32>) -> tensor<1x2x3xf32>
  %d = glow.convolution %x, %v, %b : (tensor<1x1x3xf32>, tensor<2x1x1xf32>, tensor<2xf32>) -> tensor<1x2x3xf32>
  %n = glow.mul %d, %kb : (tensor<1x2x3xf32>, tensor<1x2x3xf32>) -> tensor<1x2x3xf32>
  func.return %m, %n : tensor<1x2x3xf32>, tensor<1x2x3xf32>
}

// CHECK-LABEL: @not_constant(
// CHECK-NEXT:  %v = glow.constant dense<{{\[\[}}[1.000000e+00]], {{\[\[}}2.000000e+00]]]> : tensor<2x1x1xf32>
// CHECK-NEXT:  %b = glow.constant dense<[5.000000e-01, 1.000000e+00]> : tensor<2xf32>
// CHECK-NEXT:  %two = glow.splat value 2.0 : tensor<1x2x3xf32>
// CHECK-NEXT:  %k = glow.constant dense<[1.000000e+00, 2.000000e+00, 3.000000e+00]> : tensor<3xf32>
// CHECK-NEXT:  %kb = glow.broadcast %k : (tensor<3xf32>) -> tensor<1x2x3xf32>
// CHECK-NEXT:  %c = glow.convolution %x, %w, %b : (tensor<1x1x3xf32>, tensor<2x1x1xf32>, tensor<2xf32>) -> tensor<1x2x3xf32>
// CHECK-NEXT:  %m = glow.mul %c, %two : (tensor<1x2x3xf32>, tensor<1x2x3xf32>) -> tensor<1x2x3xf32>
// CHECK-NEXT:  %d = glow.convolution %x, %v, %b : (tensor<1x1x3xf32>, tensor<2x1x1xf32>, tensor<2xf32>) -> tensor<1x2x3xf32>
// CHECK-NEXT:  %n = glow.mul %d, %kb : (tensor<1x2x3xf32>, tensor<1x2x3xf32>) -> tensor<1x2x3xf32>
// CHECK-NEXT:  func.return %m, %n : tensor<1x2x3xf32>, tensor<1x2x3xf32>

// -----

// A fully connected layer and a matrix product.
func.func @matrices(%x: tensor<2x2xf32>) -> (tensor<2x2xf32>, tensor<2x2xf32>) {
  %w = glow.constant dense<[[1.0, 2.0], [3.0, 4.0]]> : tensor<2x2xf32>
  %b = glow.constant dense<[0.5, 1.0]> : tensor<2xf32>
  %k = glow.constant dense<[10.0, 100.0]> : tensor<2xf32>
  %kb = glow.broadcast %k : (tensor<2xf32>) -> tensor<2x2xf32>
  %a = glow.fully_connected %x, %w, %b : (tensor<2x2xf32>, tensor<2x2xf32>, tensor<2xf32>) -> tensor<2x2xf32>
  %c = glow.mul %a, %kb : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
  %d = glow.matmul %x, %w : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
  %e = glow.mul %d, %kb : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
  func.return %c, %e : tensor<2x2xf32>, tensor<2x2xf32>
}

// CHECK-LABEL: @matrices(
// CHECK-NEXT:  %c = glow.constant dense<[5.000000e+00, 1.000000e+02]> : tensor<2xf32>
// CHECK-NEXT:  %c_1 = glow.constant dense<{{\[\[}}1.000000e+01, 2.000000e+01], [3.000000e+02, 4.000000e+02]]> : tensor<2x2xf32>
// CHECK-NEXT:  %c_2 = glow.fully_connected %x, %c_1, %c : (tensor<2x2xf32>, tensor<2x2xf32>, tensor<2xf32>) -> tensor<2x2xf32>
// CHECK-NEXT:  %e = glow.constant dense<{{\[\[}}1.000000e+01, 2.000000e+02], [3.000000e+01, 4.000000e+02]]> : tensor<2x2xf32>
// CHECK-NEXT:  %e_1 = glow.matmul %x, %e : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
// CHECK-NEXT:  func.return %c_2, %e_1 : tensor<2x2xf32>, tensor<2x2xf32>

// -----

// Batch normalisation of anything else is a product and a sum; chains are one of each.
func.func @chain(%x: tensor<1x2x3xf32>) -> tensor<1x2x3xf32> {
  %scale = glow.constant dense<[2.0, 4.0]> : tensor<2xf32>
  %bias = glow.constant dense<[1.0, 2.0]> : tensor<2xf32>
  %mean = glow.constant dense<[0.5, 3.0]> : tensor<2xf32>
  %var = glow.constant dense<[4.0, 16.0]> : tensor<2xf32>
  %two = glow.splat value 2.0 : tensor<1x2x3xf32>
  %n = glow.batch_norm %x, %scale, %bias, %mean, %var epsilon 0.0 : (tensor<1x2x3xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>) -> tensor<1x2x3xf32>
  %m = glow.div %n, %two : (tensor<1x2x3xf32>, tensor<1x2x3xf32>) -> tensor<1x2x3xf32>
  func.return %m : tensor<1x2x3xf32>
}

// CHECK-LABEL: @chain(
// CHECK-NEXT:  %m = glow.constant dense<5.000000e-01> : tensor<2x1xf32>
// CHECK-NEXT:  %m_1 = glow.broadcast %m : (tensor<2x1xf32>) -> tensor<1x2x3xf32>
// CHECK-NEXT:  %m_2 = glow.mul %x, %m_1 : (tensor<1x2x3xf32>, tensor<1x2x3xf32>) -> tensor<1x2x3xf32>
// CHECK-NEXT:  %m_3 = glow.constant dense<{{\[\[}}2.500000e-01], [-5.000000e-01]]> : tensor<2x1xf32>
// CHECK-NEXT:  %m_4 = glow.broadcast %m_3 : (tensor<2x1xf32>) -> tensor<1x2x3xf32>
// CHECK-NEXT:  %m_5 = glow.add %m_2, %m_4 : (tensor<1x2x3xf32>, tensor<1x2x3xf32>) -> tensor<1x2x3xf32>
// CHECK-NEXT:  func.return %m_5 : tensor<1x2x3xf32>

// -----

// A product and a sum stay as they are, and so does batch normalisation by parameters that vary.
func.func @stay(%x: tensor<1x2x3xf32>, %p: tensor<2xf32>) -> (tensor<1x2x3xf32>, tensor<1x2x3xf32>) {
  %k = glow.constant dense<[[2.0], [3.0]]> : tensor<2x1xf32>
  %kb = glow.broadcast %k : (tensor<2x1xf32>) -> tensor<1x2x3xf32>
  %m = glow.mul %x, %kb : (tensor<1x2x3xf32>, tensor<1x2x3xf32>) -> tensor<1x2x3xf32>
  %r = glow.add %m, %kb : (tensor<1x2x3xf32>, tensor<1x2x3xf32>) -> tensor<1x2x3xf32>
  %n = glow.batch_norm %x, %p, %p, %p, %p epsilon 0.001 : (tensor<1x2x3xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>) -> tensor<1x2x3xf32>
  func.return %r, %n : tensor<1x2x3xf32>, tensor<1x2x3xf32>
}

// CHECK-LABEL: @stay(
// CHECK-NEXT:  %k = glow.constant dense<{{\[\[}}2.000000e+00], [3.000000e+00]]> : tensor<2x1xf32>
// CHECK-NEXT:  %kb = glow.broadcast %k : (tensor<2x1xf32>) -> tensor<1x2x3xf32>
// CHECK-NEXT:  %m = glow.mul %x, %kb : (tensor<1x2x3xf32>, tensor<1x2x3xf32>) -> tensor<1x2x3xf32>
// CHECK-NEXT:  %r = glow.add %m, %kb : (tensor<1x2x3xf32>, tensor<1x2x3xf32>) -> tensor<1x2x3xf32>
// CHECK-NEXT:  %n = glow.batch_norm %x, %p, %p, %p, %p epsilon 0.001 : (tensor<1x2x3xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>) -> tensor<1x2x3xf32>
// CHECK-NEXT:  func.return %r, %n : tensor<1x2x3xf32>, tensor<1x2x3xf32>

// -----

// 16-bit floats compute in f32 and round once.
func.func @half(%x: tensor<1x2x3xf16>) -> tensor<1x2x3xf16> {
  %scale = glow.constant dense<[2.0, 4.0]> : tensor<2xf16>
  %bias = glow.constant dense<[1.0, 2.0]> : tensor<2xf16>
  %var = glow.constant dense<[16.0, 64.0]> : tensor<2xf16>
  %n = glow.batch_norm %x, %scale, %bias, %bias, %var epsilon 0.0 : (tensor<1x2x3xf16>, tensor<2xf16>, tensor<2xf16>, tensor<2xf16>, tensor<2xf16>) -> tensor<1x2x3xf16>
  func.return %n : tensor<1x2x3xf16>
}

// CHECK-LABEL: @half(
// CHECK-NEXT:  %n = glow.cast %x : (tensor<1x2x3xf16>) -> tensor<1x2x3xf32>
// CHECK-NEXT:  %n_1 = glow.constant dense<5.000000e-01> : tensor<2x1xf32>
// CHECK-NEXT:  %n_2 = glow.broadcast %n_1 : (tensor<2x1xf32>) -> tensor<1x2x3xf32>
// CHECK-NEXT:  %n_3 = glow.mul %n, %n_2 : (tensor<1x2x3xf32>, tensor<1x2x3xf32>) -> tensor<1x2x3xf32>
// CHECK-NEXT:  %n_4 = glow.constant dense<{{\[\[}}5.000000e-01], [1.000000e+00]]> : tensor<2x1xf32>
// CHECK-NEXT:  %n_5 = glow.broadcast %n_4 : (tensor<2x1xf32>) -> tensor<1x2x3xf32>
// CHECK-NEXT:  %n_6 = glow.add %n_3, %n_5 : (tensor<1x2x3xf32>, tensor<1x2x3xf32>) -> tensor<1x2x3xf32>
// CHECK-NEXT:  %n_7 = glow.cast %n_6 : (tensor<1x2x3xf32>) -> tensor<1x2x3xf16>
// CHECK-NEXT:  func.return %n_7 : tensor<1x2x3xf16>

// -----

// Of a transposed convolution, a filter has one column for each output channel of its group.
func.func @transposed(%x: tensor<1x2x4xf32>) -> tensor<1x4x4xf32> {
  %w = glow.constant dense<[[[1.0], [2.0]], [[3.0], [4.0]]]> : tensor<2x2x1xf32>
  %b = glow.constant dense<[1.0, 2.0, 3.0, 4.0]> : tensor<4xf32>
  %s = glow.constant dense<[[2.0], [4.0], [8.0], [10.0]]> : tensor<4x1xf32>
  %y = glow.transposed_convolution %x, %w, %b group 2 : (tensor<1x2x4xf32>, tensor<2x2x1xf32>, tensor<4xf32>) -> tensor<1x4x4xf32>
  %t = glow.broadcast %s : (tensor<4x1xf32>) -> tensor<1x4x4xf32>
  %r = glow.mul %y, %t : (tensor<1x4x4xf32>, tensor<1x4x4xf32>) -> tensor<1x4x4xf32>
  func.return %r : tensor<1x4x4xf32>
}

// CHECK-LABEL: @transposed(
// CHECK-NEXT:  %r = glow.constant dense<[2.000000e+00, 8.000000e+00, 2.400000e+01, 4.000000e+01]> : tensor<4xf32>
// CHECK-NEXT:  %r_1 = glow.constant dense<{{\[\[\[}}2.000000e+00], [8.000000e+00]], {{\[\[}}2.400000e+01], [4.000000e+01]]]> : tensor<2x2x1xf32>
// CHECK-NEXT:  %r_2 = glow.transposed_convolution %x, %r_1, %r
// CHECK-NEXT:  func.return %r_2 : tensor<1x4x4xf32>
