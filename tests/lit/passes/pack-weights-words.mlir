// RUN: glow-opt %s --pack-weights="far-bytes=24 words=128" | filecheck %s
// RUN: glow-opt %s --pack-weights="far-bytes=24 words=0" | filecheck %s --check-prefix=EXACT
// RUN: glow-opt %s --pack-weights="far-bytes=24" | filecheck %s --check-prefix=EXACT
// RUN: not glow-opt %s --pack-weights="words=-1" 2>&1 | filecheck %s --check-prefix=ERROR

// ERROR: expected words of at least 0, found -1

// Large matrices of f32 as numbers of 28 bits, if their columns fill groups of 128 and their
// largest number is not too large for the others.
func.func @words(%x: tensor<1x2xf32>) -> (tensor<1x128xf32>, tensor<1x129xf32>, tensor<1x128xf16>) {
  %wide = glow.constant dense<0.75> : tensor<2x128xf32>
  %more = glow.constant dense<0.75> : tensor<2x129xf32>
  %half = glow.constant dense<0.75> : tensor<2x128xf16>
  %a = glow.relu %x : (tensor<1x2xf32>) -> tensor<1x2xf32>
  %h = glow.cast %a : (tensor<1x2xf32>) -> tensor<1x2xf16>
  %k = glow.relu %h : (tensor<1x2xf16>) -> tensor<1x2xf16>
  %r = glow.matmul %a, %wide : (tensor<1x2xf32>, tensor<2x128xf32>) -> tensor<1x128xf32>
  %s = glow.matmul %a, %more : (tensor<1x2xf32>, tensor<2x129xf32>) -> tensor<1x129xf32>
  %t = glow.matmul %k, %half : (tensor<1x2xf16>, tensor<2x128xf16>) -> tensor<1x128xf16>
  func.return %r, %s, %t : tensor<1x128xf32>, tensor<1x129xf32>, tensor<1x128xf16>
}

// CHECK-LABEL: @words(
// CHECK:       glow.sparse_vector_words_matmul %a, %{{.*}} {columns = 128 : i64, scale = {{.*}} : f64} : (tensor<1x2xf32>, tensor<2x1x7x16xi32>) -> tensor<1x128xf32>
// CHECK-NEXT:  glow.sparse_vector_matmul %a, %more : (tensor<1x2xf32>, tensor<2x129xf32>) -> tensor<1x129xf32>
// CHECK-NEXT:  glow.sparse_vector_matmul %k, %half : (tensor<1x2xf16>, tensor<2x128xf16>) -> tensor<1x128xf16>

// EXACT-NOT:   glow.sparse_vector_words_matmul
