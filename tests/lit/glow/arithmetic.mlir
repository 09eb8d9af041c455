// RUN: glow-opt %s | glow-opt | filecheck %s
// RUN: glow-opt %s --print-op-generic | glow-opt | filecheck %s
// RUN: glow-opt %s --print-op-generic | filecheck %s --check-prefix=GENERIC

// Arithmetic nodes on every kind of element.

func.func @arithmetic(%a: tensor<2x3xf32>, %b: tensor<2x3xf32>, %i: tensor<4xi32>, %h: tensor<5xbf16>, %s: tensor<f64>) {
  %add = glow.add %a, %b : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  %sub = glow.sub %i, %i : (tensor<4xi32>, tensor<4xi32>) -> tensor<4xi32>
  %mul = glow.mul %h, %h : (tensor<5xbf16>, tensor<5xbf16>) -> tensor<5xbf16>
  %div = glow.div %s, %s : (tensor<f64>, tensor<f64>) -> tensor<f64>
  %rem = glow.rem %i, %i : (tensor<4xi32>, tensor<4xi32>) -> tensor<4xi32>
  %max = glow.maximum %a, %b : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  %min = glow.minimum %i, %i {note = "kept"} : (tensor<4xi32>, tensor<4xi32>) -> tensor<4xi32>
  %pow = glow.pow %a, %b : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  %neg = glow.neg %i : (tensor<4xi32>) -> tensor<4xi32>
  %abs = glow.abs %h : (tensor<5xbf16>) -> tensor<5xbf16>
  %sqrt = glow.sqrt %a : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %reciprocal = glow.reciprocal %a : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %exp = glow.exp %a : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %log = glow.log %a : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %sin = glow.sin %a : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %cos = glow.cos %a : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %floor = glow.floor %a : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %ceil = glow.ceil %a : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %round_even = glow.round_even %a : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %sign = glow.sign %i : (tensor<4xi32>) -> tensor<4xi32>
  %fused = glow.multiply_add %a, %b, %a : (tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  %pairs = glow.multiply_add_pairs %i, %i, %i : (tensor<4xi32>, tensor<4xi32>, tensor<4xi32>) -> tensor<4xi32>
  %bytes = glow.multiply_add_bytes %i, %i, %i : (tensor<4xi32>, tensor<4xi32>, tensor<4xi32>) -> tensor<4xi32>
  %quads = glow.multiply_add_quads %i, %i, %i : (tensor<4xi32>, tensor<4xi32>, tensor<4xi32>) -> tensor<4xi32>
  func.return
}

// CHECK:      builtin.module {
// CHECK-NEXT:   func.func @arithmetic(%a: tensor<2x3xf32>, %b: tensor<2x3xf32>, %i: tensor<4xi32>, %h: tensor<5xbf16>, %s: tensor<f64>) {
// CHECK-NEXT:     %add = glow.add %a, %b : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
// CHECK-NEXT:     %sub = glow.sub %i, %i : (tensor<4xi32>, tensor<4xi32>) -> tensor<4xi32>
// CHECK-NEXT:     %mul = glow.mul %h, %h : (tensor<5xbf16>, tensor<5xbf16>) -> tensor<5xbf16>
// CHECK-NEXT:     %div = glow.div %s, %s : (tensor<f64>, tensor<f64>) -> tensor<f64>
// CHECK-NEXT:     %rem = glow.rem %i, %i : (tensor<4xi32>, tensor<4xi32>) -> tensor<4xi32>
// CHECK-NEXT:     %max = glow.maximum %a, %b : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
// CHECK-NEXT:     %min = glow.minimum %i, %i {note = "kept"} : (tensor<4xi32>, tensor<4xi32>) -> tensor<4xi32>
// CHECK-NEXT:     %pow = glow.pow %a, %b : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
// CHECK-NEXT:     %neg = glow.neg %i : (tensor<4xi32>) -> tensor<4xi32>
// CHECK-NEXT:     %abs = glow.abs %h : (tensor<5xbf16>) -> tensor<5xbf16>
// CHECK-NEXT:     %sqrt = glow.sqrt %a : (tensor<2x3xf32>) -> tensor<2x3xf32>
// CHECK-NEXT:     %reciprocal = glow.reciprocal %a : (tensor<2x3xf32>) -> tensor<2x3xf32>
// CHECK-NEXT:     %exp = glow.exp %a : (tensor<2x3xf32>) -> tensor<2x3xf32>
// CHECK-NEXT:     %log = glow.log %a : (tensor<2x3xf32>) -> tensor<2x3xf32>
// CHECK-NEXT:     %sin = glow.sin %a : (tensor<2x3xf32>) -> tensor<2x3xf32>
// CHECK-NEXT:     %cos = glow.cos %a : (tensor<2x3xf32>) -> tensor<2x3xf32>
// CHECK-NEXT:     %floor = glow.floor %a : (tensor<2x3xf32>) -> tensor<2x3xf32>
// CHECK-NEXT:     %ceil = glow.ceil %a : (tensor<2x3xf32>) -> tensor<2x3xf32>
// CHECK-NEXT:     %round_even = glow.round_even %a : (tensor<2x3xf32>) -> tensor<2x3xf32>
// CHECK-NEXT:     %sign = glow.sign %i : (tensor<4xi32>) -> tensor<4xi32>
// CHECK-NEXT:     %fused = glow.multiply_add %a, %b, %a : (tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
// CHECK-NEXT:     %pairs = glow.multiply_add_pairs %i, %i, %i : (tensor<4xi32>, tensor<4xi32>, tensor<4xi32>) -> tensor<4xi32>
// CHECK-NEXT:     %bytes = glow.multiply_add_bytes %i, %i, %i : (tensor<4xi32>, tensor<4xi32>, tensor<4xi32>) -> tensor<4xi32>
// CHECK-NEXT:     %quads = glow.multiply_add_quads %i, %i, %i : (tensor<4xi32>, tensor<4xi32>, tensor<4xi32>) -> tensor<4xi32>
// CHECK-NEXT:     func.return
// CHECK-NEXT:   }
// CHECK-NEXT: }

// GENERIC: %add = "glow.add"(%a, %b) : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
// GENERIC: %sub = "glow.sub"(%i, %i) : (tensor<4xi32>, tensor<4xi32>) -> tensor<4xi32>
// GENERIC: %mul = "glow.mul"(%h, %h) : (tensor<5xbf16>, tensor<5xbf16>) -> tensor<5xbf16>
// GENERIC: %div = "glow.div"(%s, %s) : (tensor<f64>, tensor<f64>) -> tensor<f64>
// GENERIC: %rem = "glow.rem"(%i, %i) : (tensor<4xi32>, tensor<4xi32>) -> tensor<4xi32>
// GENERIC: %max = "glow.maximum"(%a, %b) : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
// GENERIC: %min = "glow.minimum"(%i, %i) {note = "kept"} : (tensor<4xi32>, tensor<4xi32>) -> tensor<4xi32>
// GENERIC: %pow = "glow.pow"(%a, %b) : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
// GENERIC: %neg = "glow.neg"(%i) : (tensor<4xi32>) -> tensor<4xi32>
// GENERIC: %abs = "glow.abs"(%h) : (tensor<5xbf16>) -> tensor<5xbf16>
// GENERIC: %sqrt = "glow.sqrt"(%a) : (tensor<2x3xf32>) -> tensor<2x3xf32>
// GENERIC: %reciprocal = "glow.reciprocal"(%a) : (tensor<2x3xf32>) -> tensor<2x3xf32>
// GENERIC: %exp = "glow.exp"(%a) : (tensor<2x3xf32>) -> tensor<2x3xf32>
// GENERIC: %log = "glow.log"(%a) : (tensor<2x3xf32>) -> tensor<2x3xf32>
// GENERIC: %sin = "glow.sin"(%a) : (tensor<2x3xf32>) -> tensor<2x3xf32>
// GENERIC: %cos = "glow.cos"(%a) : (tensor<2x3xf32>) -> tensor<2x3xf32>
// GENERIC: %floor = "glow.floor"(%a) : (tensor<2x3xf32>) -> tensor<2x3xf32>
// GENERIC: %ceil = "glow.ceil"(%a) : (tensor<2x3xf32>) -> tensor<2x3xf32>
// GENERIC: %round_even = "glow.round_even"(%a) : (tensor<2x3xf32>) -> tensor<2x3xf32>
// GENERIC: %sign = "glow.sign"(%i) : (tensor<4xi32>) -> tensor<4xi32>
