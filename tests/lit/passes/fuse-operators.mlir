// RUN: glow-opt %s --fuse-operators --dce --split-input-file | filecheck %s

func.func @gelu(%x: tensor<4xf32>) -> tensor<4xf32> {
  %root = glow.splat value 1.4142135381698608 : tensor<4xf32>
  %one = glow.splat value 1.0 : tensor<4xf32>
  %half = glow.splat value 0.5 : tensor<4xf32>
  %d = glow.div %x, %root : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %e = glow.erf %d : (tensor<4xf32>) -> tensor<4xf32>
  %s = glow.add %e, %one : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %m = glow.mul %x, %s : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %r = glow.mul %m, %half : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  func.return %r : tensor<4xf32>
}

// CHECK-LABEL: @gelu(
// CHECK-NEXT:  %r = glow.gelu %x : (tensor<4xf32>) -> tensor<4xf32>
// CHECK-NEXT:  func.return %r : tensor<4xf32>

// -----

// The number has the precision of its type; a worse one is another function.
func.func @gelu_f16(%x: tensor<4xf16>) -> (tensor<4xf16>, tensor<4xf16>) {
  %root = glow.splat value 1.4140625 : tensor<4xf16>
  %other = glow.splat value 1.416015625 : tensor<4xf16>
  %one = glow.splat value 1.0 : tensor<4xf16>
  %half = glow.splat value 0.5 : tensor<4xf16>
  %h = glow.mul %x, %half : (tensor<4xf16>, tensor<4xf16>) -> tensor<4xf16>
  %d = glow.div %x, %root : (tensor<4xf16>, tensor<4xf16>) -> tensor<4xf16>
  %e = glow.erf %d : (tensor<4xf16>) -> tensor<4xf16>
  %s = glow.add %e, %one : (tensor<4xf16>, tensor<4xf16>) -> tensor<4xf16>
  %r = glow.mul %h, %s : (tensor<4xf16>, tensor<4xf16>) -> tensor<4xf16>
  %d1 = glow.div %x, %other : (tensor<4xf16>, tensor<4xf16>) -> tensor<4xf16>
  %e1 = glow.erf %d1 : (tensor<4xf16>) -> tensor<4xf16>
  %s1 = glow.add %e1, %one : (tensor<4xf16>, tensor<4xf16>) -> tensor<4xf16>
  %h1 = glow.mul %x, %half : (tensor<4xf16>, tensor<4xf16>) -> tensor<4xf16>
  %r1 = glow.mul %h1, %s1 : (tensor<4xf16>, tensor<4xf16>) -> tensor<4xf16>
  func.return %r, %r1 : tensor<4xf16>, tensor<4xf16>
}

// CHECK-LABEL: @gelu_f16(
// CHECK:       %r = glow.gelu %x : (tensor<4xf16>) -> tensor<4xf16>
// CHECK:       %r1 = glow.mul %h1, %s1 : (tensor<4xf16>, tensor<4xf16>) -> tensor<4xf16>

// -----

// Factors and summands in another order, and a quotient.
func.func @gelu_otherwise(%x: tensor<4xf32>) -> tensor<4xf32> {
  %root = glow.splat value 0.70710678 : tensor<4xf32>
  %one = glow.splat value 1.0 : tensor<4xf32>
  %two = glow.splat value 2.0 : tensor<4xf32>
  %h = glow.div %x, %two : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %d = glow.mul %root, %x : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %e = glow.erf %d : (tensor<4xf32>) -> tensor<4xf32>
  %s = glow.add %one, %e : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %r = glow.mul %s, %h : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  func.return %r : tensor<4xf32>
}

// CHECK-LABEL: @gelu_otherwise(
// CHECK-NEXT:  %r = glow.gelu %x : (tensor<4xf32>) -> tensor<4xf32>
// CHECK-NEXT:  func.return %r : tensor<4xf32>

// -----

