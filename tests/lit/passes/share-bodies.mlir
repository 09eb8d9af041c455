// RUN: glow-opt %s --share-bodies --split-input-file | filecheck %s

// The number that differs becomes an operand. The one that both loops have stays.

func.func @main(%x: memref<2x40xf32> {glow.qualifier = "in"}, %y: memref<2x40xf32> {glow.qualifier = "out"}) {
  %a = glow_inst.alloc_activation : memref<2x40xf32>
  glow_inst.stacked @out %a, @in %x : memref<2x40xf32>, memref<2x40xf32> {
  ^bb0(%0: f32):
    %1 = glow.splat value 0.3 : f32
    %2 = glow.mul %0, %1 : (f32, f32) -> f32
    %3 = glow.splat value 0.5 : f32
    %4 = glow.add %2, %3 : (f32, f32) -> f32
    glow_inst.yield %4 : f32
  }
  glow_inst.stacked @out %y, @in %a : memref<2x40xf32>, memref<2x40xf32> {
  ^bb0(%0: f32):
    %1 = glow.splat value 0.7 : f32
    %2 = glow.mul %0, %1 : (f32, f32) -> f32
    %3 = glow.splat value 0.5 : f32
    %4 = glow.add %2, %3 : (f32, f32) -> f32
    glow_inst.yield %4 : f32
  }
  glow_inst.dealloc_activation %a : memref<2x40xf32>
  func.return
}


// CHECK: [[A:%.*]] = glow_inst.weight dense<3.000000e-01> : tensor<1xf32> : memref<1xf32>
// CHECK-NEXT: [[THREE:%.*]] = glow_inst.tensor_view [[A]] : memref<1xf32> to memref<2x40xf32, strided<[0, 0]>>
// CHECK-NEXT: [[B:%.*]] = glow_inst.weight dense<7.000000e-01> : tensor<1xf32> : memref<1xf32>
// CHECK-NEXT: [[SEVEN:%.*]] = glow_inst.tensor_view [[B]] : memref<1xf32> to memref<2x40xf32, strided<[0, 0]>>
// CHECK: glow_inst.stacked @out %a, @in %x, @in [[THREE]] :
// CHECK-NEXT: ^bb0([[X:%.*]]: f32, [[N:%.*]]: f32):
// CHECK-NEXT: [[P:%.*]] = glow.mul [[X]], [[N]] : (f32, f32) -> f32
// CHECK-NEXT: [[H:%.*]] = glow.splat value 0.5 : f32
// CHECK-NEXT: [[S:%.*]] = glow.add [[P]], [[H]] : (f32, f32) -> f32
// CHECK-NEXT: glow_inst.yield [[S]] : f32
// CHECK: glow_inst.stacked @out %y, @in %a, @in [[SEVEN]] :

// -----

// Scales of quantized types are numbers, too. One number that divides and multiplies is one operand.

func.func @main(%x: memref<4xf32> {glow.qualifier = "in"}, %y: memref<4xf32> {glow.qualifier = "out"}) {
  %p = glow_inst.alloc_activation : memref<4x!quant.uniform<u8:f32, 0.05:3>>
  %a = glow_inst.alloc_activation : memref<4xf32>
  %q = glow_inst.alloc_activation : memref<4x!quant.uniform<u8:f32, 0.06:3>>
  glow_inst.quantize @out %p, @in %x : memref<4x!quant.uniform<u8:f32, 0.05:3>>, memref<4xf32>
  glow_inst.dequantize @out %a, @in %p : memref<4xf32>, memref<4x!quant.uniform<u8:f32, 0.05:3>>
  glow_inst.quantize @out %q, @in %a : memref<4x!quant.uniform<u8:f32, 0.06:3>>, memref<4xf32>
  glow_inst.dequantize @out %y, @in %q : memref<4xf32>, memref<4x!quant.uniform<u8:f32, 0.06:3>>
  glow_inst.dealloc_activation %p : memref<4x!quant.uniform<u8:f32, 0.05:3>>
  glow_inst.dealloc_activation %a : memref<4xf32>
  glow_inst.dealloc_activation %q : memref<4x!quant.uniform<u8:f32, 0.06:3>>
  func.return
}


