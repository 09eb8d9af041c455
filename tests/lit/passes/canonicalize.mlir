// RUN: glow-opt %s --canonicalize --split-input-file | filecheck %s

// Neutral elements.
func.func @neutral(%x: tensor<4xf32>) -> tensor<4xf32> {
  %zero = glow.splat value 0.0 : tensor<4xf32>
  %one = glow.splat value 1.0 : tensor<4xf32>
  %a = glow.add %zero, %x : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %b = glow.sub %a, %zero : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %c = glow.mul %one, %b : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %d = glow.div %c, %one : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %e = glow.pow %d, %one : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  func.return %e : tensor<4xf32>
}

// CHECK-LABEL: @neutral(
// CHECK-NEXT:  func.return %x : tensor<4xf32>

// -----

// A product with 0 is 0 for integers only: 0 * NaN is NaN.
func.func @zero(%x: tensor<4xf32>, %i: tensor<4xi32>) -> (tensor<4xf32>, tensor<4xi32>) {
  %zf = glow.splat value 0.0 : tensor<4xf32>
  %zi = glow.splat value 0 : tensor<4xi32>
  %a = glow.mul %x, %zf : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %b = glow.mul %i, %zi : (tensor<4xi32>, tensor<4xi32>) -> tensor<4xi32>
  func.return %a, %b : tensor<4xf32>, tensor<4xi32>
}

// CHECK-LABEL: @zero(
// CHECK-NEXT:  %zf = glow.splat value 0.0 : tensor<4xf32>
// CHECK-NEXT:  %zi = glow.splat value 0 : tensor<4xi32>
// CHECK-NEXT:  %a = glow.mul %x, %zf : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
// CHECK-NEXT:  func.return %a, %zi : tensor<4xf32>, tensor<4xi32>

// -----

// Constants go to the right where order does not matter, and stay where it does.
func.func @right(%x: tensor<2xf32>) -> (tensor<2xf32>, tensor<2xf32>) {
  %c = glow.constant dense<[1.0, 2.0]> : tensor<2xf32>
  %a = glow.mul %c, %x : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  %b = glow.sub %c, %x : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  func.return %a, %b : tensor<2xf32>, tensor<2xf32>
}

// CHECK-LABEL: @right(
// CHECK-NEXT:  %c = glow.constant dense<[1.000000e+00, 2.000000e+00]> : tensor<2xf32>
// CHECK-NEXT:  %a = glow.mul %x, %c : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
// CHECK-NEXT:  %b = glow.sub %c, %x : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
// CHECK-NEXT:  func.return %a, %b : tensor<2xf32>, tensor<2xf32>

// -----

// Quotients by powers of two are products; others would round differently. So are squares and cubes.
func.func @power_of_two(%x: tensor<2xf32>) -> (tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>) {
  %four = glow.splat value 4.0 : tensor<2xf32>
  %three = glow.splat value 3.0 : tensor<2xf32>
  %two = glow.splat value 2.0 : tensor<2xf32>
  %a = glow.div %x, %four : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  %b = glow.div %x, %three : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  %c = glow.pow %x, %two : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  %d = glow.pow %x, %three : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  func.return %a, %b, %c, %d : tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>
}

// CHECK-LABEL: @power_of_two(
// CHECK-NEXT:  %three = glow.splat value 3.0 : tensor<2xf32>
// CHECK-NEXT:  %a = glow.splat value 0.25 : tensor<2xf32>
// CHECK-NEXT:  %a_1 = glow.mul %x, %a : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
// CHECK-NEXT:  %b = glow.div %x, %three : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
// CHECK-NEXT:  %c = glow.mul %x, %x : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
// CHECK-NEXT:  %d = glow.mul %x, %x : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
// CHECK-NEXT:  %d_1 = glow.mul %d, %x : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
// CHECK-NEXT:  func.return %a_1, %b, %c, %d_1 : tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>

// -----