// Half of 1 + tanh is a logistic function of twice the operand, and a number that is a factor of it is doubled.
func.func @tanh(%x: tensor<4xf32>, %u: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %one = glow.splat value 1.0 : tensor<4xf32>
  %half = glow.splat value 0.5 : tensor<4xf32>
  %scale = glow.splat value 0.75 : tensor<4xf32>
  %h = glow.mul %x, %half : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %v = glow.mul %u, %scale : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %t = glow.tanh %v : (tensor<4xf32>) -> tensor<4xf32>
  %s = glow.add %t, %one : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %r = glow.mul %h, %s : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %t1 = glow.tanh %u : (tensor<4xf32>) -> tensor<4xf32>
  %s1 = glow.add %one, %t1 : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %m1 = glow.mul %s1, %x : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %r1 = glow.mul %m1, %half : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  func.return %r, %r1 : tensor<4xf32>, tensor<4xf32>
}

// CHECK-LABEL: @tanh(
// CHECK-NEXT:  %r = glow.splat value 1.5 : tensor<4xf32>
// CHECK-NEXT:  %r_1 = glow.mul %u, %r : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
// CHECK-NEXT:  %r_2 = glow.sigmoid %r_1 : (tensor<4xf32>) -> tensor<4xf32>
// CHECK-NEXT:  %r_3 = glow.mul %x, %r_2 : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
// CHECK-NEXT:  %r1 = glow.add %u, %u : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
// CHECK-NEXT:  %r1_1 = glow.sigmoid %r1 : (tensor<4xf32>) -> tensor<4xf32>
// CHECK-NEXT:  %r1_2 = glow.mul %x, %r1_1 : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
// CHECK-NEXT:  func.return %r_3, %r1_2 : tensor<4xf32>, tensor<4xf32>

// -----

// Not where the tangent has other uses, or the factor is no half.
func.func @no_tanh(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) {
  %one = glow.splat value 1.0 : tensor<4xf32>
  %half = glow.splat value 0.5 : tensor<4xf32>
  %t = glow.tanh %x : (tensor<4xf32>) -> tensor<4xf32>
  %s = glow.add %t, %one : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %m = glow.mul %s, %x : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %r = glow.mul %m, %half : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %t1 = glow.tanh %x : (tensor<4xf32>) -> tensor<4xf32>
  %s1 = glow.add %t1, %one : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %r1 = glow.mul %s1, %x : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  func.return %r, %t, %r1 : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
}

// CHECK-LABEL: @no_tanh(
// CHECK-NOT:   glow.sigmoid
// CHECK:       func.return

// -----

// Not with another factor, another number under the error function, or another operand.
func.func @no_gelu(%x: tensor<4xf32>, %y: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) {
  %root = glow.splat value 0.70710678 : tensor<4xf32>
  %other = glow.splat value 0.7071 : tensor<4xf32>
  %one = glow.splat value 1.0 : tensor<4xf32>
  %half = glow.splat value 0.5 : tensor<4xf32>
  %h = glow.mul %x, %half : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %g = glow.mul %y, %half : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %d = glow.mul %x, %root : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %e = glow.erf %d : (tensor<4xf32>) -> tensor<4xf32>
  %s = glow.add %e, %one : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %d1 = glow.mul %x, %other : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %e1 = glow.erf %d1 : (tensor<4xf32>) -> tensor<4xf32>
  %s1 = glow.add %e1, %one : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %r0 = glow.mul %x, %s : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %r1 = glow.mul %h, %s1 : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %r2 = glow.mul %g, %s : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  func.return %r0, %r1, %r2 : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
}

