// RUN: glow-opt %s --split-input-file --verify-diagnostics | filecheck %s

// Each error shows the formula with a caret below the place.

func.func @f(%x: tensor<3x4xf32>) -> tensor<3x4xf32> {
  %r = glow.generic %x formula "y[b, i] = sum(k) x[b, k) * x[i, k]" : (tensor<3x4xf32>) -> tensor<3x4xf32>
  func.return %r : tensor<3x4xf32>
}

// CHECK: op (%r): expected ']', found ')'
// CHECK-NEXT: y[b, i] = sum(k) x[b, k) * x[i, k]
// CHECK-NEXT: ^

// -----

func.func @f(%x: tensor<3x4xf32>) -> tensor<3x4xf32> {
  %r = glow.generic %x formula "y[b, i] = sum(k) x[b, k // 2] + x[b, i]" : (tensor<3x4xf32>) -> tensor<3x4xf32>
  func.return %r : tensor<3x4xf32>
}

// CHECK: op (%r): the range of index k is not known, because it stands nowhere by itself: add 'for k < size'
// CHECK-NEXT: y[b, i] = sum(k) x[b, k // 2] + x[b, i]
// CHECK-NEXT: ^

// -----

func.func @f(%x: tensor<3x4xf32>) -> tensor<3xf32> {
  %r = glow.generic %x formula "y[b] = x[b, k]" : (tensor<3x4xf32>) -> tensor<3xf32>
  func.return %r : tensor<3xf32>
}

// CHECK: op (%r): k is neither an index nor a known number
// CHECK-NEXT: y[b] = x[b, k]
// CHECK-NEXT: ^

// -----

func.func @f(%x: tensor<3x4xf32>) -> tensor<3x4xf32> {
  %r = glow.generic %x formula "y[b, k] = x[b, k] * alpha" : (tensor<3x4xf32>) -> tensor<3x4xf32>
  func.return %r : tensor<3x4xf32>
}

// CHECK: op (%r): alpha is neither an index nor a known number
// CHECK-NEXT: y[b, k] = x[b, k] * alpha
// CHECK-NEXT: ^

// -----

func.func @f(%x: tensor<3x4xf32>) -> tensor<3xf32> {
  %r = glow.generic %x formula "y[b] = x[b, 4]" : (tensor<3x4xf32>) -> tensor<3xf32>
  func.return %r : tensor<3xf32>
}

// CHECK: op (%r): the index of dimension 1 of x, which has 4 elements, goes from 4 to 4; clamp it, or say '| outside: 0'
// CHECK-NEXT: y[b] = x[b, 4]
// CHECK-NEXT: ^

// -----

func.func @f(%x: tensor<3x4xf32>) -> tensor<3xf32> {
  %r = glow.generic %x formula "y[b] = sum(k < 5) x[b, k]" : (tensor<3x4xf32>) -> tensor<3xf32>
  func.return %r : tensor<3xf32>
}

// CHECK: op (%r): the index of dimension 1 of x, which has 4 elements, goes from 0 to 4; clamp it, or say '| outside: 0'
// CHECK-NEXT: y[b] = sum(k < 5) x[b, k]
// CHECK-NEXT: ^

// -----

func.func @f(%x: tensor<3x4xf32>) -> tensor<3xf32> {
  %r = glow.generic %x formula "y[b] = max(k < 0) x[b, k]" : (tensor<3x4xf32>) -> tensor<3xf32>
  func.return %r : tensor<3xf32>
}

// CHECK: op (%r): the max over nothing has no value
// CHECK-NEXT: y[b] = max(k < 0) x[b, k]
// CHECK-NEXT: ^

// -----

func.func @f(%x: tensor<3x4xf32>) -> tensor<3xf32> {
  %r = glow.generic %x formula "y[b] = mean(k) x[b, k]" : (tensor<3x4xf32>) -> tensor<3xf32>
  func.return %r : tensor<3xf32>
}

// CHECK: op (%r): expected an operator (mean is no reduction: sum, prod, max and min are), found 'x'
// CHECK-NEXT: y[b] = mean(k) x[b, k]
// CHECK-NEXT: ^

// -----

