// RUN: glow-opt %s --quantize='dynamic=true report="%t"' --split-input-file | filecheck %s
// RUN: not glow-opt %s --split-input-file --quantize 2>&1 | filecheck %s --check-prefix=NO-PROFILE
// RUN: not glow-opt %s --split-input-file --quantize='profile="%t.json"' 2>&1 | filecheck %s --check-prefix=NO-FILE
// RUN: not glow-opt %s --split-input-file --quantize="dynamic=true schema=lopsided" 2>&1 | filecheck %s --check-prefix=SCHEMA

// NO-PROFILE: quantization needs a profile, or dynamic=true; see glow-profile
// NO-FILE: .json: cannot be read: No such file or directory
// SCHEMA: expected a schema of asymmetric, {{.*}}, found 'lopsided'

// The range of the left operand is found while running; the product is one of integers.

func.func @main(%x: tensor<2x3xf32> {glow.name = "x"}) -> (tensor<2x2xf32> {glow.name = "y"}) {
  %w = glow.constant dense<[[1.0, 0.5], [-2.54, 0.25], [0.02, -1.27]]> : tensor<3x2xf32>
  %y = glow.matmul %x, %w : (tensor<2x3xf32>, tensor<3x2xf32>) -> tensor<2x2xf32>
  func.return %y : tensor<2x2xf32>
}

// CHECK-LABEL: func.func @main(
// CHECK:         glow.reduce_max %x
// CHECK:         glow.reduce_min %x
// CHECK:         [[Q:%.*]] = glow.cast {{.*}} : (tensor<2x3xf32>) -> tensor<2x3xui8>
// CHECK:         [[W:%.*]] = glow.constant dense<{{\[\[50, 50\], \[-127, 25\], \[1, -127\]\]}}> : tensor<3x2xi8>
// CHECK:         glow.matmul [[Q]], [[W]] : (tensor<2x3xui8>, tensor<3x2xi8>) -> tensor<2x2xi32>
// CHECK:         dense<[-76, -52]>
// CHECK:         glow.sub
// CHECK:         glow.cast {{.*}} : (tensor<2x2xi32>) -> tensor<2x2xf32>

// -----

// Two operands that are not constant, and products of other elements, stay as they are.

func.func @main(%x: tensor<2x3xf32> {glow.name = "x"}, %w: tensor<3x2xf32> {glow.name = "w"}, %h: tensor<2x3xf16> {glow.name = "h"})
    -> (tensor<2x2xf32> {glow.name = "y"}, tensor<2x1xf16> {glow.name = "z"}, tensor<2x1xf32> {glow.name = "q"}) {
  %y = glow.matmul %x, %w : (tensor<2x3xf32>, tensor<3x2xf32>) -> tensor<2x2xf32>
  %v = glow.constant dense<[[1.0], [2.0], [0.5]]> : tensor<3x1xf16>
  %z = glow.matmul %h, %v : (tensor<2x3xf16>, tensor<3x1xf16>) -> tensor<2x1xf16>
  %u = glow.constant dense<[[1.0], [2.0], [0.5]]> : tensor<3x1xf32>
  %q = glow.matmul %x, %u : (tensor<2x3xf32>, tensor<3x1xf32>) -> tensor<2x1xf32>
  func.return %y, %z, %q : tensor<2x2xf32>, tensor<2x1xf16>, tensor<2x1xf32>
}

// CHECK-LABEL: func.func @main(
// CHECK-NEXT:    glow.matmul %x, %w : (tensor<2x3xf32>, tensor<3x2xf32>) -> tensor<2x2xf32>
// CHECK-NEXT:    glow.constant
// CHECK-NEXT:    glow.matmul %h, %v : (tensor<2x3xf16>, tensor<3x1xf16>) -> tensor<2x1xf16>
// CHECK:         glow.matmul {{.*}} : (tensor<2x3xui8>, tensor<3x1xi8>) -> tensor<2x1xi32>
