// RUN: glow-opt %s --prepare-for-vta --split-input-file | filecheck %s

// The host quantizes the input, in two types, and makes floats of one result; the other is one of integers.

!r = tensor<1x4xf32>
!a = tensor<1x4x!quant.uniform<i8:f32, 0.5>>
!b = tensor<1x4x!quant.uniform<i8:f32, 2.0>>
!t = tensor<1x8x!quant.uniform<i8:f32, 0.5>>
func.func @main(%x: !r {glow.name = "x"}, %z: !a {glow.name = "z"}) -> (!r {glow.name = "y"}, !t {glow.name = "i"}) {
  %p = glow.quantize %x : (!r) -> !a
  %q = glow.quantize %x : (!r) -> !b
  %k = glow.concat %p, %z axis 1 : (!a, !a) -> !t
  %f = glow.dequantize %q : (!b) -> !r
  %c = glow.splat value 0.25 : !r
  %y = glow.mul %f, %c : (!r, !r) -> !r
  func.return %y, %k : !r, !t
}

// CHECK:      func.func @main(%x: tensor<1x4x!quant.uniform<i8:f32, 0.5>> {glow.name = "x"}, %x_1: tensor<1x4x!quant.uniform<i8:f32, 2.0>> {glow.name = "x"},
// CHECK-SAME: %z: tensor<1x4x!quant.uniform<i8:f32, 0.5>> {glow.name = "z"})
// CHECK-SAME: -> (tensor<1x4x!quant.uniform<i8:f32, 2.0>> {glow.name = "y"}, tensor<1x8x!quant.uniform<i8:f32, 0.5>> {glow.name = "i"}) {
// CHECK-NEXT:   %k = glow.concat %x, %z
// CHECK-NEXT:   func.return %x_1, %k

// -----

// Something else uses the floats: they stay.

!r = tensor<1x4xf32>
!a = tensor<1x4x!quant.uniform<i8:f32, 0.5>>
func.func @main(%x: !r) -> (!a, !r) {
  %p = glow.quantize %x : (!r) -> !a
  %y = glow.relu %x : (!r) -> !r
  func.return %p, %y : !a, !r
}

// CHECK:      func.func @main(%x: tensor<1x4xf32>) -> (tensor<1x4x!quant.uniform<i8:f32, 0.5>>, tensor<1x4xf32>) {
// CHECK-NEXT:   glow.quantize
// CHECK-NEXT:   glow.relu

// -----

// A sum over images is a convolution.

func.func @main(%x: tensor<2x3x5x7xi8>) -> tensor<2x3xi32> {
  %w = glow.cast %x : (tensor<2x3x5x7xi8>) -> tensor<2x3x5x7xi32>
  %y = glow.reduce_sum %w axes [2, 3] : (tensor<2x3x5x7xi32>) -> tensor<2x3xi32>
  func.return %y : tensor<2x3xi32>
}

// CHECK:      [[ONES:%.*]] = glow.constant {{.*}} : tensor<3x1x5x7xi8>
// CHECK-NEXT: [[ZEROS:%.*]] = glow.constant {{.*}} : tensor<3xi32>
// CHECK-NEXT: [[SUMS:%.*]] = glow.convolution %x, [[ONES]], [[ZEROS]] {{.*}}group 3 : {{.*}} -> tensor<2x3x1x1xi32>
// CHECK-NEXT: [[FLAT:%.*]] = glow.reshape [[SUMS]]
// CHECK-NEXT: func.return [[FLAT]]

// -----

// Sums over channels, or of wider integers, are not.

func.func @main(%x: tensor<2x3x5x7xi8>, %z: tensor<2x3x5x7xi32>) -> (tensor<2x5x7xi32>, tensor<2x3xi32>) {
  %w = glow.cast %x : (tensor<2x3x5x7xi8>) -> tensor<2x3x5x7xi32>
  %y = glow.reduce_sum %w axes [1] : (tensor<2x3x5x7xi32>) -> tensor<2x5x7xi32>
  %s = glow.reduce_sum %z axes [2, 3] : (tensor<2x3x5x7xi32>) -> tensor<2x3xi32>
  func.return %y, %s : tensor<2x5x7xi32>, tensor<2x3xi32>
}

// CHECK-NOT: glow.convolution
// CHECK:     func.return

// -----

// Two users of wider numbers: each makes its own, up to the 8 bits. What is made of two values stays.

func.func @main(%x: tensor<1x4xi8>) -> (tensor<1x4xi32>, tensor<1x4xi32>, tensor<1x4xi32>) {
  %w = glow.cast %x : (tensor<1x4xi8>) -> tensor<1x4xi32>
  %c = glow.splat value 3 : tensor<1x4xi32>
  %t = glow.mul %w, %c : (tensor<1x4xi32>, tensor<1x4xi32>) -> tensor<1x4xi32>
  %a = glow.relu %t : (tensor<1x4xi32>) -> tensor<1x4xi32>
  %b = glow.add %a, %t : (tensor<1x4xi32>, tensor<1x4xi32>) -> tensor<1x4xi32>
  func.return %a, %b, %b : tensor<1x4xi32>, tensor<1x4xi32>, tensor<1x4xi32>
}

// CHECK-COUNT-3: glow.cast
// CHECK-NOT:     glow.cast
// CHECK:         [[B:%.*]] = glow.add
// CHECK-NEXT:    func.return {{%.*}}, [[B]], [[B]]
