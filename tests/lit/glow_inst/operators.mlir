// RUN: glow-opt %s | glow-opt | filecheck %s
// RUN: glow-opt %s --print-op-generic | glow-opt | filecheck %s
// RUN: glow-opt %s --print-op-generic | filecheck %s --check-prefix=GENERIC

// The instruction of every operator that has one.

func.func @operators(%a: memref<2x3xf32>, %b: memref<2x3xf32>, %t: memref<3x2xf32>, %c: memref<2x3xi1>, %c2: memref<2x3xi1>, %x: memref<1x4x5x5xf32>,
    %x2: memref<1x4x5x5xf32>, %w: memref<8x4x3x3xf32>, %bias: memref<8xf32>, %conv: memref<1x8x5x5xf32>, %v: memref<4xf32>, %pool: memref<1x4x2x2xf32>,
    %l: memref<2xf32>, %fw: memref<2x3xf32>, %fo: memref<2x2xf32>, %i: memref<2xi64>, %q: memref<2x3x!quant.uniform<i8:f32, 0.05:3>>,
    %g: memref<2x2xf32>) {
  glow_inst.splat @out %a value 0.0 : memref<2x3xf32>
  glow_inst.add @out %a, @in %b, @in %fw : memref<2x3xf32>, memref<2x3xf32>, memref<2x3xf32>
  glow_inst.sub @out %a, @in %b, @in %fw : memref<2x3xf32>, memref<2x3xf32>, memref<2x3xf32>
  glow_inst.mul @out %a, @in %b, @in %fw : memref<2x3xf32>, memref<2x3xf32>, memref<2x3xf32>
  glow_inst.div @out %a, @in %b, @in %fw : memref<2x3xf32>, memref<2x3xf32>, memref<2x3xf32>
  glow_inst.rem @out %a, @in %b, @in %fw : memref<2x3xf32>, memref<2x3xf32>, memref<2x3xf32>
  glow_inst.maximum @out %a, @in %b, @in %fw : memref<2x3xf32>, memref<2x3xf32>, memref<2x3xf32>
  glow_inst.minimum @out %a, @in %b, @in %fw : memref<2x3xf32>, memref<2x3xf32>, memref<2x3xf32>
  glow_inst.pow @out %a, @in %b, @in %fw : memref<2x3xf32>, memref<2x3xf32>, memref<2x3xf32>
  glow_inst.prelu @out %a, @in %b, @in %fw : memref<2x3xf32>, memref<2x3xf32>, memref<2x3xf32>
  glow_inst.neg @out %a, @in %b : memref<2x3xf32>, memref<2x3xf32>
  glow_inst.abs @out %a, @in %b : memref<2x3xf32>, memref<2x3xf32>
  glow_inst.sqrt @out %a, @in %b : memref<2x3xf32>, memref<2x3xf32>
  glow_inst.reciprocal @out %a, @in %b : memref<2x3xf32>, memref<2x3xf32>
  glow_inst.exp @out %a, @in %b : memref<2x3xf32>, memref<2x3xf32>
  glow_inst.log @out %a, @in %b : memref<2x3xf32>, memref<2x3xf32>
  glow_inst.sin @out %a, @in %b : memref<2x3xf32>, memref<2x3xf32>
  glow_inst.cos @out %a, @in %b : memref<2x3xf32>, memref<2x3xf32>
  glow_inst.floor @out %a, @in %b : memref<2x3xf32>, memref<2x3xf32>
  glow_inst.ceil @out %a, @in %b : memref<2x3xf32>, memref<2x3xf32>
  glow_inst.round_even @out %a, @in %b : memref<2x3xf32>, memref<2x3xf32>
  glow_inst.sign @out %a, @in %b : memref<2x3xf32>, memref<2x3xf32>
  glow_inst.relu @out %a, @in %b : memref<2x3xf32>, memref<2x3xf32>
  glow_inst.leaky_relu @out %a, @in %b : memref<2x3xf32>, memref<2x3xf32>
  glow_inst.elu @out %a, @in %b : memref<2x3xf32>, memref<2x3xf32>
  glow_inst.sigmoid @out %a, @in %b : memref<2x3xf32>, memref<2x3xf32>
  glow_inst.tanh @out %a, @in %b : memref<2x3xf32>, memref<2x3xf32>
  glow_inst.erf @out %a, @in %b : memref<2x3xf32>, memref<2x3xf32>
  glow_inst.softplus @out %a, @in %b : memref<2x3xf32>, memref<2x3xf32>
  glow_inst.hard_sigmoid @out %a, @in %b : memref<2x3xf32>, memref<2x3xf32>
  glow_inst.hard_swish @out %a, @in %b : memref<2x3xf32>, memref<2x3xf32>
  glow_inst.cast @out %a, @in %b : memref<2x3xf32>, memref<2x3xf32>
  glow_inst.leaky_relu @out %a, @in %b alpha 0.25 : memref<2x3xf32>, memref<2x3xf32>
  glow_inst.clip @out %a, @in %b max 6.0 : memref<2x3xf32>, memref<2x3xf32>
  glow_inst.gelu @out %a, @in %b approximate true : memref<2x3xf32>, memref<2x3xf32>
  glow_inst.equal @out %c, @in %a, @in %b : memref<2x3xi1>, memref<2x3xf32>, memref<2x3xf32>
  glow_inst.less @out %c, @in %a, @in %b : memref<2x3xi1>, memref<2x3xf32>, memref<2x3xf32>
  glow_inst.less_equal @out %c, @in %a, @in %b : memref<2x3xi1>, memref<2x3xf32>, memref<2x3xf32>
  glow_inst.not @out %c, @in %c2 : memref<2x3xi1>, memref<2x3xi1>
  glow_inst.and @out %c, @in %c2, @in %c2 : memref<2x3xi1>, memref<2x3xi1>, memref<2x3xi1>
  glow_inst.or @out %c, @in %c2, @in %c2 : memref<2x3xi1>, memref<2x3xi1>, memref<2x3xi1>
  glow_inst.xor @out %c, @in %c2, @in %c2 : memref<2x3xi1>, memref<2x3xi1>, memref<2x3xi1>
  glow_inst.select @out %a, @in %c, @in %b, @in %b : memref<2x3xf32>, memref<2x3xi1>, memref<2x3xf32>, memref<2x3xf32>
  glow_inst.transpose @out %t, @in %a permutation [1, 0] : memref<3x2xf32>, memref<2x3xf32>
  glow_inst.gather @out %g, @in %a, @in %i axis 1 : memref<2x2xf32>, memref<2x3xf32>, memref<2xi64>
  glow_inst.convolution @out %conv, @in %x, @in %w, @in %bias pads [1, 1, 1, 1] : memref<1x8x5x5xf32>, memref<1x4x5x5xf32>, memref<8x4x3x3xf32>, memref<8xf32>
  glow_inst.max_pool @out %pool, @in %x kernel [2, 2] strides [2, 2] : memref<1x4x2x2xf32>, memref<1x4x5x5xf32>
  glow_inst.avg_pool @out %pool, @in %x count_include_pad true kernel [2, 2] strides [2, 2] : memref<1x4x2x2xf32>, memref<1x4x5x5xf32>
  glow_inst.matmul @out %fo, @in %a, @in %b transpose_rhs true : memref<2x2xf32>, memref<2x3xf32>, memref<2x3xf32>
  glow_inst.fully_connected @out %fo, @in %a, @in %b, @in %l : memref<2x2xf32>, memref<2x3xf32>, memref<2x3xf32>, memref<2xf32>
  glow_inst.batch_norm @out %x2, @in %x, @in %v, @in %v, @in %v, @in %v : memref<1x4x5x5xf32>, memref<1x4x5x5xf32>, memref<4xf32>, memref<4xf32>, memref<4xf32>, memref<4xf32>
  glow_inst.local_response_norm @out %x2, @in %x size 3 : memref<1x4x5x5xf32>, memref<1x4x5x5xf32>
  glow_inst.softmax @out %a, @in %b axis 1 : memref<2x3xf32>, memref<2x3xf32>
  glow_inst.log_softmax @out %a, @in %b axis 0 : memref<2x3xf32>, memref<2x3xf32>
  glow_inst.reduce_sum @out %l, @in %a axes [1] : memref<2xf32>, memref<2x3xf32>
  glow_inst.reduce_mean @out %l, @in %a axes [1] : memref<2xf32>, memref<2x3xf32>
  glow_inst.reduce_max @out %l, @in %a axes [1] : memref<2xf32>, memref<2x3xf32>
  glow_inst.reduce_min @out %l, @in %a axes [1] : memref<2xf32>, memref<2x3xf32>
  glow_inst.reduce_prod @out %l, @in %a axes [1] : memref<2xf32>, memref<2x3xf32>
  glow_inst.quantize @out %q, @in %a : memref<2x3x!quant.uniform<i8:f32, 0.05:3>>, memref<2x3xf32>
  glow_inst.dequantize @out %a, @in %q : memref<2x3xf32>, memref<2x3x!quant.uniform<i8:f32, 0.05:3>>
  glow_inst.fake_quantize @out %a, @in %b, @in %b, @in %b least -7 greatest 7 : memref<2x3xf32>, memref<2x3xf32>, memref<2x3xf32>, memref<2x3xf32>
  glow_inst.multiply_add @out %a, @in %b, @in %fw, @in %b : memref<2x3xf32>, memref<2x3xf32>, memref<2x3xf32>, memref<2x3xf32>
  glow_inst.bitcast @out %a, @in %b : memref<2x3xf32>, memref<2x3xf32>
  func.return
}