// CHECK: [[A:%.*]] = glow_inst.weight dense<5.000000e-02>
// CHECK: [[FIVE:%.*]] = glow_inst.tensor_view [[A]]
// CHECK: [[B:%.*]] = glow_inst.weight dense<6.000000e-02>
// CHECK: [[SIX:%.*]] = glow_inst.tensor_view [[B]]
// CHECK: glow_inst.stacked @out %p, @in %x, @in [[FIVE]] : memref<4x!quant.uniform<u8:f32, 0.05:3>>, memref<4xf32>, memref<4xf32, strided<[0]>> {
// CHECK-NEXT: ^bb0([[X:%.*]]: f32, [[N:%.*]]: f32):
// CHECK-NEXT: glow.div [[X]], [[N]] : (f32, f32) -> f32
// CHECK: glow.splat value 3 : i32
// CHECK: [[R:%.*]] = glow.storage_cast {{.*}} : (ui8) -> !quant.uniform<u8:f32, 0.05:3>
// CHECK-NEXT: glow_inst.yield [[R]] : !quant.uniform<u8:f32, 0.05:3>
// CHECK: glow_inst.stacked @out %a, @in %p, @in [[FIVE]] :
// CHECK: glow_inst.stacked @out %q, @in %a, @in [[SIX]] :
// CHECK: glow_inst.stacked @out %y, @in %q, @in [[SIX]] :

// -----

// Epilogues have their numbers behind their other operands.

func.func @main(%x: memref<4x4xf32> {glow.qualifier = "in"}, %y: memref<4x4xf32> {glow.qualifier = "out"}) {
  %a = glow_inst.alloc_activation : memref<4x4xf32>
  glow_inst.matmul @out %a, @in %x, @in %x : memref<4x4xf32>, memref<4x4xf32>, memref<4x4xf32> epilogue {
  ^bb0(%0: f32):
    %1 = glow.leaky_relu %0 alpha 0.1 : (f32) -> f32
    glow_inst.yield %1 : f32
  }
  glow_inst.matmul @out %y, @in %a, @in %a : memref<4x4xf32>, memref<4x4xf32>, memref<4x4xf32> epilogue {
  ^bb0(%0: f32):
    %1 = glow.leaky_relu %0 alpha 0.2 : (f32) -> f32
    glow_inst.yield %1 : f32
  }
  glow_inst.dealloc_activation %a : memref<4x4xf32>
  func.return
}

// CHECK: [[A:%.*]] = glow_inst.weight dense<1.000000e-01>
// CHECK: [[ONE:%.*]] = glow_inst.tensor_view [[A]]
// CHECK: [[B:%.*]] = glow_inst.weight dense<2.000000e-01>
// CHECK: [[TWO:%.*]] = glow_inst.tensor_view [[B]]
// CHECK: glow_inst.matmul @out %a, @in %x, @in %x : memref<4x4xf32>, memref<4x4xf32>, memref<4x4xf32> epilogue @in [[ONE]] : memref<4x4xf32, strided<[0, 0]>> {
// CHECK-NEXT: ^bb0([[X:%.*]]: f32, [[N:%.*]]: f32):
// CHECK-NEXT: [[Z:%.*]] = glow.splat value 0 : f32
// CHECK-NEXT: [[C:%.*]] = glow.less_equal [[Z]], [[X]] : (f32, f32) -> i1
// CHECK-NEXT: [[P:%.*]] = glow.mul [[N]], [[X]] : (f32, f32) -> f32
// CHECK-NEXT: [[S:%.*]] = glow.select [[C]], [[X]], [[P]] : (i1, f32, f32) -> f32
// CHECK-NEXT: glow_inst.yield [[S]] : f32
// CHECK: glow_inst.matmul @out %y, @in %a, @in %a : memref<4x4xf32>, memref<4x4xf32>, memref<4x4xf32> epilogue @in [[TWO]] :

// -----

// Code depends on 0 and 1, on powers of two that divide, and on exponents. Bodies that are equal, differ in an
// operation, or work on other shapes stay, too.

