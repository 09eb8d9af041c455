// RUN: glow-opt %s --build-nests | filecheck %s

// Kernels compute on stored numbers. Maxima of quantized numbers share a kernel, whatever their scales are. The numbers
// of a change to floats are those of the type, so each type has its kernel.

// CHECK: glow_nest.kernel [[MAX:@k_max_pool_[0-9a-f]+]](%out: memref<1x4x4x4xi8>, %in: memref<1x4x8x8xi8>) {
// CHECK-NOT: glow_nest.kernel @k_max_pool
// CHECK: glow_nest.kernel [[HALF:@k_dequantize_[0-9a-f]+]](%out: memref<1x4x8x8xf32>, %in: memref<1x4x8x8xi8>) {
// CHECK: glow.splat value 0.5 : f32
// CHECK: glow_nest.kernel [[FINE:@k_dequantize_[0-9a-f]+]](%out: memref<1x4x8x8xf32>, %in: memref<1x4x8x8xi8>) {
// CHECK: glow.splat value 0.25 : f32
// CHECK: func.func @main
// CHECK-NEXT: glow_nest.call [[MAX]](
// CHECK-NEXT: glow_nest.call [[MAX]](
// CHECK-NEXT: glow_nest.call [[HALF]](
// CHECK-NEXT: glow_nest.call [[FINE]](
!half = memref<1x4x8x8x!quant.uniform<i8:f32, 0.5:3>>
!fine = memref<1x4x8x8x!quant.uniform<i8:f32, 0.25:5>>
!halves = memref<1x4x4x4x!quant.uniform<i8:f32, 0.5:3>>
!fines = memref<1x4x4x4x!quant.uniform<i8:f32, 0.25:5>>
func.func @main(%x: !half {glow.name = "x", glow.qualifier = "in"}, %y: !fine {glow.name = "y", glow.qualifier = "in"},
                %p: !halves {glow.name = "p", glow.qualifier = "out"}, %q: !fines {glow.name = "q", glow.qualifier = "out"},
                %r: memref<1x4x8x8xf32> {glow.name = "r", glow.qualifier = "out"},
                %s: memref<1x4x8x8xf32> {glow.name = "s", glow.qualifier = "out"})
    attributes {glow.arena_size = 0 : i64, glow.weights_size = 0 : i64} {
  glow_inst.max_pool @out %p, @in %x kernel [2, 2] strides [2, 2] : !halves, !half
  glow_inst.max_pool @out %q, @in %y kernel [2, 2] strides [2, 2] : !fines, !fine
  glow_inst.dequantize @out %r, @in %x : memref<1x4x8x8xf32>, !half
  glow_inst.dequantize @out %s, @in %y : memref<1x4x8x8xf32>, !fine
  func.return
}
