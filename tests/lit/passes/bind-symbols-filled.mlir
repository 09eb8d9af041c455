// RUN: glow-opt %s --bind-symbols="symbols=n sizes=3" --fold-constants | filecheck %s
// RUN: glow-opt %s --fold-constants | filecheck %s --check-prefix=NONE
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
