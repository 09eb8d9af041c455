// RUN: glow-opt %s --sink-transposes --split-input-file | filecheck %s

// The transposed value has two users that both end before the inverse transpose: a residual block of a network for
// channels-last layouts.
func.func @residual(%x: tensor<1x2x5x7xf32>) -> tensor<1x2x5x7xf32> {
  %a = glow.transpose %x permutation [0, 2, 3, 1] : (tensor<1x2x5x7xf32>) -> tensor<1x5x7x2xf32>
  %b = glow.sigmoid %a : (tensor<1x5x7x2xf32>) -> tensor<1x5x7x2xf32>
  %c = glow.mul %a, %b : (tensor<1x5x7x2xf32>, tensor<1x5x7x2xf32>) -> tensor<1x5x7x2xf32>
  %d = glow.transpose %c permutation [0, 3, 1, 2] : (tensor<1x5x7x2xf32>) -> tensor<1x2x5x7xf32>
  func.return %d : tensor<1x2x5x7xf32>
}

// CHECK-LABEL: @residual(
// CHECK-NEXT:  %b = glow.sigmoid %x : (tensor<1x2x5x7xf32>) -> tensor<1x2x5x7xf32>
// CHECK-NEXT:  %c = glow.mul %x, %b : (tensor<1x2x5x7xf32>, tensor<1x2x5x7xf32>) -> tensor<1x2x5x7xf32>
// CHECK-NEXT:  func.return %c : tensor<1x2x5x7xf32>

// -----

// A gate of one number for each channel, from a mean over pixels; a border of zeros; a concatenation of channels.
func.func @gate(%x: tensor<1x2x5x7xf32>) -> tensor<1x4x6x7xf32> {
  %a = glow.transpose %x permutation [0, 2, 3, 1] : (tensor<1x2x5x7xf32>) -> tensor<1x5x7x2xf32>
  %m = glow.reduce_mean %a axes [1, 2] keep_dims true : (tensor<1x5x7x2xf32>) -> tensor<1x1x1x2xf32>
  %b = glow.broadcast %m : (tensor<1x1x1x2xf32>) -> tensor<1x5x7x2xf32>
  %c = glow.mul %a, %b : (tensor<1x5x7x2xf32>, tensor<1x5x7x2xf32>) -> tensor<1x5x7x2xf32>
  %d = glow.concat %a, %c axis 3 : (tensor<1x5x7x2xf32>, tensor<1x5x7x2xf32>) -> tensor<1x5x7x4xf32>
  %e = glow.pad %d high [0, 1, 0, 0] value 0 : (tensor<1x5x7x4xf32>) -> tensor<1x6x7x4xf32>
  %f = glow.transpose %e permutation [0, 3, 1, 2] : (tensor<1x6x7x4xf32>) -> tensor<1x4x6x7xf32>
  func.return %f : tensor<1x4x6x7xf32>
}

// CHECK-LABEL: @gate(
// CHECK-NOT:   glow.transpose
// CHECK:       glow.reduce_mean %x axes [2, 3] keep_dims true
// CHECK-NOT:   glow.transpose
// CHECK:       glow.concat %x, %{{.*}} axis 1
// CHECK-NOT:   glow.transpose
// CHECK:       glow.pad %{{.*}} high [0, 0, 1, 0] value 0
// CHECK-NEXT:  func.return

// -----

// One user needs the order after the transpose. The other one is computed before it, which saves a transpose.
func.func @part(%x: tensor<1x2x5x7xf32>) -> (tensor<1x2x5x7xf32>, tensor<1x5x14xf32>) {
  %a = glow.transpose %x permutation [0, 2, 3, 1] : (tensor<1x2x5x7xf32>) -> tensor<1x5x7x2xf32>
  %b = glow.relu %a : (tensor<1x5x7x2xf32>) -> tensor<1x5x7x2xf32>
  %c = glow.transpose %b permutation [0, 3, 1, 2] : (tensor<1x5x7x2xf32>) -> tensor<1x2x5x7xf32>
  %d = glow.reshape %a : (tensor<1x5x7x2xf32>) -> tensor<1x5x14xf32>
  func.return %c, %d : tensor<1x2x5x7xf32>, tensor<1x5x14xf32>
}

// CHECK-LABEL: @part(
// CHECK-NEXT:  %a = glow.transpose %x permutation [0, 2, 3, 1]
// CHECK-NEXT:  %b = glow.relu %x :
// CHECK-NEXT:  %d = glow.reshape %a
// CHECK-NEXT:  func.return %b, %d

// -----

// Here both users need the order after the transpose, so a node between them stays as it is.
func.func @neither(%x: tensor<1x2x5x7xf32>) -> (tensor<5x14xf32>, tensor<5x14xf32>) {
  %a = glow.transpose %x permutation [0, 2, 3, 1] : (tensor<1x2x5x7xf32>) -> tensor<1x5x7x2xf32>
  %b = glow.relu %a : (tensor<1x5x7x2xf32>) -> tensor<1x5x7x2xf32>
  %c = glow.reshape %b : (tensor<1x5x7x2xf32>) -> tensor<5x14xf32>
  %d = glow.reshape %a : (tensor<1x5x7x2xf32>) -> tensor<5x14xf32>
  func.return %c, %d : tensor<5x14xf32>, tensor<5x14xf32>
}

