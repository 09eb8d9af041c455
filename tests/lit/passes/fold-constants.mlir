// RUN: glow-opt %s --fold-constants --split-input-file | filecheck %s

// A node on constants is a constant, and so are its users. Constants that nothing uses disappear.
func.func @chain() -> tensor<2xf32> {
  %a = glow.constant dense<[1.0, 2.0]> : tensor<2xf32>
  %b = glow.constant dense<[10.0, 20.0]> : tensor<2xf32>
  %c = glow.add %a, %b : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  %d = glow.neg %c : (tensor<2xf32>) -> tensor<2xf32>
  func.return %d : tensor<2xf32>
}

// CHECK-LABEL: @chain(
// CHECK-NEXT:  %d = glow.constant dense<[-1.100000e+01, -2.200000e+01]> : tensor<2xf32>
// CHECK-NEXT:  func.return %d : tensor<2xf32>

// -----

// An operand that is not constant stops it.
func.func @not_constant(%x: tensor<2xf32>) -> tensor<2xf32> {
  %a = glow.constant dense<[1.0, 2.0]> : tensor<2xf32>
  %c = glow.add %a, %x : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  func.return %c : tensor<2xf32>
}

// CHECK-LABEL: @not_constant(
// CHECK-NEXT:  %a = glow.constant dense<[1.000000e+00, 2.000000e+00]> : tensor<2xf32>
// CHECK-NEXT:  %c = glow.add %a, %x : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
// CHECK-NEXT:  func.return %c : tensor<2xf32>

// -----

// Splats stay splats, however large.
func.func @splats() -> tensor<1000x1000xf32> {
  %a = glow.splat value 2.0 : tensor<1000xf32>
  %b = glow.broadcast %a : (tensor<1000xf32>) -> tensor<1000x1000xf32>
  %c = glow.mul %b, %b : (tensor<1000x1000xf32>, tensor<1000x1000xf32>) -> tensor<1000x1000xf32>
  func.return %c : tensor<1000x1000xf32>
}

// CHECK-LABEL: @splats(
// CHECK-NEXT:  %c = glow.splat value 4.0 : tensor<1000x1000xf32>
// CHECK-NEXT:  func.return %c : tensor<1000x1000xf32>

// -----

// A reshaped reference refers to the same bytes, which are not read: there is no such file.
func.func @reference() -> tensor<2x3x4xf32> {
  %a = glow.constant #glow.blob<"absent.bin", 64, 96> : tensor<6x4xf32>
  %b = glow.reshape %a : (tensor<6x4xf32>) -> tensor<2x3x4xf32>
  func.return %b : tensor<2x3x4xf32>
}

// CHECK-LABEL: @reference(
// CHECK-NEXT:  %b = glow.constant #glow.blob<"absent.bin", 64, 96> : tensor<2x3x4xf32>
// CHECK-NEXT:  func.return %b : tensor<2x3x4xf32>

// -----

// A broadcast is free at run time, so it stays; what uses it is folded.
func.func @broadcast(%x: tensor<2x2xf32>) -> (tensor<2x2xf32>, tensor<2x2xf32>) {
  %a = glow.constant dense<[1.0, 2.0]> : tensor<2xf32>
  %b = glow.broadcast %a : (tensor<2xf32>) -> tensor<2x2xf32>
  %c = glow.add %x, %b : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
  %d = glow.exp %b : (tensor<2x2xf32>) -> tensor<2x2xf32>
  func.return %c, %d : tensor<2x2xf32>, tensor<2x2xf32>
}

// CHECK-LABEL: @broadcast(
// CHECK-NEXT:  %a = glow.constant dense<[1.000000e+00, 2.000000e+00]> : tensor<2xf32>
// CHECK-NEXT:  %b = glow.broadcast %a : (tensor<2xf32>) -> tensor<2x2xf32>
// CHECK-NEXT:  %c = glow.add %x, %b : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
// CHECK-NEXT:  %d = glow.constant dense<{{\[\[}}2.71828198, 7.38905573], [2.71828198, 7.38905573]]> : tensor<2x2xf32>
// CHECK-NEXT:  func.return %c, %d : tensor<2x2xf32>, tensor<2x2xf32>

// -----

// Booleans, integers, and several results of one constant.
func.func @integers() -> (tensor<2xi1>, tensor<3xi64>) {
  %a = glow.constant dense<[1, 2]> : tensor<2xi64>
  %b = glow.constant dense<[2, 1]> : tensor<2xi64>
  %c = glow.less %a, %b : (tensor<2xi64>, tensor<2xi64>) -> tensor<2xi1>
  %i = glow.constant dense<[0, -1, 0]> : tensor<3xi64>
  %d = glow.gather %a, %i axis 0 : (tensor<2xi64>, tensor<3xi64>) -> tensor<3xi64>
  func.return %c, %d : tensor<2xi1>, tensor<3xi64>
}

// CHECK-LABEL: @integers(
// CHECK-NEXT:  %c = glow.constant dense<[true, false]> : tensor<2xi1>
// CHECK-NEXT:  %d = glow.constant dense<[1, 2, 1]> : tensor<3xi64>
// CHECK-NEXT:  func.return %c, %d : tensor<2xi1>, tensor<3xi64>