// CHECK-LABEL: @no_gelu(
// CHECK-NEXT:  %root = glow.splat value 0.70710678 : tensor<4xf32>
// CHECK-NEXT:  %other = glow.splat value 0.7071 : tensor<4xf32>
// CHECK-NEXT:  %one = glow.splat value 1.0 : tensor<4xf32>
// CHECK-NEXT:  %half = glow.splat value 0.5 : tensor<4xf32>
// CHECK-NEXT:  %h = glow.mul %x, %half : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
// CHECK-NEXT:  %g = glow.mul %y, %half : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
// CHECK-NEXT:  %d = glow.mul %x, %root : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
// CHECK-NEXT:  %e = glow.erf %d : (tensor<4xf32>) -> tensor<4xf32>
// CHECK-NEXT:  %s = glow.add %e, %one : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
// CHECK-NEXT:  %d1 = glow.mul %x, %other : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
// CHECK-NEXT:  %e1 = glow.erf %d1 : (tensor<4xf32>) -> tensor<4xf32>
// CHECK-NEXT:  %s1 = glow.add %e1, %one : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
// CHECK-NEXT:  %r0 = glow.mul %x, %s : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
// CHECK-NEXT:  %r1 = glow.mul %h, %s1 : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
// CHECK-NEXT:  %r2 = glow.mul %g, %s : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
// CHECK-NEXT:  func.return %r0, %r1, %r2 : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>

// -----

func.func @layer_norm(%x: tensor<1x2x4xf32>, %scale: tensor<4xf32>, %bias: tensor<1x1x4xf32>) -> tensor<1x2x4xf32> {
  %two = glow.splat value 2.0 : tensor<1x2x4xf32>
  %epsilon = glow.splat value 0.25 : tensor<1x2x1xf32>
  %mean = glow.reduce_mean %x axes [2] keep_dims true : (tensor<1x2x4xf32>) -> tensor<1x2x1xf32>
  %means = glow.broadcast %mean : (tensor<1x2x1xf32>) -> tensor<1x2x4xf32>
  %d = glow.sub %x, %means : (tensor<1x2x4xf32>, tensor<1x2x4xf32>) -> tensor<1x2x4xf32>
  %square = glow.pow %d, %two : (tensor<1x2x4xf32>, tensor<1x2x4xf32>) -> tensor<1x2x4xf32>
  %variance = glow.reduce_mean %square axes [2] keep_dims true : (tensor<1x2x4xf32>) -> tensor<1x2x1xf32>
  %moved = glow.add %variance, %epsilon : (tensor<1x2x1xf32>, tensor<1x2x1xf32>) -> tensor<1x2x1xf32>
  %root = glow.sqrt %moved : (tensor<1x2x1xf32>) -> tensor<1x2x1xf32>
  %roots = glow.broadcast %root : (tensor<1x2x1xf32>) -> tensor<1x2x4xf32>
  %n = glow.div %d, %roots : (tensor<1x2x4xf32>, tensor<1x2x4xf32>) -> tensor<1x2x4xf32>
  %scales = glow.broadcast %scale : (tensor<4xf32>) -> tensor<1x2x4xf32>
  %biases = glow.broadcast %bias : (tensor<1x1x4xf32>) -> tensor<1x2x4xf32>
  %s = glow.mul %n, %scales : (tensor<1x2x4xf32>, tensor<1x2x4xf32>) -> tensor<1x2x4xf32>
  %r = glow.add %s, %biases : (tensor<1x2x4xf32>, tensor<1x2x4xf32>) -> tensor<1x2x4xf32>
  func.return %r : tensor<1x2x4xf32>
}

// CHECK-LABEL: @layer_norm(
// CHECK-NEXT:  %r = glow.reshape %bias : (tensor<1x1x4xf32>) -> tensor<4xf32>
// CHECK-NEXT:  %r_1 = glow.layer_norm %x, %scale, %r axis 2 epsilon 0.25 : (tensor<1x2x4xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<1x2x4xf32>
// CHECK-NEXT:  func.return %r_1 : tensor<1x2x4xf32>

// -----

