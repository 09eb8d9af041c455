// RUN: glow-opt %s --set-machine="vector-bits=256 vector-registers=16 has-fma=false" --generate-loops --split-input-file | filecheck %s

// The machine decides about lanes, tiles, and whether a product and a sum are one operation.

func.func @main(%x: memref<1x1x64x64xf32> {glow.name = "x", glow.qualifier = "in"},
    %y: memref<1x1x64x64xf32> {glow.name = "y", glow.qualifier = "out"}) attributes {glow.arena_size = 100 : i64, glow.weights_size = 128 : i64} {
  %w = glow_inst.weight #glow.blob<"w.bin", 0, 36> {offset = 0 : i64} : memref<1x1x3x3xf32>
  %b = glow_inst.weight #glow.blob<"w.bin", 36, 4> {offset = 64 : i64} : memref<1xf32>
  glow_inst.convolution @out %y, @in %x, @in %w, @in %b pads [1, 1, 1, 1] : memref<1x1x64x64xf32>, memref<1x1x64x64xf32>, memref<1x1x3x3xf32>, memref<1xf32>
  func.return
}

// The padded copy of the image is in scratch: in the arena, which grows as no buffer is alive.

// CHECK:      func.func private @k_convolution_{{[0-9a-f]+}}(%{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %[[SCRATCH:.*]]: memref<17472xi8>)
// CHECK:        memref.view %[[SCRATCH]]{{.*}} to memref<4356xf32>
// CHECK-NOT:    vector<16xf32>
// CHECK-NOT:    vector.fma
// CHECK:        arith.mulf %{{.*}} : vector<8xf32>
// CHECK-NEXT:   arith.addf %{{.*}} : vector<8xf32>
// CHECK:      func.func @main({{.*}}%arena: memref<17472xi8>) attributes {glow.arena_size = 17472 : i64
// CHECK:        %[[AT:.*]] = arith.constant 0 : index
// CHECK:        memref.view %arena[%[[AT]]][] : memref<17472xi8> to memref<17472xi8>

// -----

// Windows that move by two elements are loaded as two vectors, of which every second lane is taken; nothing is copied.

func.func @main(%x: memref<1x1x8x33xf32> {glow.name = "x", glow.qualifier = "in"},
    %y: memref<1x1x6x16xf32> {glow.name = "y", glow.qualifier = "out"}) attributes {glow.arena_size = 0 : i64, glow.weights_size = 128 : i64} {
  %w = glow_inst.weight #glow.blob<"w.bin", 0, 36> {offset = 0 : i64} : memref<1x1x3x3xf32>
  %b = glow_inst.weight #glow.blob<"w.bin", 36, 4> {offset = 64 : i64} : memref<1xf32>
  glow_inst.convolution @out %y, @in %x, @in %w, @in %b strides [1, 2] : memref<1x1x6x16xf32>, memref<1x1x8x33xf32>, memref<1x1x3x3xf32>, memref<1xf32>
  func.return
}

// CHECK:      func.func private @k_convolution_{{[0-9a-f]+}}(%{{[0-9]+}}: memref<1x1x6x16xf32>, %{{[0-9]+}}: memref<1x1x8x33xf32>, %{{[0-9]+}}: memref<1x1x3x3xf32>, %{{[0-9]+}}: memref<1xf32>) {
// CHECK-NOT:    memref.view
// CHECK:        %[[EVEN:.*]] = vector.shuffle %{{.*}}, %{{.*}} [0, 2, 4, 6, 9, 11, 13, 15] : vector<8xf32>, vector<8xf32>
// CHECK:        arith.mulf {{.*}}%[[EVEN]]
