// RUN: glow-opt %s | glow-opt | filecheck %s
// RUN: glow-opt %s --print-op-generic | glow-opt | filecheck %s

func.func @recurrent(%y: memref<2x6x2x3xf32>, %x: memref<5x2x12xf32>, %w: memref<3x12xf32>, %i: memref<2x2x3xf32>, %p: memref<3x3xf32>,
    %m: memref<5x2xi1>, %y3: memref<1x6x2x3xf32>, %x3: memref<5x2x9xf32>, %w3: memref<3x9xf32>, %i3: memref<1x2x3xf32>, %b: memref<1x3xf32>,
    %x1: memref<5x2x3xf32>, %w1: memref<3x3xf32>) {
  glow_inst.lstm @out %y, @in %x, @in %w, @in %i, @in %p : memref<2x6x2x3xf32>, memref<5x2x12xf32>, memref<3x12xf32>, memref<2x2x3xf32>, memref<3x3xf32>
  glow_inst.gru @out %y3, @in %x3, @in %w3, @in %i3, @in %b, @in %m reverse true : memref<1x6x2x3xf32>, memref<5x2x9xf32>, memref<3x9xf32>, memref<1x2x3xf32>, memref<1x3xf32>, memref<5x2xi1>
  glow_inst.rnn @out %y3, @in %x1, @in %w1, @in %i3 : memref<1x6x2x3xf32>, memref<5x2x3xf32>, memref<3x3xf32>, memref<1x2x3xf32>
  func.return
}

// CHECK: glow_inst.lstm @out %y, @in %x, @in %w, @in %i, @in %p : memref<2x6x2x3xf32>
// CHECK: glow_inst.gru @out %y3, @in %x3, @in %w3, @in %i3, @in %b, @in %m reverse true : memref<1x6x2x3xf32>
// CHECK: glow_inst.rnn @out %y3, @in %x1, @in %w1, @in %i3 : memref<1x6x2x3xf32>
