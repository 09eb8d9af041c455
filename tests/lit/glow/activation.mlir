// RUN: glow-opt %s | glow-opt | filecheck %s
// RUN: glow-opt %s --print-op-generic | glow-opt | filecheck %s
// RUN: glow-opt %s --print-op-generic | filecheck %s --check-prefix=GENERIC

// Activation nodes.

func.func @activation(%a: tensor<2x3xf32>, %i: tensor<4xi32>, %h: tensor<5xf16>) {
  %relu = glow.relu %i : (tensor<4xi32>) -> tensor<4xi32>
  %leaky = glow.leaky_relu %a alpha 0.2 : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %leaky_default = glow.leaky_relu %a : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %elu = glow.elu %a alpha 0.5 : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %prelu = glow.prelu %a, %a : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  %clip = glow.clip %a min -1.5 max 6.0 : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %clip_low = glow.clip %i min -7 : (tensor<4xi32>) -> tensor<4xi32>
  %clip_none = glow.clip %i : (tensor<4xi32>) -> tensor<4xi32>
  %sigmoid = glow.sigmoid %h : (tensor<5xf16>) -> tensor<5xf16>
  %tanh = glow.tanh %a : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %erf = glow.erf %a : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %gelu = glow.gelu %a approximate true : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %softplus = glow.softplus %a : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %hard_sigmoid = glow.hard_sigmoid %a alpha 0.25 beta 0.75 : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %hard_swish = glow.hard_swish %a : (tensor<2x3xf32>) -> tensor<2x3xf32>
  func.return
}

// CHECK:      builtin.module {
// CHECK-NEXT:   func.func @activation(%a: tensor<2x3xf32>, %i: tensor<4xi32>, %h: tensor<5xf16>) {
// CHECK-NEXT:     %relu = glow.relu %i : (tensor<4xi32>) -> tensor<4xi32>
// CHECK-NEXT:     %leaky = glow.leaky_relu %a alpha 0.2 : (tensor<2x3xf32>) -> tensor<2x3xf32>
// CHECK-NEXT:     %leaky_default = glow.leaky_relu %a : (tensor<2x3xf32>) -> tensor<2x3xf32>
// CHECK-NEXT:     %elu = glow.elu %a alpha 0.5 : (tensor<2x3xf32>) -> tensor<2x3xf32>
// CHECK-NEXT:     %prelu = glow.prelu %a, %a : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
// CHECK-NEXT:     %clip = glow.clip %a min -1.5 max 6.0 : (tensor<2x3xf32>) -> tensor<2x3xf32>
// CHECK-NEXT:     %clip_low = glow.clip %i min -7 : (tensor<4xi32>) -> tensor<4xi32>
// CHECK-NEXT:     %clip_none = glow.clip %i : (tensor<4xi32>) -> tensor<4xi32>
// CHECK-NEXT:     %sigmoid = glow.sigmoid %h : (tensor<5xf16>) -> tensor<5xf16>
// CHECK-NEXT:     %tanh = glow.tanh %a : (tensor<2x3xf32>) -> tensor<2x3xf32>
// CHECK-NEXT:     %erf = glow.erf %a : (tensor<2x3xf32>) -> tensor<2x3xf32>
// CHECK-NEXT:     %gelu = glow.gelu %a approximate true : (tensor<2x3xf32>) -> tensor<2x3xf32>
// CHECK-NEXT:     %softplus = glow.softplus %a : (tensor<2x3xf32>) -> tensor<2x3xf32>
// CHECK-NEXT:     %hard_sigmoid = glow.hard_sigmoid %a alpha 0.25 beta 0.75 : (tensor<2x3xf32>) -> tensor<2x3xf32>
// CHECK-NEXT:     %hard_swish = glow.hard_swish %a : (tensor<2x3xf32>) -> tensor<2x3xf32>
// CHECK-NEXT:     func.return
// CHECK-NEXT:   }
// CHECK-NEXT: }

// GENERIC: %relu = "glow.relu"(%i) : (tensor<4xi32>) -> tensor<4xi32>
// GENERIC: %leaky = "glow.leaky_relu"(%a) <{alpha = 2.000000e-01 : f64}> : (tensor<2x3xf32>) -> tensor<2x3xf32>
// GENERIC: %elu = "glow.elu"(%a) <{alpha = 5.000000e-01 : f64}> : (tensor<2x3xf32>) -> tensor<2x3xf32>
// GENERIC: %prelu = "glow.prelu"(%a, %a) : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
// GENERIC: %clip = "glow.clip"(%a) <{min = -1.500000e+00 : f64, max = 6.000000e+00 : f64}> : (tensor<2x3xf32>) -> tensor<2x3xf32>
// GENERIC: %sigmoid = "glow.sigmoid"(%h) : (tensor<5xf16>) -> tensor<5xf16>
// GENERIC: %tanh = "glow.tanh"(%a) : (tensor<2x3xf32>) -> tensor<2x3xf32>
// GENERIC: %erf = "glow.erf"(%a) : (tensor<2x3xf32>) -> tensor<2x3xf32>
// GENERIC: %gelu = "glow.gelu"(%a) <{approximate = true}> : (tensor<2x3xf32>) -> tensor<2x3xf32>
// GENERIC: %softplus = "glow.softplus"(%a) : (tensor<2x3xf32>) -> tensor<2x3xf32>
// GENERIC: %hard_sigmoid = "glow.hard_sigmoid"(%a) <{alpha = 2.500000e-01 : f64, beta = 7.500000e-01 : f64}> : (tensor<2x3xf32>) -> tensor<2x3xf32>
// GENERIC: %hard_swish = "glow.hard_swish"(%a) : (tensor<2x3xf32>) -> tensor<2x3xf32>
