// RUN: glow-opt %s --form-vta-layers --split-input-file --verify-diagnostics | filecheck %s

// A pooling and a convolution: there is scratch for the tensor between them. What is combined with sums is fetched.

!x = memref<1x16x6x6xi8>
func.func @main(%x: !x {glow.name = "x", glow.qualifier = "in"}, %y: !x {glow.name = "y", glow.qualifier = "out"}) {
  %w = glow_inst.weight dense<3> : tensor<16x16x3x3xi8> : memref<16x16x3x3xi8>
  %b = glow_inst.weight dense<5> : tensor<16xi32> : memref<16xi32>
  %h = glow_inst.alloc_activation : !x
  glow_inst.max_pool @out %h, @in %x kernel [3, 3] pads [1, 1, 1, 1] : !x, !x
  %acc = glow_inst.alloc_activation : memref<1x16x6x6xi32>
  glow_inst.convolution @out %acc, @in %h, @in %w, @in %b pads [1, 1, 1, 1] : memref<1x16x6x6xi32>, !x, memref<16x16x3x3xi8>, memref<16xi32>
  glow_inst.stacked @out %y, @in %acc, @in %x : !x, memref<1x16x6x6xi32>, !x {
  ^bb0(%sum: i32, %other: i8):
    %z = glow.clip %sum min -100 max 100 : (i32) -> i32
    %c = glow.cast %z : (i32) -> i8
    %r = glow.maximum %c, %other : (i8, i8) -> i8
    glow_inst.yield %r : i8
  }
  glow_inst.dealloc_activation %acc : memref<1x16x6x6xi32>
  glow_inst.dealloc_activation %h : !x
  func.return
}

// CHECK:      func.func @main() attributes {vta.config = #vta.config<{{.*}}>, glow.arena_size = 576 : i64, glow.arena_lower_bound = 576 : i64} {
// CHECK-NEXT:   %x = vta.region input "x"
// CHECK-NEXT:   %y = vta.region output "y"
// CHECK-NEXT:   %h = vta.region scratch "h" at {{[0-9]+}} bytes 576 as tensor<1x16x6x6xi8> tiles [1, 16, 1, 1]
// CHECK-NEXT:   %y.weights = vta.region constant "y.weights"
// CHECK-NEXT:   vta.max_pool "h" of %x to %h rows [3, 1, 1, 1] columns [3, 1, 1, 1] least -128
// CHECK-NEXT:   vta.layer "y" blocks [0, 1] {
// CHECK-NEXT:     %0 = vta.product %h blocks [0, 1] by %y.weights at 0 rows [3, 1, 1, 1] columns [3, 1, 1, 1]
// CHECK-NEXT:     %1 = vta.apply add %0 imm 5
// CHECK-NEXT:     %2 = vta.apply max %1 imm -100
// CHECK-NEXT:     %3 = vta.apply min %2 imm 100
// CHECK-NEXT:     %4 = vta.fetch %x
// CHECK-NEXT:     %5 = vta.apply max %3, %4
// CHECK-NEXT:     vta.write %5 to %y
// CHECK-NEXT:   }

// -----

// The bytes of an accumulator, and numbers by channel.

func.func @main(%x: memref<1x16xi8> {glow.name = "x", glow.qualifier = "in"}, %y: memref<1x16xi32> {glow.name = "y", glow.qualifier = "out"}) {
  %w = glow_inst.weight dense<3> : tensor<16x16xi8> : memref<16x16xi8>
  %b = glow_inst.weight dense<[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15]> : tensor<16xi32> : memref<16xi32>
  glow_inst.fully_connected @out %y, @in %x, @in %w, @in %b : memref<1x16xi32>, memref<1x16xi8>, memref<16x16xi8>, memref<16xi32>
  func.return
}

// CHECK:      vta.layer "y" blocks [0, 1] flat vectors %y.vectors {
// CHECK-NEXT:   %0 = vta.product %x blocks [0, 1] by %y.weights at 0
// CHECK-NEXT:   %1 = vta.apply add %0 vector 0
// CHECK-NEXT:   vta.write %1 to %y.0
// CHECK-NEXT:   %2 = vta.apply shr %1 imm 8
// CHECK-NEXT:   vta.write %2 to %y.1

// -----

// A value that is used twice is copied.

func.func @main(%x: memref<1x16xi8> {glow.name = "x", glow.qualifier = "in"}, %y: memref<1x16xi8> {glow.name = "y", glow.qualifier = "out"}) {
  glow_inst.stacked @out %y, @in %x : memref<1x16xi8>, memref<1x16xi8> {
  ^bb0(%0: i8):
    %1 = glow.clip %0 min -9 max 9 : (i8) -> i8
    %2 = glow.mul %1, %1 : (i8, i8) -> i8
    glow_inst.yield %2 : i8
  }
  func.return
}

// CHECK:      %0 = vta.fetch %x
// CHECK:      %[[V:.*]] = vta.apply min {{.*}} imm 9
// CHECK-NEXT: %[[C:.*]] = vta.copy %[[V]]
// CHECK-NEXT: vta.apply mul %[[C]], %[[V]]