// Limits of limits are one limit.
func.func @bounds(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) {
  %six = glow.splat value 6.0 : tensor<4xf32>
  %a = glow.relu %x : (tensor<4xf32>) -> tensor<4xf32>
  %b = glow.relu %a : (tensor<4xf32>) -> tensor<4xf32>
  %c = glow.minimum %b, %six : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %d = glow.clip %x min -1.0 max 1.0 : (tensor<4xf32>) -> tensor<4xf32>
  %e = glow.clip %d min 2.0 : (tensor<4xf32>) -> tensor<4xf32>
  %f = glow.clip %x min 0.0 : (tensor<4xf32>) -> tensor<4xf32>
  func.return %c, %e, %f : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
}

// CHECK-LABEL: @bounds(
// CHECK-NEXT:  %c = glow.clip %x min 0.0 max 6.0 : (tensor<4xf32>) -> tensor<4xf32>
// CHECK-NEXT:  %e = glow.clip %x min 2.0 max 2.0 : (tensor<4xf32>) -> tensor<4xf32>
// CHECK-NEXT:  %f = glow.relu %x : (tensor<4xf32>) -> tensor<4xf32>
// CHECK-NEXT:  func.return %c, %e, %f : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>

// -----

// A maximum with a number is a limit, with a tensor it is not.
func.func @maximum(%x: tensor<4xf32>, %y: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %c = glow.splat value 0.5 : tensor<4xf32>
  %a = glow.maximum %c, %x : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %b = glow.maximum %x, %y : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  func.return %a, %b : tensor<4xf32>, tensor<4xf32>
}

// CHECK-LABEL: @maximum(
// CHECK-NEXT:  %a = glow.clip %x min 0.5 : (tensor<4xf32>) -> tensor<4xf32>
// CHECK-NEXT:  %b = glow.maximum %x, %y : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
// CHECK-NEXT:  func.return %a, %b : tensor<4xf32>, tensor<4xf32>

// -----

// Inverses cancel.
func.func @twice(%x: tensor<4xf32>, %b: tensor<4xi1>) -> (tensor<4xf32>, tensor<4xi1>, tensor<4xf32>) {
  %a = glow.neg %x : (tensor<4xf32>) -> tensor<4xf32>
  %c = glow.neg %a : (tensor<4xf32>) -> tensor<4xf32>
  %d = glow.not %b : (tensor<4xi1>) -> tensor<4xi1>
  %e = glow.not %d : (tensor<4xi1>) -> tensor<4xi1>
  %f = glow.sub %x, %a : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  func.return %c, %e, %f : tensor<4xf32>, tensor<4xi1>, tensor<4xf32>
}

// CHECK-LABEL: @twice(
// CHECK-NEXT:  %f = glow.add %x, %x : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
// CHECK-NEXT:  func.return %x, %b, %f : tensor<4xf32>, tensor<4xi1>, tensor<4xf32>

// -----

// A cast on the way vanishes if it loses nothing: f16 fits into f32, f32 not into f16.
func.func @casts(%h: tensor<4xf16>, %x: tensor<4xf32>) -> (tensor<4xf16>, tensor<4xf32>) {
  %a = glow.cast %h : (tensor<4xf16>) -> tensor<4xf32>
  %b = glow.cast %a : (tensor<4xf32>) -> tensor<4xf16>
  %c = glow.cast %x : (tensor<4xf32>) -> tensor<4xf16>
  %d = glow.cast %c : (tensor<4xf16>) -> tensor<4xf32>
  func.return %b, %d : tensor<4xf16>, tensor<4xf32>
}

// CHECK-LABEL: @casts(
// CHECK-NEXT:  %c = glow.cast %x : (tensor<4xf32>) -> tensor<4xf16>
// CHECK-NEXT:  %d = glow.cast %c : (tensor<4xf16>) -> tensor<4xf32>
// CHECK-NEXT:  func.return %h, %d : tensor<4xf16>, tensor<4xf32>

// -----