// CHECK-LABEL: @neither(
// CHECK-NEXT:  %a = glow.transpose %x permutation [0, 2, 3, 1]
// CHECK-NEXT:  %b = glow.relu %a :
// CHECK-NEXT:  %c = glow.reshape %b
// CHECK-NEXT:  %d = glow.reshape %a
// CHECK-NEXT:  func.return %c, %d

// -----

// A small operand that is not transposed is transposed, where that saves two large transposes.
func.func @other_operand(%x: tensor<1x2x5x7xf32>, %y: tensor<5x1x2xf32>) -> tensor<1x2x5x7xf32> {
  %a = glow.transpose %x permutation [0, 2, 3, 1] : (tensor<1x2x5x7xf32>) -> tensor<1x5x7x2xf32>
  %b = glow.broadcast %y : (tensor<5x1x2xf32>) -> tensor<1x5x7x2xf32>
  %c = glow.add %a, %b : (tensor<1x5x7x2xf32>, tensor<1x5x7x2xf32>) -> tensor<1x5x7x2xf32>
  %d = glow.transpose %c permutation [0, 3, 1, 2] : (tensor<1x5x7x2xf32>) -> tensor<1x2x5x7xf32>
  func.return %d : tensor<1x2x5x7xf32>
}

// CHECK-LABEL: @other_operand(
// CHECK:       glow.transpose %{{.*}} permutation [0, 3, 1, 2] : (tensor<1x5x1x2xf32>) -> tensor<1x2x5x1xf32>
// CHECK-NEXT:  glow.broadcast
// CHECK-NEXT:  %[[SUM:.*]] = glow.add %x,
// CHECK-NEXT:  func.return %[[SUM]]

// -----

// Bytes are transposed rather than the real numbers that they become: behind the function, where they are bytes again.
func.func @bytes(%x: tensor<2x30x40x!quant.uniform<u8:f32, 0.1:3>>) -> tensor<2x40x30x!quant.uniform<u8:f32, 0.2:3>> {
  %a = glow.dequantize %x : (tensor<2x30x40x!quant.uniform<u8:f32, 0.1:3>>) -> tensor<2x30x40xf32>
  %b = glow.transpose %a permutation [0, 2, 1] : (tensor<2x30x40xf32>) -> tensor<2x40x30xf32>
  %c = glow.erf %b : (tensor<2x40x30xf32>) -> tensor<2x40x30xf32>
  %d = glow.mul %b, %c : (tensor<2x40x30xf32>, tensor<2x40x30xf32>) -> tensor<2x40x30xf32>
  %e = glow.quantize %d : (tensor<2x40x30xf32>) -> tensor<2x40x30x!quant.uniform<u8:f32, 0.2:3>>
  func.return %e : tensor<2x40x30x!quant.uniform<u8:f32, 0.2:3>>
}

// CHECK-LABEL: @bytes(
// CHECK:       [[E:%.*]] = glow.quantize {{.*}} -> tensor<2x30x40x!quant.uniform<u8:f32, 0.2:3>>
// CHECK-NEXT:  [[T:%.*]] = glow.transpose [[E]] permutation [0, 2, 1] {{.*}} -> tensor<2x40x30x!quant.uniform<u8:f32, 0.2:3>>
// CHECK-NEXT:  func.return [[T]]

// -----

// Not below a dequantization, whose result has four times the bytes; below a quantization it is one byte of four.
func.func @widths(%x: tensor<2x30x40x!quant.uniform<u8:f32, 0.1:3>>, %y: tensor<2x30x40xf32>) -> (tensor<2x40x30xf32>, tensor<2x40x30x!quant.uniform<u8:f32, 0.2:3>>) {
  %a = glow.transpose %x permutation [0, 2, 1] : (tensor<2x30x40x!quant.uniform<u8:f32, 0.1:3>>) -> tensor<2x40x30x!quant.uniform<u8:f32, 0.1:3>>
  %b = glow.dequantize %a : (tensor<2x40x30x!quant.uniform<u8:f32, 0.1:3>>) -> tensor<2x40x30xf32>
  %c = glow.transpose %y permutation [0, 2, 1] : (tensor<2x30x40xf32>) -> tensor<2x40x30xf32>
  %d = glow.quantize %c : (tensor<2x40x30xf32>) -> tensor<2x40x30x!quant.uniform<u8:f32, 0.2:3>>
  func.return %b, %d : tensor<2x40x30xf32>, tensor<2x40x30x!quant.uniform<u8:f32, 0.2:3>>
}

// CHECK-LABEL: @widths(
// CHECK-NEXT:  %a = glow.transpose %x permutation [0, 2, 1]
// CHECK-NEXT:  %b = glow.dequantize %a
// CHECK-NEXT:  [[Q:%.*]] = glow.quantize %y
// CHECK-NEXT:  glow.transpose [[Q]] permutation [0, 2, 1]
