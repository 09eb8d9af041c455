// RUN: glow-opt %s --fuse-attention --dce --split-input-file | filecheck %s

// As frontends write it: transposes disappear, but for the one that the network undoes.
func.func @heads(%q: tensor<1x7x2x4xf32>, %k: tensor<1x9x2x4xf32>, %v: tensor<1x9x2x3xf32>, %m: tensor<1x1x1x9xf32>) -> tensor<1x2x7x3xf32> {
  %qt = glow.transpose %q permutation [0, 2, 1, 3] : (tensor<1x7x2x4xf32>) -> tensor<1x2x7x4xf32>
  %kt = glow.transpose %k permutation [0, 2, 3, 1] : (tensor<1x9x2x4xf32>) -> tensor<1x2x4x9xf32>
  %vt = glow.transpose %v permutation [0, 2, 1, 3] : (tensor<1x9x2x3xf32>) -> tensor<1x2x9x3xf32>
  %s = glow.matmul %qt, %kt : (tensor<1x2x7x4xf32>, tensor<1x2x4x9xf32>) -> tensor<1x2x7x9xf32>
  %two = glow.splat value 2.0 : tensor<1x2x7x9xf32>
  %d = glow.div %s, %two : (tensor<1x2x7x9xf32>, tensor<1x2x7x9xf32>) -> tensor<1x2x7x9xf32>
  %mask = glow.broadcast %m : (tensor<1x1x1x9xf32>) -> tensor<1x2x7x9xf32>
  %a = glow.add %d, %mask : (tensor<1x2x7x9xf32>, tensor<1x2x7x9xf32>) -> tensor<1x2x7x9xf32>
  %p = glow.softmax %a axis 3 : (tensor<1x2x7x9xf32>) -> tensor<1x2x7x9xf32>
  %r = glow.matmul %p, %vt : (tensor<1x2x7x9xf32>, tensor<1x2x9x3xf32>) -> tensor<1x2x7x3xf32>
  func.return %r : tensor<1x2x7x3xf32>
}

// CHECK-LABEL: @heads(
// CHECK-NEXT:  %mask = glow.broadcast %m : (tensor<1x1x1x9xf32>) -> tensor<1x2x7x9xf32>
// CHECK-NEXT:  %r = glow.masked_attention %q, %k, %v, %mask scale 0.5 : (tensor<1x7x2x4xf32>, tensor<1x9x2x4xf32>, tensor<1x9x2x3xf32>, tensor<1x2x7x9xf32>) -> tensor<1x7x2x3xf32>
// CHECK-NEXT:  %r_1 = glow.transpose %r permutation [0, 2, 1, 3] : (tensor<1x7x2x3xf32>) -> tensor<1x2x7x3xf32>
// CHECK-NEXT:  func.return %r_1 : tensor<1x2x7x3xf32>

// -----

// One head without a name, a factor on the left, no mask; a key that is read transposed.
func.func @single(%q: tensor<2x7x4xf32>, %k: tensor<2x9x4xf32>, %v: tensor<2x9x3xf32>) -> tensor<2x7x3xf32> {
  %s = glow.matmul %q, %k transpose_rhs true : (tensor<2x7x4xf32>, tensor<2x9x4xf32>) -> tensor<2x7x9xf32>
  %half = glow.splat value 0.5 : tensor<2x7x9xf32>
  %d = glow.mul %half, %s : (tensor<2x7x9xf32>, tensor<2x7x9xf32>) -> tensor<2x7x9xf32>
  %p = glow.softmax %d axis 2 : (tensor<2x7x9xf32>) -> tensor<2x7x9xf32>
  %r = glow.matmul %p, %v : (tensor<2x7x9xf32>, tensor<2x9x3xf32>) -> tensor<2x7x3xf32>
  func.return %r : tensor<2x7x3xf32>
}

// CHECK-LABEL: @single(
// CHECK-NEXT:  %r = glow.reshape %q : (tensor<2x7x4xf32>) -> tensor<2x7x1x4xf32>
// CHECK-NEXT:  %r_1 = glow.reshape %k : (tensor<2x9x4xf32>) -> tensor<2x9x1x4xf32>
// CHECK-NEXT:  %r_2 = glow.reshape %v : (tensor<2x9x3xf32>) -> tensor<2x9x1x3xf32>
// CHECK-NEXT:  %r_3 = glow.attention %r, %r_1, %r_2 scale 0.5 : (tensor<2x7x1x4xf32>, tensor<2x9x1x4xf32>, tensor<2x9x1x3xf32>) -> tensor<2x7x1x3xf32>
// CHECK-NEXT:  %r_4 = glow.reshape %r_3 : (tensor<2x7x1x3xf32>) -> tensor<2x7x3xf32>
// CHECK-NEXT:  func.return %r_4 : tensor<2x7x3xf32>