// CHECK:      builtin.module {
// CHECK-NEXT:   func.func @operators(%a: memref<2x3xf32>, %b: memref<2x3xf32>, %t: memref<3x2xf32>, %c: memref<2x3xi1>, %c2: memref<2x3xi1>, %x: memref<1x4x5x5xf32>,
// CHECK-SAME:   %x2: memref<1x4x5x5xf32>, %w: memref<8x4x3x3xf32>, %bias: memref<8xf32>, %conv: memref<1x8x5x5xf32>, %v: memref<4xf32>, %pool: memref<1x4x2x2xf32>,
// CHECK-SAME:   %l: memref<2xf32>, %fw: memref<2x3xf32>, %fo: memref<2x2xf32>, %i: memref<2xi64>, %q: memref<2x3x!quant.uniform<i8:f32, 0.05:3>>,
// CHECK-SAME:   %g: memref<2x2xf32>) {
// CHECK-NEXT:     glow_inst.splat @out %a value 0.0 : memref<2x3xf32>
// CHECK-NEXT:     glow_inst.add @out %a, @in %b, @in %fw : memref<2x3xf32>, memref<2x3xf32>, memref<2x3xf32>
// CHECK-NEXT:     glow_inst.sub @out %a, @in %b, @in %fw : memref<2x3xf32>, memref<2x3xf32>, memref<2x3xf32>
// CHECK-NEXT:     glow_inst.mul @out %a, @in %b, @in %fw : memref<2x3xf32>, memref<2x3xf32>, memref<2x3xf32>
// CHECK-NEXT:     glow_inst.div @out %a, @in %b, @in %fw : memref<2x3xf32>, memref<2x3xf32>, memref<2x3xf32>
// CHECK-NEXT:     glow_inst.rem @out %a, @in %b, @in %fw : memref<2x3xf32>, memref<2x3xf32>, memref<2x3xf32>
// CHECK-NEXT:     glow_inst.maximum @out %a, @in %b, @in %fw : memref<2x3xf32>, memref<2x3xf32>, memref<2x3xf32>
// CHECK-NEXT:     glow_inst.minimum @out %a, @in %b, @in %fw : memref<2x3xf32>, memref<2x3xf32>, memref<2x3xf32>
// CHECK-NEXT:     glow_inst.pow @out %a, @in %b, @in %fw : memref<2x3xf32>, memref<2x3xf32>, memref<2x3xf32>
// CHECK-NEXT:     glow_inst.prelu @out %a, @in %b, @in %fw : memref<2x3xf32>, memref<2x3xf32>, memref<2x3xf32>
// CHECK-NEXT:     glow_inst.neg @out %a, @in %b : memref<2x3xf32>, memref<2x3xf32>
// CHECK-NEXT:     glow_inst.abs @out %a, @in %b : memref<2x3xf32>, memref<2x3xf32>
// CHECK-NEXT:     glow_inst.sqrt @out %a, @in %b : memref<2x3xf32>, memref<2x3xf32>
// CHECK-NEXT:     glow_inst.reciprocal @out %a, @in %b : memref<2x3xf32>, memref<2x3xf32>
// CHECK-NEXT:     glow_inst.exp @out %a, @in %b : memref<2x3xf32>, memref<2x3xf32>
// CHECK-NEXT:     glow_inst.log @out %a, @in %b : memref<2x3xf32>, memref<2x3xf32>
// CHECK-NEXT:     glow_inst.sin @out %a, @in %b : memref<2x3xf32>, memref<2x3xf32>
// CHECK-NEXT:     glow_inst.cos @out %a, @in %b : memref<2x3xf32>, memref<2x3xf32>
// CHECK-NEXT:     glow_inst.floor @out %a, @in %b : memref<2x3xf32>, memref<2x3xf32>
// CHECK-NEXT:     glow_inst.ceil @out %a, @in %b : memref<2x3xf32>, memref<2x3xf32>
// CHECK-NEXT:     glow_inst.round_even @out %a, @in %b : memref<2x3xf32>, memref<2x3xf32>
// CHECK-NEXT:     glow_inst.sign @out %a, @in %b : memref<2x3xf32>, memref<2x3xf32>
// CHECK-NEXT:     glow_inst.relu @out %a, @in %b : memref<2x3xf32>, memref<2x3xf32>
// CHECK-NEXT:     glow_inst.leaky_relu @out %a, @in %b : memref<2x3xf32>, memref<2x3xf32>
// CHECK-NEXT:     glow_inst.elu @out %a, @in %b : memref<2x3xf32>, memref<2x3xf32>
// CHECK-NEXT:     glow_inst.sigmoid @out %a, @in %b : memref<2x3xf32>, memref<2x3xf32>
// CHECK-NEXT:     glow_inst.tanh @out %a, @in %b : memref<2x3xf32>, memref<2x3xf32>
// CHECK-NEXT:     glow_inst.erf @out %a, @in %b : memref<2x3xf32>, memref<2x3xf32>
// CHECK-NEXT:     glow_inst.softplus @out %a, @in %b : memref<2x3xf32>, memref<2x3xf32>
// CHECK-NEXT:     glow_inst.hard_sigmoid @out %a, @in %b : memref<2x3xf32>, memref<2x3xf32>
// CHECK-NEXT:     glow_inst.hard_swish @out %a, @in %b : memref<2x3xf32>, memref<2x3xf32>
// CHECK-NEXT:     glow_inst.cast @out %a, @in %b : memref<2x3xf32>, memref<2x3xf32>
// CHECK-NEXT:     glow_inst.leaky_relu @out %a, @in %b alpha 0.25 : memref<2x3xf32>, memref<2x3xf32>
// CHECK-NEXT:     glow_inst.clip @out %a, @in %b max 6.0 : memref<2x3xf32>, memref<2x3xf32>
// CHECK-NEXT:     glow_inst.gelu @out %a, @in %b approximate true : memref<2x3xf32>, memref<2x3xf32>
// CHECK-NEXT:     glow_inst.equal @out %c, @in %a, @in %b : memref<2x3xi1>, memref<2x3xf32>, memref<2x3xf32>
// CHECK-NEXT:     glow_inst.less @out %c, @in %a, @in %b : memref<2x3xi1>, memref<2x3xf32>, memref<2x3xf32>
// CHECK-NEXT:     glow_inst.less_equal @out %c, @in %a, @in %b : memref<2x3xi1>, memref<2x3xf32>, memref<2x3xf32>
// CHECK-NEXT:     glow_inst.not @out %c, @in %c2 : memref<2x3xi1>, memref<2x3xi1>
// CHECK-NEXT:     glow_inst.and @out %c, @in %c2, @in %c2 : memref<2x3xi1>, memref<2x3xi1>, memref<2x3xi1>
// CHECK-NEXT:     glow_inst.or @out %c, @in %c2, @in %c2 : memref<2x3xi1>, memref<2x3xi1>, memref<2x3xi1>
// CHECK-NEXT:     glow_inst.xor @out %c, @in %c2, @in %c2 : memref<2x3xi1>, memref<2x3xi1>, memref<2x3xi1>
// CHECK-NEXT:     glow_inst.select @out %a, @in %c, @in %b, @in %b : memref<2x3xf32>, memref<2x3xi1>, memref<2x3xf32>, memref<2x3xf32>
// CHECK-NEXT:     glow_inst.transpose @out %t, @in %a permutation [1, 0] : memref<3x2xf32>, memref<2x3xf32>
// CHECK-NEXT:     glow_inst.gather @out %g, @in %a, @in %i axis 1 : memref<2x2xf32>, memref<2x3xf32>, memref<2xi64>
// CHECK-NEXT:     glow_inst.convolution @out %conv, @in %x, @in %w, @in %bias pads [1, 1, 1, 1] : memref<1x8x5x5xf32>, memref<1x4x5x5xf32>, memref<8x4x3x3xf32>, memref<8xf32>
// CHECK-NEXT:     glow_inst.max_pool @out %pool, @in %x kernel [2, 2] strides [2, 2] : memref<1x4x2x2xf32>, memref<1x4x5x5xf32>
// CHECK-NEXT:     glow_inst.avg_pool @out %pool, @in %x count_include_pad true kernel [2, 2] strides [2, 2] : memref<1x4x2x2xf32>, memref<1x4x5x5xf32>
// CHECK-NEXT:     glow_inst.matmul @out %fo, @in %a, @in %b transpose_rhs true : memref<2x2xf32>, memref<2x3xf32>, memref<2x3xf32>
// CHECK-NEXT:     glow_inst.fully_connected @out %fo, @in %a, @in %b, @in %l : memref<2x2xf32>, memref<2x3xf32>, memref<2x3xf32>, memref<2xf32>
// CHECK-NEXT:     glow_inst.batch_norm @out %x2, @in %x, @in %v, @in %v, @in %v, @in %v : memref<1x4x5x5xf32>, memref<1x4x5x5xf32>, memref<4xf32>, memref<4xf32>, memref<4xf32>, memref<4xf32>
// CHECK-NEXT:     glow_inst.local_response_norm @out %x2, @in %x size 3 : memref<1x4x5x5xf32>, memref<1x4x5x5xf32>
// CHECK-NEXT:     glow_inst.softmax @out %a, @in %b axis 1 : memref<2x3xf32>, memref<2x3xf32>
// CHECK-NEXT:     glow_inst.log_softmax @out %a, @in %b axis 0 : memref<2x3xf32>, memref<2x3xf32>
// CHECK-NEXT:     glow_inst.reduce_sum @out %l, @in %a axes [1] : memref<2xf32>, memref<2x3xf32>
// CHECK-NEXT:     glow_inst.reduce_mean @out %l, @in %a axes [1] : memref<2xf32>, memref<2x3xf32>
// CHECK-NEXT:     glow_inst.reduce_max @out %l, @in %a axes [1] : memref<2xf32>, memref<2x3xf32>
// CHECK-NEXT:     glow_inst.reduce_min @out %l, @in %a axes [1] : memref<2xf32>, memref<2x3xf32>
// CHECK-NEXT:     glow_inst.reduce_prod @out %l, @in %a axes [1] : memref<2xf32>, memref<2x3xf32>
// CHECK-NEXT:     glow_inst.quantize @out %q, @in %a : memref<2x3x!quant.uniform<i8:f32, 0.05:3>>, memref<2x3xf32>
// CHECK-NEXT:     glow_inst.dequantize @out %a, @in %q : memref<2x3xf32>, memref<2x3x!quant.uniform<i8:f32, 0.05:3>>
// CHECK-NEXT:     glow_inst.fake_quantize @out %a, @in %b, @in %b, @in %b least -7 greatest 7 : memref<2x3xf32>, memref<2x3xf32>, memref<2x3xf32>, memref<2x3xf32>
// CHECK-NEXT:     glow_inst.multiply_add @out %a, @in %b, @in %fw, @in %b : memref<2x3xf32>, memref<2x3xf32>, memref<2x3xf32>, memref<2x3xf32>
// CHECK-NEXT:     glow_inst.bitcast @out %a, @in %b : memref<2x3xf32>, memref<2x3xf32>
// CHECK-NEXT:     func.return
// CHECK-NEXT:   }
// CHECK-NEXT: }

