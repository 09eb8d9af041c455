// RUN: glow-opt %s --sink-transposes --split-input-file | filecheck %s

// A pair around a node cancels.
func.func @cancel(%x: tensor<1x2x3x4xf32>) -> tensor<1x2x3x4xf32> {
  %a = glow.transpose %x permutation [0, 2, 3, 1] : (tensor<1x2x3x4xf32>) -> tensor<1x3x4x2xf32>
  %b = glow.relu %a : (tensor<1x3x4x2xf32>) -> tensor<1x3x4x2xf32>
  %c = glow.transpose %b permutation [0, 3, 1, 2] : (tensor<1x3x4x2xf32>) -> tensor<1x2x3x4xf32>
  func.return %c : tensor<1x2x3x4xf32>
}

// CHECK-LABEL: @cancel(
// CHECK-NEXT:  %b = glow.relu %x : (tensor<1x2x3x4xf32>) -> tensor<1x2x3x4xf32>
// CHECK-NEXT:  func.return %b : tensor<1x2x3x4xf32>

// -----

// Operands transposed alike, a splat, a constant for each channel.
func.func @operands(%x: tensor<2x3xf32>, %y: tensor<2x3xf32>) -> tensor<3x2xf32> {
  %k = glow.constant dense<[[1.0], [2.0], [3.0]]> : tensor<3x1xf32>
  %s = glow.splat value 2.0 : tensor<3x2xf32>
  %b = glow.broadcast %k : (tensor<3x1xf32>) -> tensor<3x2xf32>
  %tx = glow.transpose %x permutation [1, 0] : (tensor<2x3xf32>) -> tensor<3x2xf32>
  %ty = glow.transpose %y permutation [1, 0] : (tensor<2x3xf32>) -> tensor<3x2xf32>
  %a = glow.add %tx, %ty : (tensor<3x2xf32>, tensor<3x2xf32>) -> tensor<3x2xf32>
  %c = glow.mul %a, %s : (tensor<3x2xf32>, tensor<3x2xf32>) -> tensor<3x2xf32>
  %d = glow.add %c, %b : (tensor<3x2xf32>, tensor<3x2xf32>) -> tensor<3x2xf32>
  func.return %d : tensor<3x2xf32>
}

// CHECK-LABEL: @operands(
// CHECK-NEXT:  %k = glow.constant dense<{{\[\[}}1.000000e+00], [2.000000e+00], [3.000000e+00]]> : tensor<3x1xf32>
// CHECK-NEXT:  %a = glow.add %x, %y : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
// CHECK-NEXT:  %c = glow.splat value 2.0 : tensor<2x3xf32>
// CHECK-NEXT:  %c_1 = glow.mul %a, %c : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
// CHECK-NEXT:  %d = glow.reshape %k : (tensor<3x1xf32>) -> tensor<1x3xf32>
// CHECK-NEXT:  %d_1 = glow.broadcast %d : (tensor<1x3xf32>) -> tensor<2x3xf32>
// CHECK-NEXT:  %d_2 = glow.add %c_1, %d_1 : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
// CHECK-NEXT:  %d_3 = glow.transpose %d_2 permutation [1, 0] : (tensor<2x3xf32>) -> tensor<3x2xf32>
// CHECK-NEXT:  func.return %d_3 : tensor<3x2xf32>

// -----