func.func @f(%x: tensor<3x4xf32>) -> tensor<3xf32> {
  %r = glow.generic %x formula "y[b] = sum(k) (x[b, k] > 0)" : (tensor<3x4xf32>) -> tensor<3xf32>
  func.return %r : tensor<3xf32>
}

// CHECK: op (%r): sum of conditions: choose numbers, as with (1 if ... else 0)
// CHECK-NEXT: y[b] = sum(k) (x[b, k] > 0)
// CHECK-NEXT: ^

// -----

func.func @f(%x: tensor<3x4xf32>) -> tensor<3xf32> {
  %r = glow.generic %x formula "y[b] = x[b]" : (tensor<3x4xf32>) -> tensor<3xf32>
  func.return %r : tensor<3xf32>
}

// CHECK: op (%r): expected 2 indices of x, found 1
// CHECK-NEXT: y[b] = x[b]
// CHECK-NEXT: ^

// -----

func.func @f(%x: tensor<3x4xf32>) -> tensor<3x4xf32> {
  %r = glow.generic %x formula "y[b, k] = x[b, k] and x[b, k]" : (tensor<3x4xf32>) -> tensor<3x4xf32>
  func.return %r : tensor<3x4xf32>
}

// CHECK: op (%r): expected a condition, found f32; compare it, as in x > 0
// CHECK-NEXT: y[b, k] = x[b, k] and x[b, k]
// CHECK-NEXT: ^

// -----

func.func @f(%x: tensor<3x4xf32>) -> tensor<3x4xf32> {
  %r = glow.generic %x formula "y[b, k] = x[floor(x[b, k]), k]" : (tensor<3x4xf32>) -> tensor<3x4xf32>
  func.return %r : tensor<3x4xf32>
}

// CHECK: op (%r): expected whole numbers as indices, found f32
// CHECK-NEXT: y[b, k] = x[floor(x[b, k]), k]
// CHECK-NEXT: ^

// -----

func.func @f(%x: tensor<3x4xf32>) -> tensor<3x4xf32> {
  %r = glow.generic %x formula "y[b, k] = i32(x[b, k])" : (tensor<3x4xf32>) -> tensor<3x4xf32>
  func.return %r : tensor<3x4xf32>
}

// CHECK: op (%r): the result has elements of f32: expected f32, found i32; convert it, as with f32(...)
// CHECK-NEXT: y[b, k] = i32(x[b, k])
// CHECK-NEXT: ^

// -----

func.func @f(%x: tensor<3x4xf32>) -> tensor<3x4xf32> {
  %r = glow.generic %x formula "y[b, k] = z[b, k] where z[b, k] = y[b, k] + x[b, k]" : (tensor<3x4xf32>) -> tensor<3x4xf32>
  func.return %r : tensor<3x4xf32>
}

// CHECK: op (%r): z is defined by itself
// CHECK-NEXT: y[b, k] = z[b, k] where z[b, k] = y[b, k] + x[b, k]
// CHECK-NEXT: ^

// -----

func.func @f(%x: tensor<3x4xf32>) -> tensor<3x4xf32> {
  %r = glow.generic %x formula "y[k, b] = x[b, k]" : (tensor<3x4xf32>) -> tensor<3x4xf32>
  func.return %r : tensor<3x4xf32>
}

// CHECK: op (%r): expected a result of shape (4, 3), found (3, 4)
// CHECK-NEXT: y[k, b] = x[b, k]
// CHECK-NEXT: ^

// -----

func.func @f(%x: tensor<3x4xf32>) -> tensor<3x4xf32> {
  %r = glow.generic %x formula "y[b] = x[b, 0]" : (tensor<3x4xf32>) -> tensor<3x4xf32>
  func.return %r : tensor<3x4xf32>
}

// CHECK: op (%r): expected a result of rank 1, found shape (3, 4)
// CHECK-NEXT: y[b] = x[b, 0]
// CHECK-NEXT: ^

// -----

func.func @f(%x: tensor<3x4xf32>) -> tensor<3x4xf32> {
  %r = glow.generic %x formula "y[b, k] = x[b, k] + w[b, k]" : (tensor<3x4xf32>) -> tensor<3x4xf32>
  func.return %r : tensor<3x4xf32>
}

// CHECK: op (%r): expected 2 operands for x, w of the formula, found 1
