// RUN: glow-opt %s --allocate --split-input-file | filecheck %s

// The third buffer takes the place of the first; equal weights share a place.

func.func @main(%x: memref<64xf32> {glow.qualifier = "in"}, %y: memref<64xf32> {glow.qualifier = "out"}) {
  %w = glow_inst.weight dense<[1.0, 2.0]> : tensor<2xf32> : memref<2xf32>
  %v = glow_inst.weight dense<[1.0, 2.0]> : tensor<2xf32> : memref<2xf32>
  %u = glow_inst.weight dense<[1.0, 3.0]> : tensor<2xf32> : memref<2xf32>
  %a = glow_inst.alloc_activation : memref<64xf32>
  glow_inst.softmax @out %a, @in %x axis 0 : memref<64xf32>, memref<64xf32>
  %b = glow_inst.alloc_activation : memref<64xf32>
  glow_inst.softmax @out %b, @in %a axis 0 : memref<64xf32>, memref<64xf32>
  glow_inst.dealloc_activation %a : memref<64xf32>
  %c = glow_inst.alloc_activation : memref<64xf32>
  glow_inst.softmax @out %c, @in %b axis 0 : memref<64xf32>, memref<64xf32>
  glow_inst.dealloc_activation %b : memref<64xf32>
  glow_inst.softmax @out %y, @in %c axis 0 : memref<64xf32>, memref<64xf32>
  glow_inst.dealloc_activation %c : memref<64xf32>
  func.return
}

// CHECK: func.func @main(%x: memref<64xf32> {glow.qualifier = "in"}, %y: memref<64xf32> {glow.qualifier = "out"})
// CHECK-SAME: attributes {glow.arena_size = 512 : i64, glow.arena_lower_bound = 512 : i64, glow.weights_size = 72 : i64} {
// CHECK-NEXT:   %w = glow_inst.weight dense<[1.000000e+00, 2.000000e+00]> : tensor<2xf32> {offset = 0 : i64} : memref<2xf32>
// CHECK-NEXT:   %v = glow_inst.weight dense<[1.000000e+00, 2.000000e+00]> : tensor<2xf32> {offset = 0 : i64} : memref<2xf32>
// CHECK-NEXT:   %u = glow_inst.weight dense<[1.000000e+00, 3.000000e+00]> : tensor<2xf32> {offset = 64 : i64} : memref<2xf32>
// CHECK-NEXT:   %a = glow_inst.alloc_activation {offset = 256 : i64} : memref<64xf32>
// CHECK-NEXT:   glow_inst.softmax @out %a, @in %x axis 0 : memref<64xf32>, memref<64xf32>
// CHECK-NEXT:   %b = glow_inst.alloc_activation {offset = 0 : i64} : memref<64xf32>
// CHECK-NEXT:   glow_inst.softmax @out %b, @in %a axis 0 : memref<64xf32>, memref<64xf32>
// CHECK-NEXT:   glow_inst.dealloc_activation %a : memref<64xf32>
// CHECK-NEXT:   %c = glow_inst.alloc_activation {offset = 256 : i64} : memref<64xf32>
// CHECK-NEXT:   glow_inst.softmax @out %c, @in %b axis 0 : memref<64xf32>, memref<64xf32>
// CHECK-NEXT:   glow_inst.dealloc_activation %b : memref<64xf32>
// CHECK-NEXT:   glow_inst.softmax @out %y, @in %c axis 0 : memref<64xf32>, memref<64xf32>
// CHECK-NEXT:   glow_inst.dealloc_activation %c : memref<64xf32>
// CHECK-NEXT:   func.return
// CHECK-NEXT: }

// -----

// Planning again replaces the old plan.

func.func @again(%x: memref<3xi8> {glow.qualifier = "in"}, %y: memref<3xi8> {glow.qualifier = "out"}) {
  %a = glow_inst.alloc_activation {offset = 4096 : i64} : memref<3xi8>
  glow_inst.copy @out %a, @in %x : memref<3xi8>, memref<3xi8>
  glow_inst.copy @out %y, @in %a : memref<3xi8>, memref<3xi8>
  glow_inst.dealloc_activation %a : memref<3xi8>
  func.return
}

// CHECK: func.func @again(%x: memref<3xi8> {glow.qualifier = "in"}, %y: memref<3xi8> {glow.qualifier = "out"})
// CHECK-SAME: attributes {glow.arena_size = 64 : i64, glow.arena_lower_bound = 3 : i64, glow.weights_size = 0 : i64} {
// CHECK-NEXT:   %a = glow_inst.alloc_activation {offset = 0 : i64} : memref<3xi8>
// CHECK-NEXT:   glow_inst.copy @out %a, @in %x : memref<3xi8>, memref<3xi8>
// CHECK-NEXT:   glow_inst.copy @out %y, @in %a : memref<3xi8>, memref<3xi8>
// CHECK-NEXT:   glow_inst.dealloc_activation %a : memref<3xi8>
// CHECK-NEXT:   func.return
// CHECK-NEXT: }

// -----

// A graph beside a program is left alone.

func.func @program(%y: memref<2xf32> {glow.qualifier = "out"}) {
  glow_inst.splat @out %y value 1.0 : memref<2xf32>
  func.return
}
func.func @graph(%x: tensor<2xf32>) -> tensor<2xf32> {
  func.return %x : tensor<2xf32>
}

// CHECK: func.func @program({{.*}}) attributes {glow.arena_size = 0 : i64
// CHECK: func.func @graph(%x: tensor<2xf32>) -> tensor<2xf32> {
// CHECK-NEXT:   func.return %x : tensor<2xf32>
// CHECK-NEXT: }
