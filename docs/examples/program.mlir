func.func @main(%x: memref<64xf32> {glow.name = "x", glow.qualifier = "in"}, %y: memref<64xf32> {glow.name = "y", glow.qualifier = "out"}) {
  %a = glow_inst.alloc_activation : memref<64xf32>
  glow_inst.exp @out %a, @in %x : memref<64xf32>, memref<64xf32>
  %b = glow_inst.alloc_activation : memref<64xf32>
  glow_inst.mul @out %b, @in %a, @in %a : memref<64xf32>, memref<64xf32>, memref<64xf32>
  glow_inst.dealloc_activation %a : memref<64xf32>
  %unused = glow_inst.alloc_activation : memref<64xf32>
  glow_inst.relu @out %unused, @in %b : memref<64xf32>, memref<64xf32>
  glow_inst.dealloc_activation %unused : memref<64xf32>
  glow_inst.copy @out %y, @in %b : memref<64xf32>, memref<64xf32>
  glow_inst.dealloc_activation %b : memref<64xf32>
  func.return
}
