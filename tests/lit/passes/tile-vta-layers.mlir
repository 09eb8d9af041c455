// RUN: glow-opt %s --form-vta-layers="inp-depth=64 acc-depth=32" --tile-vta-layers --split-input-file | filecheck %s
// RUN: glow-opt %s --form-vta-layers="inp-depth=64 acc-depth=32" --tile-vta-layers="start=2000 dram-latency=0" --split-input-file | filecheck %s --check-prefix=SLOW

// A convolution whose accumulators are more than the buffer holds. Where instructions start slowly, fewer and larger tiles take less time.

!x = memref<1x16x8x8x!quant.uniform<i8:f32, 0.5>>
!q = !quant.uniform<i8:f32, 1.0>
!y = memref<1x16x8x8x!quant.uniform<i8:f32, 1.0>>
func.func @main(%x: !x {glow.name = "x", glow.qualifier = "in"}, %y: !y {glow.name = "y", glow.qualifier = "out"}) {
  %w = glow_inst.alloc_activation : memref<16x16x1x1xi8>
  glow_inst.splat @out %w value 3 : memref<16x16x1x1xi8>
  %b = glow_inst.weight dense<5> : tensor<16xi32> : memref<16xi32>
  glow_inst.convolution @out %y, @in %x, @in %w, @in %b : !y, !x, memref<16x16x1x1xi8>, memref<16xi32> epilogue {
  ^bb0(%acc: i32):
    %m = glow.splat value 1 : i32
    %s = glow.splat value 4 : i32
    %r = glow.rescale %acc, %m, %s : (i32, i32, i32) -> !q
    glow_inst.yield %r : !q
  }
  glow_inst.dealloc_activation %w : memref<16x16x1x1xi8>
  func.return
}

// CHECK: vta.layer "y" blocks [0, 1] tiles <blocks = 1, rows = 8, columns = 2, weights_first = true> {
// SLOW:  vta.layer "y" blocks [0, 1] tiles <blocks = 1, rows = 8, columns = 4, weights_first = true> {

// -----

// A largest number of windows.

!x = memref<1x16x4x4x!quant.uniform<i8:f32, 0.5>>
!y = memref<1x16x2x2x!quant.uniform<i8:f32, 0.5>>
func.func @main(%x: !x {glow.name = "x", glow.qualifier = "in"}, %y: !y {glow.name = "y", glow.qualifier = "out"}) {
  glow_inst.max_pool @out %y, @in %x kernel [1, 2] strides [2, 2] pads [0, 1, 0, 0] : !y, !x
  func.return
}

// CHECK: vta.max_pool "y" of %x to %y rows [1, 2, 1, 0] columns [2, 2, 1, 1] least -128 tiles <blocks = 1, rows = 2, columns = 2>

// -----

// What stays in accumulators is no layer, and has no tiles.

!t = memref<1x16x2x2xi8>
func.func @main(%x: !t {glow.name = "x", glow.qualifier = "in"}, %y: !t {glow.name = "y", glow.qualifier = "out"}) {
  %a = glow_inst.alloc_activation : !t
  glow_inst.relu @out %a, @in %x : !t, !t
  glow_inst.maximum @out %y, @in %a, @in %x : !t, !t, !t
  glow_inst.dealloc_activation %a : !t
  func.return
}

// CHECK-NOT: vta.layer "a"
// CHECK:     vta.layer "y" blocks [0, 1] tiles <blocks = 1, rows = 2, columns = 2, weights_first = true> {
