// A matrix product whose results are clamped: 6 rows, 40 columns, sums of 64 products.
func.func @main(%x: memref<6x64xf32> {glow.name = "x", glow.qualifier = "in"},
                %y: memref<6x40xf32> {glow.name = "y", glow.qualifier = "out"}) {
  %w = glow_inst.weight dense<0.5> : tensor<64x40xf32> : memref<64x40xf32>
  glow_inst.matmul @out %y, @in %x, @in %w : memref<6x40xf32>, memref<6x64xf32>, memref<64x40xf32>
    epilogue {
  ^bb0(%sum: f32):
    %0 = glow.relu %sum : (f32) -> f32
    glow_inst.yield %0 : f32
  }
  func.return
}
