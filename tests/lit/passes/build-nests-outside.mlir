// RUN: glow-opt %s --build-nests --split-input-file | filecheck %s

// A copy with a border is four times as large as the image, but smaller than what windows read.
func.func @main(%x: memref<1x400x6x6xf32> {glow.name = "x", glow.qualifier = "in"}, %w: memref<400x1x7x7xf32> {glow.name = "w", glow.qualifier = "in"}, %b: memref<400xf32> {glow.name = "b", glow.qualifier = "in"}, %y: memref<1x400x6x6xf32> {glow.name = "y", glow.qualifier = "out"}) {
  glow_inst.convolution @out %y, @in %x, @in %w, @in %b pads [3, 3, 3, 3] group 400 : memref<1x400x6x6xf32>, memref<1x400x6x6xf32>, memref<400x1x7x7xf32>, memref<400xf32>
  func.return
}

// CHECK:      glow_nest.scratch : memref<57600xf32>
// CHECK-NOT:  glow.select
// CHECK:      glow_nest.call

// -----

// Few elements of a large border would be read.
func.func @main(%x: memref<7xf32> {glow.name = "x", glow.qualifier = "in"}, %y: memref<9xf32> {glow.name = "y", glow.qualifier = "out"}) {
  glow_inst.generic @out %y, @in %x formula "y[i] = x[i * 5000 | outside: 0] for i < 9" : memref<9xf32>, memref<7xf32>
  func.return
}

// CHECK:      glow.select
// CHECK:      glow_nest.call
