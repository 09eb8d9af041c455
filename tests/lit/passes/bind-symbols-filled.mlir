// RUN: glow-opt %s --bind-symbols="symbols=n sizes=3" --fold-constants | filecheck %s
// RUN: glow-opt %s --fold-constants | filecheck %s --check-prefix=NONE
// RUN: glow-opt %s --bind-symbols="symbols=m sizes=4" | filecheck %s --check-prefix=PART
// RUN: not glow-opt %s --bind-symbols="symbols=n sizes=0" 2>&1 | filecheck %s --check-prefix=RANGE

// Tensors whose elements follow from no operand have symbolic sizes, too.

// CHECK-LABEL: func.func @main(%x: tensor<3xi64>)
// CHECK-NEXT: glow.constant dense<[5, 7, 9]> : tensor<3xi64>
// CHECK-NEXT: glow.mul

// NONE: glow.splat value 5 : tensor<?xi64, #glow.dims<n>>
// NONE: glow.generic formula "y[i] = 2 * i"

// RANGE: symbol 'n' is 0: expected a size from 1
func.func @main(%x: tensor<?xi64, #glow.dims<n>>) -> tensor<?xi64, #glow.dims<n>> {
  %five = glow.splat value 5 : tensor<?xi64, #glow.dims<n>>
  %even = glow.generic formula "y[i] = 2 * i" : () -> tensor<?xi64, #glow.dims<n>>
  %a = glow.add %five, %even : (tensor<?xi64, #glow.dims<n>>, tensor<?xi64, #glow.dims<n>>) -> tensor<?xi64, #glow.dims<n>>
  %y = glow.mul %a, %x : (tensor<?xi64, #glow.dims<n>>, tensor<?xi64, #glow.dims<n>>) -> tensor<?xi64, #glow.dims<n>>
  func.return %y : tensor<?xi64, #glow.dims<n>>
}

// Integers that depend on symbols become constants when none is left.

// CHECK-LABEL: func.func @sizes
// CHECK-NEXT: glow.constant dense<{{\[\[}}3], [7]]> : tensor<2x1xi32>
// CHECK-NEXT: glow.sizes values [3, m + 1] : tensor<2xi64>

// NONE-LABEL: func.func @sizes
// NONE-NEXT: glow.sizes values [n, 2 * n + 1] : tensor<2x1xi32>

// PART-LABEL: func.func @sizes
// PART: glow.sizes values [n, 5] : tensor<2xi64>
func.func @sizes(%x: tensor<?x?xf32, #glow.dims<n, m>>) -> (tensor<2x1xi32>, tensor<2xi64>) {
  %a = glow.sizes values [n, 2 * n + 1] : tensor<2x1xi32>
  %b = glow.sizes values [n, m + 1] : tensor<2xi64>
  func.return %a, %b : tensor<2x1xi32>, tensor<2xi64>
}