// A constant operand is transposed the other way, which fold-constants does at compile time.
func.func @constant(%x: tensor<2x3xf32>) -> tensor<3x2xf32> {
  %k = glow.constant dense<[[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]> : tensor<3x2xf32>
  %a = glow.transpose %x permutation [1, 0] : (tensor<2x3xf32>) -> tensor<3x2xf32>
  %b = glow.mul %a, %k : (tensor<3x2xf32>, tensor<3x2xf32>) -> tensor<3x2xf32>
  func.return %b : tensor<3x2xf32>
}

// CHECK-LABEL: @constant(
// CHECK-NEXT:  %k = glow.constant dense<{{\[\[}}1.000000e+00, 2.000000e+00], [3.000000e+00, 4.000000e+00], [5.000000e+00, 6.000000e+00]]> : tensor<3x2xf32>
// CHECK-NEXT:  %b = glow.transpose %k permutation [1, 0] : (tensor<3x2xf32>) -> tensor<2x3xf32>
// CHECK-NEXT:  %b_1 = glow.mul %x, %b : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
// CHECK-NEXT:  %b_2 = glow.transpose %b_1 permutation [1, 0] : (tensor<2x3xf32>) -> tensor<3x2xf32>
// CHECK-NEXT:  func.return %b_2 : tensor<3x2xf32>

// -----

// Not below a node with an operand that is not transposed, and not if another node needs the transpose.
func.func @stay(%x: tensor<2x3xf32>, %y: tensor<3x2xf32>) -> (tensor<3x2xf32>, tensor<3x2xf32>, tensor<3x2xf32>) {
  %a = glow.transpose %x permutation [1, 0] : (tensor<2x3xf32>) -> tensor<3x2xf32>
  %b = glow.add %a, %y : (tensor<3x2xf32>, tensor<3x2xf32>) -> tensor<3x2xf32>
  %c = glow.transpose %x permutation [1, 0] : (tensor<2x3xf32>) -> tensor<3x2xf32>
  %d = glow.relu %c : (tensor<3x2xf32>) -> tensor<3x2xf32>
  func.return %b, %c, %d : tensor<3x2xf32>, tensor<3x2xf32>, tensor<3x2xf32>
}

// CHECK-LABEL: @stay(
// CHECK-NEXT:  %a = glow.transpose %x permutation [1, 0] : (tensor<2x3xf32>) -> tensor<3x2xf32>
// CHECK-NEXT:  %b = glow.add %a, %y : (tensor<3x2xf32>, tensor<3x2xf32>) -> tensor<3x2xf32>
// CHECK-NEXT:  %c = glow.transpose %x permutation [1, 0] : (tensor<2x3xf32>) -> tensor<3x2xf32>
// CHECK-NEXT:  %d = glow.relu %c : (tensor<3x2xf32>) -> tensor<3x2xf32>
// CHECK-NEXT:  func.return %b, %c, %d : tensor<3x2xf32>, tensor<3x2xf32>, tensor<3x2xf32>

// -----

// Axes are renamed on the way.
func.func @axes(%x: tensor<2x3x4xf32>) -> tensor<6x2xf32> {
  %a = glow.transpose %x permutation [2, 0, 1] : (tensor<2x3x4xf32>) -> tensor<4x2x3xf32>
  %b = glow.softmax %a axis 0 : (tensor<4x2x3xf32>) -> tensor<4x2x3xf32>
  %c = glow.pad %b low [2, 0, 0] high [0, 1, 0] value 1.0 : (tensor<4x2x3xf32>) -> tensor<6x3x3xf32>
  %d = glow.slice %c starts [0, 0, 2] sizes [6, 3, 2] strides [1, 1, -1] : (tensor<6x3x3xf32>) -> tensor<6x3x2xf32>
  %e = glow.reduce_sum %d axes [1] : (tensor<6x3x2xf32>) -> tensor<6x2xf32>
  func.return %e : tensor<6x2xf32>
}

// CHECK-LABEL: @axes(
// CHECK-NEXT:  %b = glow.softmax %x axis 2 : (tensor<2x3x4xf32>) -> tensor<2x3x4xf32>
// CHECK-NEXT:  %c = glow.pad %b low [0, 0, 2] high [1, 0, 0] value 1.0 : (tensor<2x3x4xf32>) -> tensor<3x3x6xf32>
// CHECK-NEXT:  %d = glow.slice %c starts [0, 2, 0] sizes [3, 2, 6] strides [1, -1, 1] : (tensor<3x3x6xf32>) -> tensor<3x2x6xf32>
// CHECK-NEXT:  %e = glow.reduce_sum %d axes [0] : (tensor<3x2x6xf32>) -> tensor<2x6xf32>
// CHECK-NEXT:  %e_1 = glow.transpose %e permutation [1, 0] : (tensor<2x6xf32>) -> tensor<6x2xf32>
// CHECK-NEXT:  func.return %e_1 : tensor<6x2xf32>

// -----

// Concatenation of tensors that are all transposed.
func.func @concat(%x: tensor<2x3xf32>, %y: tensor<1x3xf32>) -> tensor<3x3xf32> {
  %a = glow.transpose %x permutation [1, 0] : (tensor<2x3xf32>) -> tensor<3x2xf32>
  %b = glow.transpose %y permutation [1, 0] : (tensor<1x3xf32>) -> tensor<3x1xf32>
  %c = glow.concat %a, %b axis 1 : (tensor<3x2xf32>, tensor<3x1xf32>) -> tensor<3x3xf32>
  func.return %c : tensor<3x3xf32>
}

// CHECK-LABEL: @concat(
// CHECK-NEXT:  %c = glow.concat %x, %y axis 0 : (tensor<2x3xf32>, tensor<1x3xf32>) -> tensor<3x3xf32>
// CHECK-NEXT:  %c_1 = glow.transpose %c permutation [1, 0] : (tensor<3x3xf32>) -> tensor<3x3xf32>
// CHECK-NEXT:  func.return %c_1 : tensor<3x3xf32>

// -----

// A matrix product reads transposed matrices; swapped batches it does not.
func.func @matmul(%x: tensor<2x4x3xf32>, %y: tensor<4x2x5xf32>) -> tensor<2x3x5xf32> {
  %a = glow.transpose %x permutation [0, 2, 1] : (tensor<2x4x3xf32>) -> tensor<2x3x4xf32>
  %b = glow.transpose %y permutation [1, 0, 2] : (tensor<4x2x5xf32>) -> tensor<2x4x5xf32>
  %c = glow.matmul %a, %b : (tensor<2x3x4xf32>, tensor<2x4x5xf32>) -> tensor<2x3x5xf32>
  func.return %c : tensor<2x3x5xf32>
}

// CHECK-LABEL: @matmul(
// CHECK-NEXT:  %b = glow.transpose %y permutation [1, 0, 2] : (tensor<4x2x5xf32>) -> tensor<2x4x5xf32>
// CHECK-NEXT:  %c = glow.matmul %x, %b transpose_lhs true : (tensor<2x4x3xf32>, tensor<2x4x5xf32>) -> tensor<2x3x5xf32>
// CHECK-NEXT:  func.return %c : tensor<2x3x5xf32>

// -----

// Two that meet are one; one that moves only dimensions of size 1 is a reshape.
func.func @merge(%x: tensor<2x3x4xf32>, %y: tensor<1x3x4xf32>) -> (tensor<3x2x4xf32>, tensor<3x1x4xf32>) {
  %a = glow.transpose %x permutation [2, 0, 1] : (tensor<2x3x4xf32>) -> tensor<4x2x3xf32>
  %b = glow.transpose %a permutation [2, 1, 0] : (tensor<4x2x3xf32>) -> tensor<3x2x4xf32>
  %c = glow.transpose %y permutation [1, 0, 2] : (tensor<1x3x4xf32>) -> tensor<3x1x4xf32>
  func.return %b, %c : tensor<3x2x4xf32>, tensor<3x1x4xf32>
}

// CHECK-LABEL: @merge(
// CHECK-NEXT:  %b = glow.transpose %x permutation [1, 0, 2] : (tensor<2x3x4xf32>) -> tensor<3x2x4xf32>
// CHECK-NEXT:  %c = glow.reshape %y : (tensor<1x3x4xf32>) -> tensor<3x1x4xf32>
// CHECK-NEXT:  func.return %b, %c : tensor<3x2x4xf32>, tensor<3x1x4xf32>

// -----

// A formula reads what is transposed with its indices in another order, unless it asks for sizes.
func.func @formula(%x: tensor<2x3x4xf32>, %y: tensor<2x5xf32>) -> (tensor<4x5xf32>, tensor<5xf32>) {
  %a = glow.transpose %x {permutation = array<i64: 2, 0, 1>} : (tensor<2x3x4xf32>) -> tensor<4x2x3xf32>
  %b = glow.generic %a, %y formula "y[i, j] = sum(k, l) a[i, k, l] * w[k, j]" : (tensor<4x2x3xf32>, tensor<2x5xf32>) -> tensor<4x5xf32>
  %c = glow.transpose %y {permutation = array<i64: 1, 0>} : (tensor<2x5xf32>) -> tensor<5x2xf32>
  %d = glow.generic %c formula "y[i] = c[i, size(c, 1) - 1]" : (tensor<5x2xf32>) -> tensor<5xf32>
  func.return %b, %d : tensor<4x5xf32>, tensor<5xf32>
}

// CHECK-LABEL: @formula(
// CHECK-NEXT:  %b = glow.generic %x, %y formula "y[i, j] = sum(k, l) a[k, l, i] * w[k, j]" : (tensor<2x3x4xf32>, tensor<2x5xf32>) -> tensor<4x5xf32>
// CHECK-NEXT:  %c = glow.transpose %y
// CHECK-NEXT:  %d = glow.generic %c formula "y[i] = c[i, size(c, 1) - 1]"
// CHECK-NEXT:  func.return %b, %d

// -----

// It does not where vectors of channels would have to gather their elements, unless it reads few.
func.func @strided(%x: tensor<64x30x30xf32>, %n: tensor<20xi64>) -> (tensor<28x28x64xf32>, tensor<20x64xf32>) {
  %a = glow.transpose %x permutation [1, 2, 0] : (tensor<64x30x30xf32>) -> tensor<30x30x64xf32>
  %b = glow.generic %a formula "y[h, w, c] = max(i < 3, j < 3) a[h + i, w + j, c]" : (tensor<30x30x64xf32>) -> tensor<28x28x64xf32>
  %c = glow.generic %a, %n formula "y[i, c] = a[0, clamp(n[i], 0, 29), c]" : (tensor<30x30x64xf32>, tensor<20xi64>) -> tensor<20x64xf32>
  func.return %b, %c : tensor<28x28x64xf32>, tensor<20x64xf32>
}

// CHECK-LABEL: @strided(
// CHECK-NEXT:  %a = glow.transpose %x
// CHECK-NEXT:  %b = glow.generic %a formula "y[h, w, c] = max(i < 3, j < 3) a[h + i, w + j, c]"
// CHECK-NEXT:  %c = glow.generic %x, %n formula "y[i, c] = a[c, 0, clamp(n[i], 0, 29)]"

// -----

// A transpose of bytes stays above their storage as numbers with a scale for each index.
func.func @scale_of_each_index(%x: tensor<2x3xi8>) -> tensor<3x2xf32> {
  %t = glow.transpose %x permutation [1, 0] : (tensor<2x3xi8>) -> tensor<3x2xi8>
  %s = glow.storage_cast %t : (tensor<3x2xi8>) -> tensor<3x2x!quant.uniform<i8:f32:0, {0.5, 0.25, 0.125}>>
  %y = glow.dequantize %s : (tensor<3x2x!quant.uniform<i8:f32:0, {0.5, 0.25, 0.125}>>) -> tensor<3x2xf32>
  func.return %y : tensor<3x2xf32>
}

// CHECK-LABEL: @scale_of_each_index(
// CHECK-NEXT:  %t = glow.transpose %x
// CHECK-NEXT:  %s = glow.storage_cast %t
// CHECK-NEXT:  %y = glow.dequantize %s
