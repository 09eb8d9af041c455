// RUN: glow-opt %s --differentiate --split-input-file | filecheck %s
// RUN: glow-opt %s --differentiate="mode=jvp" --split-input-file | filecheck %s --check-prefix=JVP

// A value that two nodes use gets the sum of their adjoints; the adjoint of a product has the other factor.
func.func @shared(%x: tensor<3xf32> {glow.name = "x"}, %w: tensor<3xf32> {glow.name = "w"}) -> (tensor<f32> {glow.name = "y"}) {
  %0 = glow.mul %x, %w : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
  %1 = glow.add %0, %x : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
  %y = glow.reduce_sum %1 axes [0] : (tensor<3xf32>) -> tensor<f32>
  func.return %y : tensor<f32>
}

// CHECK-LABEL: @shared(
// CHECK-SAME:  {glow.name = "grad.x"}, tensor<3xf32> {glow.name = "grad.w"})
// CHECK:       [[ONE:%\S+]] = glow.splat value 1.0 : tensor<f32>
// CHECK-NEXT:  [[D:%\S+]] = glow.generic [[ONE]] formula "y[i0] = s0[] for i0 < 3"
// CHECK-NEXT:  [[W:%\S+]] = glow.mul [[D]], %x
// CHECK-NEXT:  [[P:%\S+]] = glow.mul [[D]], %w
// CHECK-NEXT:  [[X:%\S+]] = glow.add [[D]], [[P]]
// CHECK-NEXT:  func.return %y, [[X]], [[W]]

// JVP-LABEL: @shared(
// JVP-SAME:  [[TX:%\S+]]: tensor<3xf32> {glow.name = "tangent.x"}, [[TW:%\S+]]: tensor<3xf32> {glow.name = "tangent.w"})
// JVP-SAME:  tensor<f32> {glow.name = "tangent.y"})
// JVP:       func.return %y, {{%\S+}} : tensor<f32>, tensor<f32>

// -----

// The adjoint of a strided window is read at the places that it came from; one that reads computed indices is scattered.
func.func @reads(%x: tensor<9xf32> {glow.name = "x"}, %n: tensor<2xi64> {glow.name = "n"}) -> (tensor<f32> {glow.name = "y"}) {
  %0 = glow.generic %x formula "y[i] = x[2 * i + 1]" : (tensor<9xf32>) -> tensor<4xf32>
  %1 = glow.gather %0, %n axis 0 : (tensor<4xf32>, tensor<2xi64>) -> tensor<2xf32>
  %y = glow.reduce_sum %1 axes [0] : (tensor<2xf32>) -> tensor<f32>
  func.return %y : tensor<f32>
}

// CHECK-LABEL: @reads(
// CHECK:       glow.scatter {{.*}} reduction "add"
// CHECK:       formula "y[i0] = s{{[0-9]+}}[(i0 - 1) // 2 | outside: 0.0] if (i0 - 1) % 2 == 0 else 0.0 for i0 < 9"

// -----

// Nothing goes through comparisons and integers; what the result does not depend on has the derivative 0.
func.func @stops(%x: tensor<2xf32> {glow.name = "x"}, %z: tensor<2xf32> {glow.name = "z"}) -> (tensor<f32> {glow.name = "y"}) {
  %c = glow.less %z, %x : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xi1>
  %f = glow.cast %c : (tensor<2xi1>) -> tensor<2xf32>
  %0 = glow.mul %f, %x : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  %y = glow.reduce_sum %0 axes [0] : (tensor<2xf32>) -> tensor<f32>
  func.return %y : tensor<f32>
}

// CHECK-LABEL: @stops(
// CHECK:       [[X:%\S+]] = glow.mul {{%\S+}}, %f
// CHECK-NEXT:  [[Z:%\S+]] = glow.splat value 0.0 : tensor<2xf32>
// CHECK-NEXT:  func.return %y, [[X]], [[Z]]

// -----

// Attention goes back through products of matrices; no other index is summed.
func.func @heads(%q: tensor<1x3x2x4xf32> {glow.name = "q"}, %k: tensor<1x5x2x4xf32> {glow.name = "k"}, %v: tensor<1x5x2x4xf32> {glow.name = "v"}) -> (tensor<f32> {glow.name = "y"}) {
  %0 = glow.attention %q, %k, %v scale 0.5 : (tensor<1x3x2x4xf32>, tensor<1x5x2x4xf32>, tensor<1x5x2x4xf32>) -> tensor<1x3x2x4xf32>
  %y = glow.reduce_sum %0 axes [0, 1, 2, 3] : (tensor<1x3x2x4xf32>) -> tensor<f32>
  func.return %y : tensor<f32>
}

// CHECK-LABEL:    @heads(
// CHECK-COUNT-5:  glow.matmul
// CHECK-NOT:      sum(
// CHECK:          func.return