// GENERIC: "glow_inst.splat"(%a) <{value = 0.000000e+00 : f64, operandSegmentSizes = array<i32: 1, 0>}> : (memref<2x3xf32>) -> ()
// GENERIC: "glow_inst.add"(%a, %b, %fw) <{operandSegmentSizes = array<i32: 3, 0>}> : (memref<2x3xf32>, memref<2x3xf32>, memref<2x3xf32>) -> ()
// GENERIC: "glow_inst.sub"(%a, %b, %fw) <{operandSegmentSizes = array<i32: 3, 0>}> : (memref<2x3xf32>, memref<2x3xf32>, memref<2x3xf32>) -> ()
// GENERIC: "glow_inst.mul"(%a, %b, %fw) <{operandSegmentSizes = array<i32: 3, 0>}> : (memref<2x3xf32>, memref<2x3xf32>, memref<2x3xf32>) -> ()
// GENERIC: "glow_inst.div"(%a, %b, %fw) <{operandSegmentSizes = array<i32: 3, 0>}> : (memref<2x3xf32>, memref<2x3xf32>, memref<2x3xf32>) -> ()
// GENERIC: "glow_inst.rem"(%a, %b, %fw) <{operandSegmentSizes = array<i32: 3, 0>}> : (memref<2x3xf32>, memref<2x3xf32>, memref<2x3xf32>) -> ()
// GENERIC: "glow_inst.maximum"(%a, %b, %fw) <{operandSegmentSizes = array<i32: 3, 0>}> : (memref<2x3xf32>, memref<2x3xf32>, memref<2x3xf32>) -> ()
// GENERIC: "glow_inst.minimum"(%a, %b, %fw) <{operandSegmentSizes = array<i32: 3, 0>}> : (memref<2x3xf32>, memref<2x3xf32>, memref<2x3xf32>) -> ()
// GENERIC: "glow_inst.pow"(%a, %b, %fw) <{operandSegmentSizes = array<i32: 3, 0>}> : (memref<2x3xf32>, memref<2x3xf32>, memref<2x3xf32>) -> ()
// GENERIC: "glow_inst.prelu"(%a, %b, %fw) <{operandSegmentSizes = array<i32: 3, 0>}> : (memref<2x3xf32>, memref<2x3xf32>, memref<2x3xf32>) -> ()
// GENERIC: "glow_inst.neg"(%a, %b) <{operandSegmentSizes = array<i32: 2, 0>}> : (memref<2x3xf32>, memref<2x3xf32>) -> ()
// GENERIC: "glow_inst.abs"(%a, %b) <{operandSegmentSizes = array<i32: 2, 0>}> : (memref<2x3xf32>, memref<2x3xf32>) -> ()
// GENERIC: "glow_inst.sqrt"(%a, %b) <{operandSegmentSizes = array<i32: 2, 0>}> : (memref<2x3xf32>, memref<2x3xf32>) -> ()
// GENERIC: "glow_inst.reciprocal"(%a, %b) <{operandSegmentSizes = array<i32: 2, 0>}> : (memref<2x3xf32>, memref<2x3xf32>) -> ()
// GENERIC: "glow_inst.exp"(%a, %b) <{operandSegmentSizes = array<i32: 2, 0>}> : (memref<2x3xf32>, memref<2x3xf32>) -> ()
// GENERIC: "glow_inst.log"(%a, %b) <{operandSegmentSizes = array<i32: 2, 0>}> : (memref<2x3xf32>, memref<2x3xf32>) -> ()
// GENERIC: "glow_inst.sin"(%a, %b) <{operandSegmentSizes = array<i32: 2, 0>}> : (memref<2x3xf32>, memref<2x3xf32>) -> ()
// GENERIC: "glow_inst.cos"(%a, %b) <{operandSegmentSizes = array<i32: 2, 0>}> : (memref<2x3xf32>, memref<2x3xf32>) -> ()
// GENERIC: "glow_inst.floor"(%a, %b) <{operandSegmentSizes = array<i32: 2, 0>}> : (memref<2x3xf32>, memref<2x3xf32>) -> ()
// GENERIC: "glow_inst.ceil"(%a, %b) <{operandSegmentSizes = array<i32: 2, 0>}> : (memref<2x3xf32>, memref<2x3xf32>) -> ()
// GENERIC: "glow_inst.round_even"(%a, %b) <{operandSegmentSizes = array<i32: 2, 0>}> : (memref<2x3xf32>, memref<2x3xf32>) -> ()
// GENERIC: "glow_inst.sign"(%a, %b) <{operandSegmentSizes = array<i32: 2, 0>}> : (memref<2x3xf32>, memref<2x3xf32>) -> ()
// GENERIC: "glow_inst.relu"(%a, %b) <{operandSegmentSizes = array<i32: 2, 0>}> : (memref<2x3xf32>, memref<2x3xf32>) -> ()
// GENERIC: "glow_inst.leaky_relu"(%a, %b) <{operandSegmentSizes = array<i32: 2, 0>, alpha = 1.000000e-02 : f64}> : (memref<2x3xf32>, memref<2x3xf32>) -> ()
// GENERIC: "glow_inst.elu"(%a, %b) <{operandSegmentSizes = array<i32: 2, 0>, alpha = 1.000000e+00 : f64}> : (memref<2x3xf32>, memref<2x3xf32>) -> ()
// GENERIC: "glow_inst.sigmoid"(%a, %b) <{operandSegmentSizes = array<i32: 2, 0>}> : (memref<2x3xf32>, memref<2x3xf32>) -> ()
// GENERIC: "glow_inst.tanh"(%a, %b) <{operandSegmentSizes = array<i32: 2, 0>}> : (memref<2x3xf32>, memref<2x3xf32>) -> ()
// GENERIC: "glow_inst.erf"(%a, %b) <{operandSegmentSizes = array<i32: 2, 0>}> : (memref<2x3xf32>, memref<2x3xf32>) -> ()
// GENERIC: "glow_inst.softplus"(%a, %b) <{operandSegmentSizes = array<i32: 2, 0>}> : (memref<2x3xf32>, memref<2x3xf32>) -> ()
// GENERIC: "glow_inst.hard_sigmoid"(%a, %b) <{operandSegmentSizes = array<i32: 2, 0>, alpha = 2.000000e-01 : f64, beta = 5.000000e-01 : f64}> : (memref<2x3xf32>, memref<2x3xf32>) -> ()
// GENERIC: "glow_inst.hard_swish"(%a, %b) <{operandSegmentSizes = array<i32: 2, 0>}> : (memref<2x3xf32>, memref<2x3xf32>) -> ()
// GENERIC: "glow_inst.cast"(%a, %b) <{operandSegmentSizes = array<i32: 2, 0>, saturate = true, rounding = "up"}> : (memref<2x3xf32>, memref<2x3xf32>) -> ()
// GENERIC: "glow_inst.clip"(%a, %b) <{max = 6.000000e+00 : f64, operandSegmentSizes = array<i32: 2, 0>}> : (memref<2x3xf32>, memref<2x3xf32>) -> ()
// GENERIC: "glow_inst.gelu"(%a, %b) <{approximate = true, operandSegmentSizes = array<i32: 2, 0>}> : (memref<2x3xf32>, memref<2x3xf32>) -> ()
// GENERIC: "glow_inst.equal"(%c, %a, %b) <{operandSegmentSizes = array<i32: 3, 0>}> : (memref<2x3xi1>, memref<2x3xf32>, memref<2x3xf32>) -> ()
// GENERIC: "glow_inst.less"(%c, %a, %b) <{operandSegmentSizes = array<i32: 3, 0>}> : (memref<2x3xi1>, memref<2x3xf32>, memref<2x3xf32>) -> ()
// GENERIC: "glow_inst.less_equal"(%c, %a, %b) <{operandSegmentSizes = array<i32: 3, 0>}> : (memref<2x3xi1>, memref<2x3xf32>, memref<2x3xf32>) -> ()
// GENERIC: "glow_inst.not"(%c, %c2) <{operandSegmentSizes = array<i32: 2, 0>}> : (memref<2x3xi1>, memref<2x3xi1>) -> ()
// GENERIC: "glow_inst.and"(%c, %c2, %c2) <{operandSegmentSizes = array<i32: 3, 0>}> : (memref<2x3xi1>, memref<2x3xi1>, memref<2x3xi1>) -> ()
// GENERIC: "glow_inst.or"(%c, %c2, %c2) <{operandSegmentSizes = array<i32: 3, 0>}> : (memref<2x3xi1>, memref<2x3xi1>, memref<2x3xi1>) -> ()
// GENERIC: "glow_inst.xor"(%c, %c2, %c2) <{operandSegmentSizes = array<i32: 3, 0>}> : (memref<2x3xi1>, memref<2x3xi1>, memref<2x3xi1>) -> ()
// GENERIC: "glow_inst.select"(%a, %c, %b, %b) <{operandSegmentSizes = array<i32: 4, 0>}> : (memref<2x3xf32>, memref<2x3xi1>, memref<2x3xf32>, memref<2x3xf32>) -> ()
// GENERIC: "glow_inst.transpose"(%t, %a) <{permutation = array<i64: 1, 0>, operandSegmentSizes = array<i32: 2, 0>}> : (memref<3x2xf32>, memref<2x3xf32>) -> ()
// GENERIC: "glow_inst.gather"(%g, %a, %i) <{axis = 1 : i64, operandSegmentSizes = array<i32: 3, 0>}> : (memref<2x2xf32>, memref<2x3xf32>, memref<2xi64>) -> ()
// GENERIC: "glow_inst.convolution"(%conv, %x, %w, %bias) <{pads = array<i64: 1, 1, 1, 1>, operandSegmentSizes = array<i32: 4, 0>, strides = array<i64: 1, 1>,
// GENERIC-SAME: dilations = array<i64: 1, 1>, group = 1 : i64}> : (memref<1x8x5x5xf32>, memref<1x4x5x5xf32>, memref<8x4x3x3xf32>, memref<8xf32>) -> ()
// GENERIC: "glow_inst.max_pool"(%pool, %x) <{kernel = array<i64: 2, 2>, strides = array<i64: 2, 2>, operandSegmentSizes = array<i32: 2, 0>, pads = array<i64: 0,
// GENERIC-SAME: 0, 0, 0>, dilations = array<i64: 1, 1>, ceil_mode = false}> : (memref<1x4x2x2xf32>, memref<1x4x5x5xf32>) -> ()
// GENERIC: "glow_inst.avg_pool"(%pool, %x) <{count_include_pad = true, kernel = array<i64: 2, 2>, strides = array<i64: 2, 2>,
// GENERIC-SAME: operandSegmentSizes = array<i32: 2, 0>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>, ceil_mode = false}> : (memref<1x4x2x2xf32>,
// GENERIC-SAME: memref<1x4x5x5xf32>) -> ()
// GENERIC: "glow_inst.matmul"(%fo, %a, %b) <{transpose_rhs = true, operandSegmentSizes = array<i32: 3, 0>, transpose_lhs = false}> : (memref<2x2xf32>, memref<2x3xf32>, memref<2x3xf32>) -> ()
// GENERIC: "glow_inst.fully_connected"(%fo, %a, %b, %l) <{operandSegmentSizes = array<i32: 4, 0>}> : (memref<2x2xf32>, memref<2x3xf32>, memref<2x3xf32>, memref<2xf32>) -> ()
// GENERIC: "glow_inst.batch_norm"(%x2, %x, %v, %v, %v, %v) <{operandSegmentSizes = array<i32: 6, 0>, epsilon = 1.000000e-05 : f64}>
// GENERIC-SAME: : (memref<1x4x5x5xf32>, memref<1x4x5x5xf32>, memref<4xf32>, memref<4xf32>, memref<4xf32>, memref<4xf32>) -> ()
// GENERIC: "glow_inst.local_response_norm"(%x2, %x) <{size = 3 : i64, operandSegmentSizes = array<i32: 2, 0>, alpha = 1.000000e-04 : f64, beta = 7.500000e-01
// GENERIC-SAME: : f64, k = 1.000000e+00 : f64}> : (memref<1x4x5x5xf32>, memref<1x4x5x5xf32>) -> ()
// GENERIC: "glow_inst.softmax"(%a, %b) <{axis = 1 : i64, operandSegmentSizes = array<i32: 2, 0>}> : (memref<2x3xf32>, memref<2x3xf32>) -> ()
// GENERIC: "glow_inst.log_softmax"(%a, %b) <{axis = 0 : i64, operandSegmentSizes = array<i32: 2, 0>}> : (memref<2x3xf32>, memref<2x3xf32>) -> ()
// GENERIC: "glow_inst.reduce_sum"(%l, %a) <{axes = array<i64: 1>, operandSegmentSizes = array<i32: 2, 0>, keep_dims = false}> : (memref<2xf32>, memref<2x3xf32>) -> ()
// GENERIC: "glow_inst.reduce_mean"(%l, %a) <{axes = array<i64: 1>, operandSegmentSizes = array<i32: 2, 0>, keep_dims = false}> : (memref<2xf32>, memref<2x3xf32>) -> ()
// GENERIC: "glow_inst.reduce_max"(%l, %a) <{axes = array<i64: 1>, operandSegmentSizes = array<i32: 2, 0>, keep_dims = false}> : (memref<2xf32>, memref<2x3xf32>) -> ()
// GENERIC: "glow_inst.reduce_min"(%l, %a) <{axes = array<i64: 1>, operandSegmentSizes = array<i32: 2, 0>, keep_dims = false}> : (memref<2xf32>, memref<2x3xf32>) -> ()
// GENERIC: "glow_inst.reduce_prod"(%l, %a) <{axes = array<i64: 1>, operandSegmentSizes = array<i32: 2, 0>, keep_dims = false}> : (memref<2xf32>, memref<2x3xf32>) -> ()
// GENERIC: "glow_inst.quantize"(%q, %a) <{operandSegmentSizes = array<i32: 2, 0>}> : (memref<2x3x!quant.uniform<i8:f32, 0.05:3>>, memref<2x3xf32>) -> ()
// GENERIC: "glow_inst.dequantize"(%a, %q) <{operandSegmentSizes = array<i32: 2, 0>}> : (memref<2x3xf32>, memref<2x3x!quant.uniform<i8:f32, 0.05:3>>) -> ()
