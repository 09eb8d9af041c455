// A convolution of 16 to 16 channels; the result is divided by 16, rounded, and not negative.
func.func @main(%x: memref<1x16x6x6xi8> {glow.name = "x", glow.qualifier = "in"}, %y: memref<1x16x6x6x!quant.uniform<i8:f32, 0.5>> {glow.name = "y", glow.qualifier = "out"}) {
  %w = glow_inst.weight dense<3> : tensor<16x16x3x3xi8> : memref<16x16x3x3xi8>
  %b = glow_inst.weight dense<5> : tensor<16xi32> : memref<16xi32>
  glow_inst.convolution @out %y, @in %x, @in %w, @in %b pads [1, 1, 1, 1] : memref<1x16x6x6x!quant.uniform<i8:f32, 0.5>>, memref<1x16x6x6xi8>, memref<16x16x3x3xi8>, memref<16xi32> epilogue {
  ^bb0(%acc: i32):
    %p = glow.relu %acc : (i32) -> i32
    %m = glow.splat value 1 : i32
    %s = glow.splat value 4 : i32
    %r = glow.rescale %p, %m, %s : (i32, i32, i32) -> !quant.uniform<i8:f32, 0.5>
    glow_inst.yield %r : !quant.uniform<i8:f32, 0.5>
  }
  func.return
}
