// RUN: glow-opt %s --set-machine="int8-dots=vpdpbusd" --generate-loops --split-input-file | filecheck %s

// A quad of the image is one number of 32 bits, in all lanes; the epilogue works on sums in registers. Images that are multiplied in pairs are widened to 16 bits first, filters when they are loaded.

func.func @main(%x: memref<1x1x3x3x16xui8> {glow.name = "x", glow.qualifier = "in"},
    %f: memref<1x1x1x1x4x16x4xi8> {glow.name = "f", glow.qualifier = "in"}, %b: memref<1x16xi32> {glow.name = "b", glow.qualifier = "in"},
    %y: memref<1x1x3x3x16xui8> {glow.name = "y", glow.qualifier = "out"}, %v: memref<3x4xi8> {glow.name = "v", glow.qualifier = "in"},
    %w: memref<1x2x16x2xi8> {glow.name = "w", glow.qualifier = "in"}, %z: memref<3x16xi32> {glow.name = "z", glow.qualifier = "out"})
    attributes {glow.arena_size = 0 : i64, glow.weights_size = 0 : i64} {
  glow_inst.dot_convolution @out %y, @in %x, @in %f, @in %b : memref<1x1x3x3x16xui8>, memref<1x1x3x3x16xui8>, memref<1x1x1x1x4x16x4xi8>, memref<1x16xi32> epilogue {
  ^bb0(%0: i32):
    %1 = glow.cast %0 : (i32) -> f32
    %2 = glow.quantize %1 : (f32) -> !quant.uniform<u8:f32, 1.0:3>
    %3 = glow.storage_cast %2 : (!quant.uniform<u8:f32, 1.0:3>) -> ui8
    glow_inst.yield %3 : ui8
  }
  glow_inst.dot_matmul @out %z, @in %v, @in %w columns 16 : memref<3x16xi32>, memref<3x4xi8>, memref<1x2x16x2xi8>
  func.return
}

// CHECK:      @k_dot_convolution
// CHECK:        vector.load {{.*}}, vector<4xi8>
// CHECK-NEXT:   vector.bitcast {{.*}} : vector<4xi8> to vector<1xi32>
// CHECK:        vector.broadcast {{.*}} : i32 to vector<16xi32>
// CHECK-NEXT:   vector.bitcast {{.*}} : vector<16xi32> to vector<64xi8>
// CHECK:        glow_vec.dot vpdpbusd {{.*}} : vector<16xi32>, vector<64xi8>
// CHECK:        glow_vec.cast sitofp {{.*}} : vector<16xi32> to vector<16xf32>
// CHECK:        glow_vec.cast lrint {{.*}} : vector<16xf32> to vector<16xi32>
// CHECK:        glow_vec.cast trunci {{.*}} : vector<16xi32> to vector<16xi8>
// CHECK:      @k_dot_matmul
// CHECK:        glow_vec.cast extsi {{.*}} to vector<{{.*}}xi16>
// CHECK:        glow_vec.cast extsi {{.*}} : vector<32xi8> to vector<32xi16>
// CHECK:        glow_vec.dot madd {{.*}} : vector<16xi32>, vector<32xi16>
