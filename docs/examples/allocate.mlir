func.func @main(%x: memref<64xf32> {glow.name = "x", glow.qualifier = "in"}, %y: memref<64xf32> {glow.name = "y", glow.qualifier = "out"}) {
  %w = glow_inst.weight dense<[1.0, 2.0, 3.0, 4.0]> : tensor<4xf32> : memref<4xf32>
  %a = glow_inst.alloc_activation : memref<64xf32>
  glow_inst.exp @out %a, @in %x : memref<64xf32>, memref<64xf32>
  %b = glow_inst.alloc_activation : memref<64xf32>
  glow_inst.sin @out %b, @in %a : memref<64xf32>, memref<64xf32>
  glow_inst.dealloc_activation %a : memref<64xf32>
  %c = glow_inst.alloc_activation : memref<64xf32>
  glow_inst.cos @out %c, @in %b : memref<64xf32>, memref<64xf32>
  glow_inst.dealloc_activation %b : memref<64xf32>
  glow_inst.abs @out %y, @in %c : memref<64xf32>, memref<64xf32>
  glow_inst.dealloc_activation %c : memref<64xf32>
  func.return
}
