// RUN: glow-opt %s | filecheck %s
// RUN: glow-opt %s | glow-opt - | filecheck %s
// RUN: glow-opt %s --print-op-generic | glow-opt - | filecheck %s
// RUN: glow-opt %s --canonicalize --cse --dce | filecheck %s

// Layers, with and without their optional parts. Nothing is folded or removed.

func.func @main() attributes {vta.config = #vta.config<batch = 1, block_in = 16, block_out = 16>} {
  %x = vta.region input "x" at 0 bytes 2048 as tensor<1x32x8x8xi8> tiles [1, 16, 1, 1]
  %w = vta.region constant "w" at 2048 bytes 9216 = dense<1> : tensor<9216xi8>
  %v = vta.region constant "v" at 12288 bytes 256 = dense<7> : tensor<64xi32>
  %s = vta.region scratch "s" at 16384 bytes 512 as tensor<1x32x4x4xi8> tiles [1, 16, 1, 1]
  %y = vta.region output "y" at 20480 bytes 512 as tensor<1x32x4x4xi8> tiles [1, 16, 1, 1]
  // CHECK:      vta.layer "a" blocks [0, 1] vectors %v tiles <blocks = 1, rows = 2, columns = 4> {
  vta.layer "a" blocks [0, 1] vectors %v tiles <blocks = 1, rows = 2, columns = 4> {
    // CHECK-NEXT: %0 = vta.product %x blocks [0, 2] by %w at 18 rows [3, 2, 1, 1] columns [3, 2, 1, 1]
    %0 = vta.product %x blocks [0, 2] by %w at 18 rows [3, 2, 1, 1] columns [3, 2, 1, 1]
    // CHECK-NEXT: %1 = vta.product %x blocks [1, 1] by %w at 0 grid [1, 128, 2, 64, 4, 16, 4, 2] uniform plus %0
    %1 = vta.product %x blocks [1, 1] by %w at 0 grid [1, 128, 2, 64, 4, 16, 4, 2] uniform plus %0
    // CHECK-NEXT: %2 = vta.copy %1
    %2 = vta.copy %1
    // CHECK-NEXT: %3 = vta.apply add %1 vector 1
    %3 = vta.apply add %1 vector 1
    // CHECK-NEXT: %4 = vta.apply shr %3 imm -4
    %4 = vta.apply shr %3 imm -4
    // CHECK-NEXT: %5 = vta.apply mul %4, %2
    %5 = vta.apply mul %4, %2
    // CHECK-NEXT: vta.write %5 to %s
    vta.write %5 to %s
  }
  // CHECK:      vta.layer "b" blocks [1, 1] {
  // CHECK-NEXT:   %6 = vta.fetch %s
  // CHECK-NEXT:   vta.write %6 to %y
  vta.layer "b" blocks [1, 1] {
    %6 = vta.fetch %s
    vta.write %6 to %y
  }
  // CHECK:      vta.max_pool "c" of %x to %y rows [2, 2, 1, 0] columns [2, 2, 1, 0] least -128 tiles <blocks = 2, rows = 4, columns = 4>
  vta.max_pool "c" of %x to %y rows [2, 2, 1, 0] columns [2, 2, 1, 0] least -128 tiles <blocks = 2, rows = 4, columns = 4>
  // CHECK-NEXT: vta.max_pool "d" of %s to %y least 0
  vta.max_pool "d" of %s to %y least 0
  func.return
}

// CHECK: @single_pixels
func.func @single_pixels() attributes {vta.config = #vta.config<batch = 1, block_in = 16, block_out = 16>} {
  %x = vta.region input "x" at 0 bytes 48 as tensor<3x16xi8> tiles [1, 16]
  %y = vta.region output "y" at 256 bytes 48 as tensor<3x16xi8> tiles [1, 16]
  // CHECK: vta.layer "y" blocks [0, 1] flat {
  vta.layer "y" blocks [0, 1] flat {
    %0 = vta.fetch %x
    vta.write %0 to %y
  }
  func.return
}
