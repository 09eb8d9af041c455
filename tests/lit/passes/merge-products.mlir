// RUN: glow-opt %s --merge-products --split-input-file | filecheck %s

// Products of the same input become one, and biases with them; slices of columns take their places.
func.func @biases(%x: tensor<3x4xf32>) -> tensor<2x3x3xf32> {
  %wk = glow.constant dense<0.5> : tensor<4x6xf32>
  %wv = glow.constant dense<0.25> : tensor<4x3xf32>
  %bk = glow.constant dense<[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]> : tensor<6xf32>
  %bv = glow.constant dense<[7.0, 8.0, 9.0]> : tensor<3xf32>
  %k = glow.matmul %x, %wk : (tensor<3x4xf32>, tensor<4x6xf32>) -> tensor<3x6xf32>
  %v = glow.matmul %x, %wv : (tensor<3x4xf32>, tensor<4x3xf32>) -> tensor<3x3xf32>
  %rk = glow.broadcast %bk : (tensor<6xf32>) -> tensor<3x6xf32>
  %rv = glow.broadcast %bv : (tensor<3xf32>) -> tensor<3x3xf32>
  %key = glow.add %k, %rk : (tensor<3x6xf32>, tensor<3x6xf32>) -> tensor<3x6xf32>
  %value = glow.add %v, %rv : (tensor<3x3xf32>, tensor<3x3xf32>) -> tensor<3x3xf32>
  %heads = glow.reshape %key : (tensor<3x6xf32>) -> tensor<3x2x3xf32>
  %turned = glow.transpose %heads permutation [1, 0, 2] : (tensor<3x2x3xf32>) -> tensor<2x3x3xf32>
  %one = glow.reshape %value : (tensor<3x3xf32>) -> tensor<1x3x3xf32>
  %both = glow.concat %one, %one axis 0 : (tensor<1x3x3xf32>, tensor<1x3x3xf32>) -> tensor<2x3x3xf32>
  %y = glow.matmul %turned, %both : (tensor<2x3x3xf32>, tensor<2x3x3xf32>) -> tensor<2x3x3xf32>
  func.return %y : tensor<2x3x3xf32>
}

// CHECK-LABEL: @biases(
// CHECK-NEXT:  %[[W:.*]] = glow.constant {{.*}} : tensor<4x9xf32>
// CHECK-NEXT:  %[[P:.*]] = glow.matmul %x, %[[W]] : (tensor<3x4xf32>, tensor<4x9xf32>) -> tensor<3x9xf32>
// CHECK-NEXT:  %[[B:.*]] = glow.constant dense<[1.000000e+00, 2.000000e+00, 3.000000e+00, 4.000000e+00, 5.000000e+00, 6.000000e+00, 7.000000e+00, 8.000000e+00, 9.000000e+00]> : tensor<9xf32>
// CHECK-NEXT:  %[[R:.*]] = glow.broadcast %[[B]] : (tensor<9xf32>) -> tensor<3x9xf32>
// CHECK-NEXT:  %[[S:.*]] = glow.add %[[P]], %[[R]] : (tensor<3x9xf32>, tensor<3x9xf32>) -> tensor<3x9xf32>
// CHECK-NEXT:  %key = glow.slice %[[S]] sizes [3, 6] : (tensor<3x9xf32>) -> tensor<3x6xf32>
// CHECK-NEXT:  %value = glow.slice %[[S]] starts [0, 6] sizes [3, 3] : (tensor<3x9xf32>) -> tensor<3x3xf32>

// -----

// Different operators follow: one of them would be no epilogue of a product any more.
func.func @epilogues(%x: tensor<3x4xf32>) -> tensor<3x3xf32> {
  %wg = glow.constant dense<0.5> : tensor<4x3xf32>
  %wu = glow.constant dense<0.25> : tensor<4x3xf32>
  %g = glow.matmul %x, %wg : (tensor<3x4xf32>, tensor<4x3xf32>) -> tensor<3x3xf32>
  %u = glow.matmul %x, %wu : (tensor<3x4xf32>, tensor<4x3xf32>) -> tensor<3x3xf32>
  %a = glow.gelu %g : (tensor<3x3xf32>) -> tensor<3x3xf32>
  %y = glow.mul %a, %u : (tensor<3x3xf32>, tensor<3x3xf32>) -> tensor<3x3xf32>
  %z = glow.softmax %y axis 1 : (tensor<3x3xf32>) -> tensor<3x3xf32>
  func.return %z : tensor<3x3xf32>
}

// CHECK-LABEL: @epilogues(
// CHECK:       %g = glow.matmul %x, %wg
// CHECK-NEXT:  %u = glow.matmul %x, %wu

// -----