// -----

// A mask before the scores, and a transposed value.
func.func @mask_first(%q: tensor<2x7x4xf32>, %k: tensor<2x4x9xf32>, %v: tensor<2x3x9xf32>, %m: tensor<2x7x9xf32>) -> tensor<2x7x3xf32> {
  %s = glow.matmul %q, %k : (tensor<2x7x4xf32>, tensor<2x4x9xf32>) -> tensor<2x7x9xf32>
  %a = glow.add %m, %s : (tensor<2x7x9xf32>, tensor<2x7x9xf32>) -> tensor<2x7x9xf32>
  %p = glow.softmax %a axis 2 : (tensor<2x7x9xf32>) -> tensor<2x7x9xf32>
  %r = glow.matmul %p, %v transpose_rhs true : (tensor<2x7x9xf32>, tensor<2x3x9xf32>) -> tensor<2x7x3xf32>
  func.return %r : tensor<2x7x3xf32>
}

// CHECK-LABEL: @mask_first(
// CHECK-NEXT:  %r = glow.reshape %q : (tensor<2x7x4xf32>) -> tensor<2x7x1x4xf32>
// CHECK-NEXT:  %r_1 = glow.transpose %k permutation [0, 2, 1] : (tensor<2x4x9xf32>) -> tensor<2x9x4xf32>
// CHECK-NEXT:  %r_2 = glow.reshape %r_1 : (tensor<2x9x4xf32>) -> tensor<2x9x1x4xf32>
// CHECK-NEXT:  %r_3 = glow.transpose %v permutation [0, 2, 1] : (tensor<2x3x9xf32>) -> tensor<2x9x3xf32>
// CHECK-NEXT:  %r_4 = glow.reshape %r_3 : (tensor<2x9x3xf32>) -> tensor<2x9x1x3xf32>
// CHECK-NEXT:  %r_5 = glow.reshape %m : (tensor<2x7x9xf32>) -> tensor<2x1x7x9xf32>
// CHECK-NEXT:  %r_6 = glow.masked_attention %r, %r_2, %r_4, %r_5 : (tensor<2x7x1x4xf32>, tensor<2x9x1x4xf32>, tensor<2x9x1x3xf32>, tensor<2x1x7x9xf32>) -> tensor<2x7x1x3xf32>
// CHECK-NEXT:  %r_7 = glow.reshape %r_6 : (tensor<2x7x1x3xf32>) -> tensor<2x7x3xf32>
// CHECK-NEXT:  func.return %r_7 : tensor<2x7x3xf32>

// -----

// Not if the shares are a result too.
func.func @shares(%q: tensor<2x7x4xf32>, %k: tensor<2x4x9xf32>, %v: tensor<2x9x3xf32>) -> (tensor<2x7x3xf32>, tensor<2x7x9xf32>) {
  %s = glow.matmul %q, %k : (tensor<2x7x4xf32>, tensor<2x4x9xf32>) -> tensor<2x7x9xf32>
  %p = glow.softmax %s axis 2 : (tensor<2x7x9xf32>) -> tensor<2x7x9xf32>
  %r = glow.matmul %p, %v : (tensor<2x7x9xf32>, tensor<2x9x3xf32>) -> tensor<2x7x3xf32>
  func.return %r, %p : tensor<2x7x3xf32>, tensor<2x7x9xf32>
}

// CHECK-LABEL: @shares(
// CHECK-NEXT:  %s = glow.matmul %q, %k : (tensor<2x7x4xf32>, tensor<2x4x9xf32>) -> tensor<2x7x9xf32>
// CHECK-NEXT:  %p = glow.softmax %s axis 2 : (tensor<2x7x9xf32>) -> tensor<2x7x9xf32>
// CHECK-NEXT:  %r = glow.matmul %p, %v : (tensor<2x7x9xf32>, tensor<2x9x3xf32>) -> tensor<2x7x3xf32>
// CHECK-NEXT:  func.return %r, %p : tensor<2x7x3xf32>, tensor<2x7x9xf32>

// -----