// Selection by what is known, or between equal values.
func.func @select(%c: tensor<4xi1>, %x: tensor<4xf32>, %y: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) {
  %true = glow.splat value true : tensor<4xi1>
  %n = glow.not %c : (tensor<4xi1>) -> tensor<4xi1>
  %a = glow.select %true, %x, %y : (tensor<4xi1>, tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %b = glow.select %c, %x, %x : (tensor<4xi1>, tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %d = glow.select %n, %x, %y : (tensor<4xi1>, tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  func.return %a, %b, %d : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
}

// CHECK-LABEL: @select(
// CHECK-NEXT:  %d = glow.select %c, %y, %x : (tensor<4xi1>, tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
// CHECK-NEXT:  func.return %x, %x, %d : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>

// -----

// Nodes that leave everything in its place.
func.func @in_place(%x: tensor<1x2x3x3xf32>) -> tensor<1x2x3x3xf32> {
  %a = glow.max_pool %x kernel [1, 1] : (tensor<1x2x3x3xf32>) -> tensor<1x2x3x3xf32>
  %b = glow.pad %a value 0.0 : (tensor<1x2x3x3xf32>) -> tensor<1x2x3x3xf32>
  %c = glow.transpose %b permutation [0, 1, 2, 3] : (tensor<1x2x3x3xf32>) -> tensor<1x2x3x3xf32>
  %d = glow.reshape %c : (tensor<1x2x3x3xf32>) -> tensor<1x2x3x3xf32>
  %e = glow.broadcast %d : (tensor<1x2x3x3xf32>) -> tensor<1x2x3x3xf32>
  %f = glow.concat %e axis 1 : (tensor<1x2x3x3xf32>) -> tensor<1x2x3x3xf32>
  %g = glow.slice %f sizes [1, 2, 3, 3] : (tensor<1x2x3x3xf32>) -> tensor<1x2x3x3xf32>
  %h = glow.reduce_sum %g axes [] : (tensor<1x2x3x3xf32>) -> tensor<1x2x3x3xf32>
  func.return %h : tensor<1x2x3x3xf32>
}

// CHECK-LABEL: @in_place(
// CHECK-NEXT:  func.return %x : tensor<1x2x3x3xf32>

// -----

// Similar nodes that do not: a reversing slice, a pool with stride 2.
func.func @not_in_place(%x: tensor<1x2x3xf32>) -> (tensor<1x2x3xf32>, tensor<1x2x2xf32>, tensor<2x3xf32>) {
  %a = glow.slice %x starts [0, 0, 2] sizes [1, 2, 3] strides [1, 1, -1] : (tensor<1x2x3xf32>) -> tensor<1x2x3xf32>
  %b = glow.max_pool %x kernel [1] strides [2] : (tensor<1x2x3xf32>) -> tensor<1x2x2xf32>
  %c = glow.reduce_max %x axes [0] : (tensor<1x2x3xf32>) -> tensor<2x3xf32>
  func.return %a, %b, %c : tensor<1x2x3xf32>, tensor<1x2x2xf32>, tensor<2x3xf32>
}

// CHECK-LABEL: @not_in_place(
// CHECK-NEXT:  %a = glow.slice %x starts [0, 0, 2] sizes [1, 2, 3] strides [1, 1, -1] : (tensor<1x2x3xf32>) -> tensor<1x2x3xf32>
// CHECK-NEXT:  %b = glow.max_pool %x kernel [1] strides [2] : (tensor<1x2x3xf32>) -> tensor<1x2x2xf32>
// CHECK-NEXT:  %c = glow.reshape %x : (tensor<1x2x3xf32>) -> tensor<2x3xf32>
// CHECK-NEXT:  func.return %a, %b, %c : tensor<1x2x3xf32>, tensor<1x2x2xf32>, tensor<2x3xf32>

// -----

// Bounds of u64 are as large as its numbers.
func.func @large_bound(%x: tensor<3xui64>) -> tensor<3xui64> {
  %n = glow.constant dense<9223372036854775815> : tensor<3xui64>
  %y = glow.maximum %x, %n : (tensor<3xui64>, tensor<3xui64>) -> tensor<3xui64>
  func.return %y : tensor<3xui64>
}

// CHECK-LABEL: @large_bound(
// CHECK-NEXT:  %y = glow.clip %x {min = 9223372036854775815 : ui64}