// The caller wants matrices of their own, and a reshape joins rows and columns.
func.func @copies(%x: tensor<3x4xf32>) -> (tensor<3x3xf32>, tensor<1x9xf32>) {
  %wk = glow.constant dense<0.5> : tensor<4x3xf32>
  %wv = glow.constant dense<0.25> : tensor<4x3xf32>
  %k = glow.matmul %x, %wk : (tensor<3x4xf32>, tensor<4x3xf32>) -> tensor<3x3xf32>
  %v = glow.matmul %x, %wv : (tensor<3x4xf32>, tensor<4x3xf32>) -> tensor<3x3xf32>
  %flat = glow.reshape %v : (tensor<3x3xf32>) -> tensor<1x9xf32>
  %y = glow.softmax %flat axis 1 : (tensor<1x9xf32>) -> tensor<1x9xf32>
  func.return %k, %y : tensor<3x3xf32>, tensor<1x9xf32>
}

// CHECK-LABEL: @copies(
// CHECK:       %k = glow.matmul %x, %wk
// CHECK-NEXT:  %v = glow.matmul %x, %wv

// -----

// The start of a product is little beside so many rows.
func.func @large(%x: tensor<512x512xf32>) -> tensor<512x512xf32> {
  %wk = glow.constant dense<0.5> : tensor<512x512xf32>
  %wv = glow.constant dense<0.25> : tensor<512x512xf32>
  %k = glow.matmul %x, %wk : (tensor<512x512xf32>, tensor<512x512xf32>) -> tensor<512x512xf32>
  %v = glow.matmul %x, %wv : (tensor<512x512xf32>, tensor<512x512xf32>) -> tensor<512x512xf32>
  %y = glow.matmul %k, %v transpose_rhs true : (tensor<512x512xf32>, tensor<512x512xf32>) -> tensor<512x512xf32>
  func.return %y : tensor<512x512xf32>
}

// CHECK-LABEL: @large(
// CHECK:       %k = glow.matmul %x, %wk
// CHECK-NEXT:  %v = glow.matmul %x, %wv

// -----

// Rows are as many as a symbol says.
func.func @symbols(%x: tensor<?x4xf32, #glow.dims<n>>) -> tensor<?x?xf32, #glow.dims<n, n>> {
  %wk = glow.constant dense<0.5> : tensor<4x3xf32>
  %wv = glow.constant dense<0.25> : tensor<4x3xf32>
  %k = glow.matmul %x, %wk : (tensor<?x4xf32, #glow.dims<n>>, tensor<4x3xf32>) -> tensor<?x3xf32, #glow.dims<n>>
  %v = glow.matmul %x, %wv : (tensor<?x4xf32, #glow.dims<n>>, tensor<4x3xf32>) -> tensor<?x3xf32, #glow.dims<n>>
  %y = glow.matmul %k, %v transpose_rhs true : (tensor<?x3xf32, #glow.dims<n>>, tensor<?x3xf32, #glow.dims<n>>) -> tensor<?x?xf32, #glow.dims<n, n>>
  func.return %y : tensor<?x?xf32, #glow.dims<n, n>>
}

// CHECK-LABEL: @symbols(
// CHECK:       %k = glow.matmul %x, %wk
// CHECK-NEXT:  %v = glow.matmul %x, %wv

// -----

// With many rows, products are alike with and without a merge, and stay apart.
func.func @main(%x: tensor<4096x256xf32>) -> tensor<4096x512xf32> {
  %wa = glow.constant dense<0.5> : tensor<256x256xf32>
  %wb = glow.constant dense<0.25> : tensor<256x256xf32>
  %a = glow.matmul %x, %wa : (tensor<4096x256xf32>, tensor<256x256xf32>) -> tensor<4096x256xf32>
  %b = glow.matmul %x, %wb : (tensor<4096x256xf32>, tensor<256x256xf32>) -> tensor<4096x256xf32>
  %y = glow.concat %b, %a axis 1 : (tensor<4096x256xf32>, tensor<4096x256xf32>) -> tensor<4096x512xf32>
  func.return %y : tensor<4096x512xf32>
}

// CHECK-LABEL: @main(
// CHECK-COUNT-2: glow.matmul

// -----

// A call of a program for any number of rows may have few of them.
func.func @main(%x: tensor<4096x256xf32> {glow.name = "x", glow.rows = array<i64: 0>}, %n: tensor<i64> {glow.name = "n", glow.row_count}) -> tensor<4096x512xf32> {
  %wa = glow.constant dense<0.5> : tensor<256x256xf32>
  %wb = glow.constant dense<0.25> : tensor<256x256xf32>
  %a = glow.matmul %x, %wa : (tensor<4096x256xf32>, tensor<256x256xf32>) -> tensor<4096x256xf32>
  %b = glow.matmul %x, %wb : (tensor<4096x256xf32>, tensor<256x256xf32>) -> tensor<4096x256xf32>
  %y = glow.concat %b, %a axis 1 : (tensor<4096x256xf32>, tensor<4096x256xf32>) -> tensor<4096x512xf32>
  func.return %y : tensor<4096x512xf32>
}

// CHECK-LABEL: @main(
// CHECK:       glow.matmul {{.*}} -> tensor<4096x512xf32>
// CHECK-NOT:   glow.matmul