// Not along another dimension, nor if the scale is not one number.
func.func @others(%q: tensor<2x7x4xf32>, %k: tensor<2x4x9xf32>, %v: tensor<2x9x3xf32>, %f: tensor<2x7x9xf32>) -> (tensor<2x7x3xf32>, tensor<2x7x3xf32>) {
  %s = glow.matmul %q, %k : (tensor<2x7x4xf32>, tensor<2x4x9xf32>) -> tensor<2x7x9xf32>
  %p = glow.softmax %s axis 1 : (tensor<2x7x9xf32>) -> tensor<2x7x9xf32>
  %r = glow.matmul %p, %v : (tensor<2x7x9xf32>, tensor<2x9x3xf32>) -> tensor<2x7x3xf32>
  %t = glow.matmul %q, %k : (tensor<2x7x4xf32>, tensor<2x4x9xf32>) -> tensor<2x7x9xf32>
  %u = glow.mul %t, %f : (tensor<2x7x9xf32>, tensor<2x7x9xf32>) -> tensor<2x7x9xf32>
  %w = glow.softmax %u axis 2 : (tensor<2x7x9xf32>) -> tensor<2x7x9xf32>
  %x = glow.matmul %w, %v : (tensor<2x7x9xf32>, tensor<2x9x3xf32>) -> tensor<2x7x3xf32>
  func.return %r, %x : tensor<2x7x3xf32>, tensor<2x7x3xf32>
}

// CHECK-LABEL: @others(
// CHECK-NEXT:  %s = glow.matmul %q, %k : (tensor<2x7x4xf32>, tensor<2x4x9xf32>) -> tensor<2x7x9xf32>
// CHECK-NEXT:  %p = glow.softmax %s axis 1 : (tensor<2x7x9xf32>) -> tensor<2x7x9xf32>
// CHECK-NEXT:  %r = glow.matmul %p, %v : (tensor<2x7x9xf32>, tensor<2x9x3xf32>) -> tensor<2x7x3xf32>
// CHECK-NEXT:  %t = glow.matmul %q, %k : (tensor<2x7x4xf32>, tensor<2x4x9xf32>) -> tensor<2x7x9xf32>
// CHECK-NEXT:  %u = glow.mul %t, %f : (tensor<2x7x9xf32>, tensor<2x7x9xf32>) -> tensor<2x7x9xf32>
// CHECK-NEXT:  %w = glow.softmax %u axis 2 : (tensor<2x7x9xf32>) -> tensor<2x7x9xf32>
// CHECK-NEXT:  %x = glow.matmul %w, %v : (tensor<2x7x9xf32>, tensor<2x9x3xf32>) -> tensor<2x7x3xf32>
// CHECK-NEXT:  func.return %r, %x : tensor<2x7x3xf32>, tensor<2x7x3xf32>

// -----

// Query and key are scaled, and zeros replace NaN, as PyTorch writes it.
func.func @safe(%q: tensor<2x7x4xf32>, %k: tensor<2x4x9xf32>, %v: tensor<2x9x3xf32>, %m: tensor<2x7x9xf32>) -> tensor<2x7x3xf32> {
  %a = glow.splat value 0.5 : tensor<2x7x4xf32>
  %b = glow.splat value 0.25 : tensor<2x4x9xf32>
  %zero = glow.splat value 0.0 : tensor<2x7x9xf32>
  %qs = glow.mul %q, %a : (tensor<2x7x4xf32>, tensor<2x7x4xf32>) -> tensor<2x7x4xf32>
  %ks = glow.mul %b, %k : (tensor<2x4x9xf32>, tensor<2x4x9xf32>) -> tensor<2x4x9xf32>
  %s = glow.matmul %qs, %ks : (tensor<2x7x4xf32>, tensor<2x4x9xf32>) -> tensor<2x7x9xf32>
  %sm = glow.add %s, %m : (tensor<2x7x9xf32>, tensor<2x7x9xf32>) -> tensor<2x7x9xf32>
  %p = glow.softmax %sm axis 2 : (tensor<2x7x9xf32>) -> tensor<2x7x9xf32>
  %e = glow.equal %p, %p : (tensor<2x7x9xf32>, tensor<2x7x9xf32>) -> tensor<2x7x9xi1>
  %n = glow.not %e : (tensor<2x7x9xi1>) -> tensor<2x7x9xi1>
  %c = glow.select %n, %zero, %p : (tensor<2x7x9xi1>, tensor<2x7x9xf32>, tensor<2x7x9xf32>) -> tensor<2x7x9xf32>
  %r = glow.matmul %c, %v : (tensor<2x7x9xf32>, tensor<2x9x3xf32>) -> tensor<2x7x3xf32>
  func.return %r : tensor<2x7x3xf32>
}

// CHECK-LABEL: @safe(
// CHECK:       glow.masked_attention %{{.*}} scale 0.125 safe true
// CHECK-NOT:   glow.softmax

// -----

