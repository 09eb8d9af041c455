// RUN: glow-opt %s | glow-opt | filecheck %s
// RUN: glow-opt %s --print-op-generic | glow-opt | filecheck %s
// RUN: glow-opt %s --set-machine="has-bf16-dot=true" --generate-loops | filecheck %s --check-prefix=KERNEL
// RUN: not glow-opt %s --generate-loops 2>&1 | filecheck %s --check-prefix=ERROR

func.func @main(%x: memref<1x2x3x3x16xbf16> {glow.name = "x", glow.qualifier = "in"},
    %f: memref<1x2x1x1x8x16x2xbf16> {glow.name = "f", glow.qualifier = "in"}, %b: memref<1x16xf32> {glow.name = "b", glow.qualifier = "in"},
    %y: memref<1x1x3x3x16xf32> {glow.name = "y", glow.qualifier = "out"}, %v: memref<3x6xbf16> {glow.name = "v", glow.qualifier = "in"},
    %w: memref<1x3x16x2xbf16> {glow.name = "w", glow.qualifier = "in"}, %z: memref<3x16xf32> {glow.name = "z", glow.qualifier = "out"})
    attributes {glow.arena_size = 0 : i64, glow.weights_size = 0 : i64} {
  glow_inst.dot_convolution @out %y, @in %x, @in %f, @in %b : memref<1x1x3x3x16xf32>, memref<1x2x3x3x16xbf16>, memref<1x2x1x1x8x16x2xbf16>, memref<1x16xf32>
  glow_inst.dot_matmul @out %z, @in %v, @in %w columns 16 : memref<3x16xf32>, memref<3x6xbf16>, memref<1x3x16x2xbf16>
  func.return
}

// CHECK:      glow_inst.dot_convolution @out %y, @in %x, @in %f, @in %b : memref<1x1x3x3x16xf32>, memref<1x2x3x3x16xbf16>, memref<1x2x1x1x8x16x2xbf16>, memref<1x16xf32>
// CHECK-NEXT: glow_inst.dot_matmul @out %z, @in %v, @in %w columns 16 : memref<3x16xf32>, memref<3x6xbf16>, memref<1x3x16x2xbf16>

// A pair of the image is loaded as one number of 32 bits, which is in all lanes of a vector.

// KERNEL:      @k_dot_convolution
// KERNEL:        vector.load {{.*}}, vector<2xbf16>
// KERNEL-NEXT:   vector.bitcast {{.*}} : vector<2xbf16> to vector<1xi32>
// KERNEL:        vector.broadcast {{.*}} : i32 to vector<16xi32>
// KERNEL-NEXT:   vector.bitcast {{.*}} : vector<16xi32> to vector<32xbf16>
// KERNEL:        glow_vec.dot dpbf16ps {{.*}} : vector<16xf32>, vector<32xbf16>
// KERNEL:      @k_dot_matmul

// ERROR: this machine has no instruction for sums of 2 products of bf16 and bf16

// RUN: not glow-opt %s --set-machine="int8-dots=dot" 2>&1 | filecheck %s --check-prefix=NAMES

// NAMES: expected int8-dots of vpdpbusd, sdot, usdot, found 'dot'