// The inverse of the root as a factor; a scale before the rows, not for each column, stays.
func.func @rms_norm(%x: tensor<2x4xf32>, %scale: tensor<2x1xf32>) -> tensor<2x4xf32> {
  %one = glow.splat value 1.0 : tensor<2x1xf32>
  %epsilon = glow.splat value 0.25 : tensor<2x1xf32>
  %square = glow.mul %x, %x : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
  %mean = glow.reduce_mean %square axes [1] keep_dims true : (tensor<2x4xf32>) -> tensor<2x1xf32>
  %moved = glow.add %mean, %epsilon : (tensor<2x1xf32>, tensor<2x1xf32>) -> tensor<2x1xf32>
  %root = glow.sqrt %moved : (tensor<2x1xf32>) -> tensor<2x1xf32>
  %inverse = glow.div %one, %root : (tensor<2x1xf32>, tensor<2x1xf32>) -> tensor<2x1xf32>
  %inverses = glow.broadcast %inverse : (tensor<2x1xf32>) -> tensor<2x4xf32>
  %n = glow.mul %x, %inverses : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
  %scales = glow.broadcast %scale : (tensor<2x1xf32>) -> tensor<2x4xf32>
  %r = glow.mul %n, %scales : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
  func.return %r : tensor<2x4xf32>
}

// CHECK-LABEL: @rms_norm(
// CHECK-NEXT:  %n = glow.splat value 1.0 : tensor<4xf32>
// CHECK-NEXT:  %n_1 = glow.rms_norm %x, %n axis 1 epsilon 0.25 : (tensor<2x4xf32>, tensor<4xf32>) -> tensor<2x4xf32>
// CHECK-NEXT:  %scales = glow.broadcast %scale : (tensor<2x1xf32>) -> tensor<2x4xf32>
// CHECK-NEXT:  %r = glow.mul %n_1, %scales : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
// CHECK-NEXT:  func.return %r : tensor<2x4xf32>

// -----

// Not along the first dimension.
func.func @columns(%x: tensor<2x4xf32>) -> tensor<2x4xf32> {
  %epsilon = glow.splat value 0.25 : tensor<1x4xf32>
  %square = glow.mul %x, %x : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
  %mean = glow.reduce_mean %square axes [0] keep_dims true : (tensor<2x4xf32>) -> tensor<1x4xf32>
  %moved = glow.add %mean, %epsilon : (tensor<1x4xf32>, tensor<1x4xf32>) -> tensor<1x4xf32>
  %root = glow.sqrt %moved : (tensor<1x4xf32>) -> tensor<1x4xf32>
  %roots = glow.broadcast %root : (tensor<1x4xf32>) -> tensor<2x4xf32>
  %r = glow.div %x, %roots : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
  func.return %r : tensor<2x4xf32>
}

// CHECK-LABEL: @columns(
// CHECK-NEXT:  %epsilon = glow.splat value 0.25 : tensor<1x4xf32>
// CHECK-NEXT:  %square = glow.mul %x, %x : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
// CHECK-NEXT:  %mean = glow.reduce_mean %square axes [0] keep_dims true : (tensor<2x4xf32>) -> tensor<1x4xf32>
// CHECK-NEXT:  %moved = glow.add %mean, %epsilon : (tensor<1x4xf32>, tensor<1x4xf32>) -> tensor<1x4xf32>
// CHECK-NEXT:  %root = glow.sqrt %moved : (tensor<1x4xf32>) -> tensor<1x4xf32>
// CHECK-NEXT:  %roots = glow.broadcast %root : (tensor<1x4xf32>) -> tensor<2x4xf32>
// CHECK-NEXT:  %r = glow.div %x, %roots : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
// CHECK-NEXT:  func.return %r : tensor<2x4xf32>

// -----

