// RUN: glow-opt %s --widen-products --split-input-file | filecheck %s

// Two products read one input; its cast serves both. A constant filter becomes one of f32.
func.func @fires(%x: tensor<1x2x4x4xf16>, %b: tensor<3xbf16>, %m: tensor<2x4xbf16>, %w: tensor<3x4xbf16>) -> (tensor<1x3x2x2xf16>, tensor<1x3x2x2xf16>, tensor<2x3xbf16>) {
  %f = glow.constant dense<5.000000e-01> : tensor<3x2x3x3xf16>
  %z = glow.splat value 0.0 : tensor<3xf16>
  %g = glow.relu %f : (tensor<3x2x3x3xf16>) -> tensor<3x2x3x3xf16>
  %a = glow.convolution %x, %f, %z : (tensor<1x2x4x4xf16>, tensor<3x2x3x3xf16>, tensor<3xf16>) -> tensor<1x3x2x2xf16>
  %c = glow.convolution %x, %g, %z : (tensor<1x2x4x4xf16>, tensor<3x2x3x3xf16>, tensor<3xf16>) -> tensor<1x3x2x2xf16>
  %y = glow.fully_connected %m, %w, %b : (tensor<2x4xbf16>, tensor<3x4xbf16>, tensor<3xbf16>) -> tensor<2x3xbf16>
  func.return %a, %c, %y : tensor<1x3x2x2xf16>, tensor<1x3x2x2xf16>, tensor<2x3xbf16>
}

// CHECK-LABEL: @fires(
// CHECK-NEXT:  %b_1 = glow.cast %b : (tensor<3xbf16>) -> tensor<3xf32>
// CHECK-NEXT:  %w_1 = glow.cast %w : (tensor<3x4xbf16>) -> tensor<3x4xf32>
// CHECK-NEXT:  %m_1 = glow.cast %m : (tensor<2x4xbf16>) -> tensor<2x4xf32>
// CHECK-NEXT:  %x_1 = glow.cast %x : (tensor<1x2x4x4xf16>) -> tensor<1x2x4x4xf32>
// CHECK-NEXT:  %f = glow.constant dense<5.000000e-01> : tensor<3x2x3x3xf16>
// CHECK-NEXT:  %f_1 = glow.constant {{.*}} : tensor<3x2x3x3xf32>
// CHECK-NEXT:  %z = glow.splat value 0.0 : tensor<3xf32>
// CHECK-NEXT:  %g = glow.relu %f : (tensor<3x2x3x3xf16>) -> tensor<3x2x3x3xf16>
// CHECK-NEXT:  %g_1 = glow.cast %g : (tensor<3x2x3x3xf16>) -> tensor<3x2x3x3xf32>
// CHECK-NEXT:  %a = glow.convolution %x_1, %f_1, %z : (tensor<1x2x4x4xf32>, tensor<3x2x3x3xf32>, tensor<3xf32>) -> tensor<1x3x2x2xf32>
// CHECK-NEXT:  %a_1 = glow.cast %a : (tensor<1x3x2x2xf32>) -> tensor<1x3x2x2xf16>
// CHECK-NEXT:  %c = glow.convolution %x_1, %g_1, %z : (tensor<1x2x4x4xf32>, tensor<3x2x3x3xf32>, tensor<3xf32>) -> tensor<1x3x2x2xf32>
// CHECK-NEXT:  %c_1 = glow.cast %c : (tensor<1x3x2x2xf32>) -> tensor<1x3x2x2xf16>
// CHECK-NEXT:  %y = glow.fully_connected %m_1, %w_1, %b_1 : (tensor<2x4xf32>, tensor<3x4xf32>, tensor<3xf32>) -> tensor<2x3xf32>
// CHECK-NEXT:  %y_1 = glow.cast %y : (tensor<2x3xf32>) -> tensor<2x3xbf16>
// CHECK-NEXT:  func.return %a_1, %c_1, %y_1

// -----

// One row, or one column, reads each element of its matrix once.
func.func @once(%x: tensor<1x4xf16>, %m: tensor<4x3xf16>, %c: tensor<3x1xf16>, %b: tensor<3xf16>, %w: tensor<3x4xf16>) -> (tensor<1x3xf16>, tensor<4x1xf16>, tensor<1x3xf16>) {
  %r = glow.matmul %x, %m : (tensor<1x4xf16>, tensor<4x3xf16>) -> tensor<1x3xf16>
  %s = glow.matmul %m, %c : (tensor<4x3xf16>, tensor<3x1xf16>) -> tensor<4x1xf16>
  %y = glow.fully_connected %x, %w, %b : (tensor<1x4xf16>, tensor<3x4xf16>, tensor<3xf16>) -> tensor<1x3xf16>
  func.return %r, %s, %y : tensor<1x3xf16>, tensor<4x1xf16>, tensor<1x3xf16>
}

// CHECK-LABEL: @once(
// CHECK-NOT:   glow.cast
// CHECK:       func.return

// -----

// Other elements have arithmetic of their own. A symbol may have one row.
func.func @others(%x: tensor<2x4xf32>, %w: tensor<4x3xf32>, %d: tensor<2x4xf64>, %e: tensor<4x3xf64>, %s: tensor<?x4xf16, #glow.dims<batch>>, %h: tensor<4x3xf16>) -> (tensor<2x3xf32>, tensor<2x3xf64>, tensor<?x3xf16, #glow.dims<batch>>) {
  %r = glow.matmul %x, %w : (tensor<2x4xf32>, tensor<4x3xf32>) -> tensor<2x3xf32>
  %t = glow.matmul %d, %e : (tensor<2x4xf64>, tensor<4x3xf64>) -> tensor<2x3xf64>
  %u = glow.matmul %s, %h : (tensor<?x4xf16, #glow.dims<batch>>, tensor<4x3xf16>) -> tensor<?x3xf16, #glow.dims<batch>>
  func.return %r, %t, %u : tensor<2x3xf32>, tensor<2x3xf64>, tensor<?x3xf16, #glow.dims<batch>>
}

// CHECK-LABEL: @others(
// CHECK-NOT:   glow.cast
// CHECK:       func.return