// Another number than zero replaces NaN, and another node uses the weights: both stay as they are.
func.func @not_safe(%q: tensor<2x7x4xf32>, %k: tensor<2x4x9xf32>, %v: tensor<2x9x3xf32>) -> (tensor<2x7x3xf32>, tensor<2x7x3xf32>, tensor<2x7x9xf32>) {
  %one = glow.splat value 1.0 : tensor<2x7x9xf32>
  %zero = glow.splat value 0.0 : tensor<2x7x9xf32>
  %s = glow.matmul %q, %k : (tensor<2x7x4xf32>, tensor<2x4x9xf32>) -> tensor<2x7x9xf32>
  %p = glow.softmax %s axis 2 : (tensor<2x7x9xf32>) -> tensor<2x7x9xf32>
  %e = glow.equal %p, %p : (tensor<2x7x9xf32>, tensor<2x7x9xf32>) -> tensor<2x7x9xi1>
  %c = glow.select %e, %p, %one : (tensor<2x7x9xi1>, tensor<2x7x9xf32>, tensor<2x7x9xf32>) -> tensor<2x7x9xf32>
  %r = glow.matmul %c, %v : (tensor<2x7x9xf32>, tensor<2x9x3xf32>) -> tensor<2x7x3xf32>
  %s2 = glow.matmul %q, %k : (tensor<2x7x4xf32>, tensor<2x4x9xf32>) -> tensor<2x7x9xf32>
  %p2 = glow.softmax %s2 axis 2 : (tensor<2x7x9xf32>) -> tensor<2x7x9xf32>
  %e2 = glow.equal %p2, %p2 : (tensor<2x7x9xf32>, tensor<2x7x9xf32>) -> tensor<2x7x9xi1>
  %c2 = glow.select %e2, %p2, %zero : (tensor<2x7x9xi1>, tensor<2x7x9xf32>, tensor<2x7x9xf32>) -> tensor<2x7x9xf32>
  %r2 = glow.matmul %c2, %v : (tensor<2x7x9xf32>, tensor<2x9x3xf32>) -> tensor<2x7x3xf32>
  func.return %r, %r2, %p2 : tensor<2x7x3xf32>, tensor<2x7x3xf32>, tensor<2x7x9xf32>
}

// CHECK-LABEL: @not_safe(
// CHECK-NOT:   attention
// CHECK:       func.return

// -----

// Each head of key and value is for two heads of the query, and two masks are added.
func.func @grouped(%q: tensor<1x4x7x8xf32>, %k: tensor<1x9x2x8xf32>, %v: tensor<1x2x9x3xf32>, %m: tensor<1x4x7x9xf32>, %n: tensor<1x4x7x9xf32>) -> tensor<1x4x7x3xf32> {
  %kt = glow.transpose %k permutation [0, 2, 1, 3] : (tensor<1x9x2x8xf32>) -> tensor<1x2x9x8xf32>
  %k1 = glow.reshape %kt : (tensor<1x2x9x8xf32>) -> tensor<1x2x1x9x8xf32>
  %k2 = glow.broadcast %k1 : (tensor<1x2x1x9x8xf32>) -> tensor<1x2x2x9x8xf32>
  %k4 = glow.reshape %k2 : (tensor<1x2x2x9x8xf32>) -> tensor<1x4x9x8xf32>
  %v1 = glow.reshape %v : (tensor<1x2x9x3xf32>) -> tensor<1x2x1x9x3xf32>
  %v2 = glow.broadcast %v1 : (tensor<1x2x1x9x3xf32>) -> tensor<1x2x2x9x3xf32>
  %v4 = glow.reshape %v2 : (tensor<1x2x2x9x3xf32>) -> tensor<1x4x9x3xf32>
  %s = glow.matmul %q, %k4 transpose_rhs true : (tensor<1x4x7x8xf32>, tensor<1x4x9x8xf32>) -> tensor<1x4x7x9xf32>
  %s1 = glow.add %m, %s : (tensor<1x4x7x9xf32>, tensor<1x4x7x9xf32>) -> tensor<1x4x7x9xf32>
  %s2 = glow.add %s1, %n : (tensor<1x4x7x9xf32>, tensor<1x4x7x9xf32>) -> tensor<1x4x7x9xf32>
  %p = glow.softmax %s2 axis 3 : (tensor<1x4x7x9xf32>) -> tensor<1x4x7x9xf32>
  %r = glow.matmul %p, %v4 : (tensor<1x4x7x9xf32>, tensor<1x4x9x3xf32>) -> tensor<1x4x7x3xf32>
  func.return %r : tensor<1x4x7x3xf32>
}

// CHECK-LABEL: @grouped(
// CHECK-NEXT:  [[Q:%.*]] = glow.transpose %q permutation [0, 2, 1, 3]
// CHECK-NEXT:  [[V:%.*]] = glow.transpose %v permutation [0, 2, 1, 3]
// CHECK-NEXT:  [[M:%.*]] = glow.add %m, %n
// CHECK-NEXT:  glow.masked_attention [[Q]], %k, [[V]], [[M]] : {{.*}} -> tensor<1x7x4x3xf32>