// Two groups of three channels each, as PyTorch exports them; then a scale and a bias of channels.
func.func @group_norm(%x: tensor<2x6x5xf32>, %scale: tensor<6x1xf32>, %bias: tensor<1x6x1xf32>) -> tensor<2x6x5xf32> {
  %one = glow.splat value 1.0 : tensor<2xf32>
  %zero = glow.splat value 0.0 : tensor<2xf32>
  %g = glow.reshape %x : (tensor<2x6x5xf32>) -> tensor<2x2x15xf32>
  %n = glow.group_norm %g, %one, %zero groups 2 epsilon 0.25 : (tensor<2x2x15xf32>, tensor<2xf32>, tensor<2xf32>) -> tensor<2x2x15xf32>
  %y = glow.reshape %n : (tensor<2x2x15xf32>) -> tensor<2x6x5xf32>
  %scales = glow.broadcast %scale : (tensor<6x1xf32>) -> tensor<2x6x5xf32>
  %biases = glow.broadcast %bias : (tensor<1x6x1xf32>) -> tensor<2x6x5xf32>
  %s = glow.mul %y, %scales : (tensor<2x6x5xf32>, tensor<2x6x5xf32>) -> tensor<2x6x5xf32>
  %r = glow.add %s, %biases : (tensor<2x6x5xf32>, tensor<2x6x5xf32>) -> tensor<2x6x5xf32>
  func.return %r : tensor<2x6x5xf32>
}

// CHECK-LABEL: @group_norm(
// CHECK-NOT:   glow.mul
// CHECK:       %[[S:.*]] = glow.reshape %scale : (tensor<6x1xf32>) -> tensor<6xf32>
// CHECK:       %[[B:.*]] = glow.reshape %bias : (tensor<1x6x1xf32>) -> tensor<6xf32>
// CHECK-NEXT:  %[[R:.*]] = glow.group_norm %x, %[[S]], %[[B]] groups 2 epsilon 0.25 : (tensor<2x6x5xf32>, tensor<6xf32>, tensor<6xf32>) -> tensor<2x6x5xf32>
// CHECK-NEXT:  func.return %[[R]]

// -----

// A scale for each image stays, and so does a normalisation that others read as well.
func.func @other_scales(%x: tensor<2x6x5xf32>, %one: tensor<6xf32>, %scale: tensor<2x6x1xf32>) -> (tensor<2x6x5xf32>, tensor<2x30xf32>) {
  %n = glow.group_norm %x, %one, %one groups 2 : (tensor<2x6x5xf32>, tensor<6xf32>, tensor<6xf32>) -> tensor<2x6x5xf32>
  %scales = glow.broadcast %scale : (tensor<2x6x1xf32>) -> tensor<2x6x5xf32>
  %r = glow.mul %n, %scales : (tensor<2x6x5xf32>, tensor<2x6x5xf32>) -> tensor<2x6x5xf32>
  %g = glow.reshape %x : (tensor<2x6x5xf32>) -> tensor<2x3x10xf32>
  %three = glow.splat value 1.0 : tensor<3xf32>
  %m = glow.group_norm %g, %three, %three groups 3 : (tensor<2x3x10xf32>, tensor<3xf32>, tensor<3xf32>) -> tensor<2x3x10xf32>
  %flat = glow.reshape %m : (tensor<2x3x10xf32>) -> tensor<2x30xf32>
  func.return %r, %flat : tensor<2x6x5xf32>, tensor<2x30xf32>
}

// CHECK-LABEL: @other_scales(
// CHECK:       glow.mul
// CHECK:       glow.group_norm %g, {{.*}} : (tensor<2x3x10xf32>

// -----

// Of no channels, nothing is fused.
func.func @no_channels(%x: tensor<2x0x3xf32>, %one: tensor<3xf32>) -> tensor<2x0x3xf32> {
  %g = glow.reshape %x : (tensor<2x0x3xf32>) -> tensor<2x3x0xf32>
  %n = glow.group_norm %g, %one, %one groups 3 : (tensor<2x3x0xf32>, tensor<3xf32>, tensor<3xf32>) -> tensor<2x3x0xf32>
  %r = glow.reshape %n : (tensor<2x3x0xf32>) -> tensor<2x0x3xf32>
  func.return %r : tensor<2x0x3xf32>
}

// CHECK-LABEL: @no_channels(
// CHECK:       glow.group_norm %g, {{.*}} : (tensor<2x3x0xf32>
