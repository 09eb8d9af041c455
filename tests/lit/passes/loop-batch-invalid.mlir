// RUN: glow-opt %s --loop-batch="count=x" --split-input-file --verify-diagnostics | filecheck %s

// CHECK: glow.softmax %y: expected a node that computes each of the 3 images by itself
func.func @main(%a: tensor<3x4xf32>) -> tensor<3x4xf32> {
  %y = glow.softmax %a axis 0 : (tensor<3x4xf32>) -> tensor<3x4xf32>
  func.return %y : tensor<3x4xf32>
}

// -----

// CHECK: glow.reshape %y: expected a node that computes each of the 3 images by itself
func.func @main(%a: tensor<3x4xf32>) -> tensor<2x6xf32> {
  %y = glow.reshape %a : (tensor<3x4xf32>) -> tensor<2x6xf32>
  func.return %y : tensor<2x6xf32>
}

// -----

// CHECK: expected results with a part for each image, found tensor<12xf32>
func.func @main(%a: tensor<3x4xf32>) -> tensor<12xf32> {
  %y = glow.reshape %a : (tensor<3x4xf32>) -> tensor<12xf32>
  func.return %y : tensor<12xf32>
}

// -----

// CHECK: an input is already called x: give the count another name
func.func @main(%x: tensor<3x4xf32> {glow.name = "x"}) -> tensor<3x4xf32> {
  %y = glow.relu %x : (tensor<3x4xf32>) -> tensor<3x4xf32>
  func.return %y : tensor<3x4xf32>
}

// -----

// CHECK: expected results with a part for each image, found tensor<3x4xf32>
func.func @main(%a: tensor<3x4xf32>) -> tensor<3x4xf32> {
  %y = glow.splat value 1.0 : tensor<3x4xf32>
  func.return %y : tensor<3x4xf32>
}

// -----

// CHECK: glow.quantize %q: expected a node that computes each of the 2 images by itself
func.func @main(%a: tensor<2x4xf32>) -> tensor<2x4x!quant.uniform<i8:f32:0, {0.5, 0.25}>> {
  %q = glow.quantize %a : (tensor<2x4xf32>) -> tensor<2x4x!quant.uniform<i8:f32:0, {0.5, 0.25}>>
  func.return %q : tensor<2x4x!quant.uniform<i8:f32:0, {0.5, 0.25}>>
}
