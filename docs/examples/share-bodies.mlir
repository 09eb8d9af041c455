// Two clips that differ in their bounds.
func.func @main(%x: memref<4x8xf32> {glow.qualifier = "in"}, %y: memref<4x8xf32> {glow.qualifier = "out"}) {
  glow_inst.stacked @out %y, @in %x : memref<4x8xf32>, memref<4x8xf32> {
  ^bb0(%a: f32):
    %n = glow.splat value 2.5 : f32
    %m = glow.minimum %a, %n : (f32, f32) -> f32
    glow_inst.yield %m : f32
  }
  glow_inst.stacked @inout %y : memref<4x8xf32> {
  ^bb0(%b: f32):
    %n = glow.splat value 1.5 : f32
    %m = glow.minimum %b, %n : (f32, f32) -> f32
    glow_inst.yield %m : f32
  }
  func.return
}
