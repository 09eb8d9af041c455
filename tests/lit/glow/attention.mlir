// RUN: glow-opt %s | glow-opt | filecheck %s
// RUN: glow-opt %s --print-op-generic | glow-opt | filecheck %s

func.func @attention(%q: tensor<1x7x2x4xf32>, %k: tensor<1x9x2x4xf32>, %v: tensor<1x9x2x3xf32>, %m: tensor<1x2x7x9xf32>) {
  %plain = glow.attention %q, %k, %v scale 0.5 : (tensor<1x7x2x4xf32>, tensor<1x9x2x4xf32>, tensor<1x9x2x3xf32>) -> tensor<1x7x2x3xf32>
  %masked = glow.masked_attention %q, %k, %v, %m : (tensor<1x7x2x4xf32>, tensor<1x9x2x4xf32>, tensor<1x9x2x3xf32>, tensor<1x2x7x9xf32>) -> tensor<1x7x2x3xf32>
  %qg, %mg = "test.op"() : () -> (tensor<1x7x6x4xf32>, tensor<1x6x7x9xf32>)
  %grouped = glow.masked_attention %qg, %k, %v, %mg safe true : (tensor<1x7x6x4xf32>, tensor<1x9x2x4xf32>, tensor<1x9x2x3xf32>, tensor<1x6x7x9xf32>) -> tensor<1x7x6x3xf32>
  func.return
}

// CHECK:      func.func @attention(
// CHECK-NEXT:     %plain = glow.attention %q, %k, %v scale 0.5 : (tensor<1x7x2x4xf32>, tensor<1x9x2x4xf32>, tensor<1x9x2x3xf32>) -> tensor<1x7x2x3xf32>
// CHECK-NEXT:     %masked = glow.masked_attention %q, %k, %v, %m : (tensor<1x7x2x4xf32>, tensor<1x9x2x4xf32>, tensor<1x9x2x3xf32>, tensor<1x2x7x9xf32>) -> tensor<1x7x2x3xf32>
// CHECK:          %grouped = glow.masked_attention %qg, %k, %v, %mg safe true : (tensor<1x7x6x4xf32>, tensor<1x9x2x4xf32>, tensor<1x9x2x3xf32>, tensor<1x6x7x9xf32>) -> tensor<1x7x6x3xf32>