func.func @main(%x: memref<4xf32> {glow.qualifier = "in"}, %z: memref<5xf32> {glow.qualifier = "in"}, %y: memref<4xf32> {glow.qualifier = "out"}, %u: memref<5xf32> {glow.qualifier = "out"}) {
  glow_inst.leaky_relu @out %u, @in %z alpha 0.1 : memref<5xf32>, memref<5xf32>
  glow_inst.leaky_relu @out %y, @in %x alpha 0.2 : memref<4xf32>, memref<4xf32>
  glow_inst.stacked @inout %y : memref<4xf32> {
  ^bb0(%0: f32):
    %1 = glow.splat value 0.3 : f32
    %2 = glow.mul %0, %1 : (f32, f32) -> f32
    glow_inst.yield %2 : f32
  }
  glow_inst.stacked @inout %y : memref<4xf32> {
  ^bb0(%0: f32):
    %1 = glow.splat value 0.3 : f32
    %2 = glow.mul %0, %1 : (f32, f32) -> f32
    glow_inst.yield %2 : f32
  }
  glow_inst.stacked @inout %y : memref<4xf32> {
  ^bb0(%0: f32):
    %1 = glow.splat value 1.0 : f32
    %2 = glow.mul %0, %1 : (f32, f32) -> f32
    glow_inst.yield %2 : f32
  }
  glow_inst.stacked @inout %y : memref<4xf32> {
  ^bb0(%0: f32):
    %1 = glow.splat value 4.0 : f32
    %2 = glow.div %0, %1 : (f32, f32) -> f32
    glow_inst.yield %2 : f32
  }
  glow_inst.stacked @inout %y : memref<4xf32> {
  ^bb0(%0: f32):
    %1 = glow.splat value 8.0 : f32
    %2 = glow.div %0, %1 : (f32, f32) -> f32
    glow_inst.yield %2 : f32
  }
  glow_inst.stacked @inout %y : memref<4xf32> {
  ^bb0(%0: f32):
    %1 = glow.splat value 2.5 : f32
    %2 = glow.pow %0, %1 : (f32, f32) -> f32
    glow_inst.yield %2 : f32
  }
  glow_inst.stacked @inout %y : memref<4xf32> {
  ^bb0(%0: f32):
    %1 = glow.splat value 3.5 : f32
    %2 = glow.pow %0, %1 : (f32, f32) -> f32
    glow_inst.yield %2 : f32
  }
  func.return
}

// CHECK: func.func @main(%x: memref<4xf32>
// CHECK-NEXT: glow_inst.leaky_relu @out %u, @in %z alpha 0.1
// CHECK-NEXT: glow_inst.leaky_relu @out %y, @in %x alpha 0.2
// CHECK-NOT: glow_inst.weight
// CHECK: glow.splat value 0.3 : f32
// CHECK: glow.splat value 0.3 : f32
// CHECK: glow.splat value 1.0 : f32
// CHECK: glow.splat value 4.0 : f32
// CHECK: glow.splat value 8.0 : f32
// CHECK: glow.splat value 2.5 : f32
// CHECK: glow.splat value 3.5 : f32
// CHECK-NOT: glow_inst.weight
// CHECK: func.return

// -----

// Buffers of no dimension read numbers through views of no dimension.

func.func @main(%x: memref<f32> {glow.qualifier = "in"}, %y: memref<f32> {glow.qualifier = "out"}) {
  %a = glow_inst.alloc_activation : memref<f32>
  glow_inst.leaky_relu @out %a, @in %x alpha 0.1 : memref<f32>, memref<f32>
  glow_inst.leaky_relu @out %y, @in %a alpha 0.2 : memref<f32>, memref<f32>
  glow_inst.dealloc_activation %a : memref<f32>
  func.return
}

// CHECK: [[N:%.*]] = glow_inst.tensor_view {{.*}} : memref<1xf32> to memref<f32>
// CHECK: [[M:%.*]] = glow_inst.tensor_view {{.*}} : memref<1xf32> to memref<f32>
// CHECK: glow_inst.stacked @out %a, @in %x, @in [[N]] : memref<f32>, memref<f32>, memref<f32> {
// CHECK: glow_inst.stacked @out %y, @in %a, @in [[M]] : memref<f32>, memref<f32>, memref<f32> {
