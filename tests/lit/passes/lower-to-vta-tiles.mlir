// RUN: glow-opt %s --lower-to-vta --split-input-file --verify-diagnostics | filecheck %s

// Tiles that are in the text take effect: four stores of a quarter of the rows.

func.func @main() attributes {vta.config = #vta.config<batch = 1, block_in = 16, block_out = 16>} {
  %x = vta.region input "x" at 0 bytes 1024 as tensor<1x16x8x8xi8> tiles [1, 16, 1, 1]
  %y = vta.region output "y" at 1024 bytes 1024 as tensor<1x16x8x8xi8> tiles [1, 16, 1, 1]
  vta.layer "y" blocks [0, 1] tiles <blocks = 1, rows = 2, columns = 8> {
    %0 = vta.fetch %x
    %1 = vta.apply max %0 imm 0
    vta.write %1 to %y
  }
  func.return
}

// CHECK-COUNT-4: vta.store
// CHECK-NOT:     vta.store
// CHECK:         vta.finish

// -----

// Without tiles, the choice is made here: two tiles of half of the columns.

func.func @main() attributes {vta.config = #vta.config<batch = 1, block_in = 16, block_out = 16>} {
  %x = vta.region input "x" at 0 bytes 1024 as tensor<1x16x8x8xi8> tiles [1, 16, 1, 1]
  %y = vta.region output "y" at 1024 bytes 1024 as tensor<1x16x8x8xi8> tiles [1, 16, 1, 1]
  vta.layer "y" blocks [0, 1] {
    %0 = vta.fetch %x
    %1 = vta.apply max %0 imm 0
    vta.write %1 to %y
  }
  func.return
}

// CHECK-COUNT-2: vta.store
// CHECK-NOT:     vta.store
// CHECK:         vta.finish

// -----

func.func @main() attributes {vta.config = #vta.config<batch = 1, block_in = 16, block_out = 16>} {
  %x = vta.region input "x" at 0 bytes 1024 as tensor<1x16x8x8xi8> tiles [1, 16, 1, 1]
  %y = vta.region output "y" at 1024 bytes 1024 as tensor<1x16x8x8xi8> tiles [1, 16, 1, 1]
  vta.max_pool "y" of %x to %y least -128 tiles <blocks = 1, rows = 2, columns = 8>
  func.return
}

// CHECK-COUNT-4: vta.store
// CHECK-NOT:     vta.store
// CHECK:         vta.finish

// -----

// CHECK: y: expected tiles that fit into the buffers of VtaConfig({{.*}}), found blocks = 1, rows = 3000, columns = 8
func.func @main() attributes {vta.config = #vta.config<batch = 1, block_in = 16, block_out = 16>} {
  %x = vta.region input "x" at 0 bytes 1024 as tensor<1x16x8x8xi8> tiles [1, 16, 1, 1]
  %y = vta.region output "y" at 1024 bytes 1024 as tensor<1x16x8x8xi8> tiles [1, 16, 1, 1]
  vta.layer "y" blocks [0, 1] tiles <blocks = 1, rows = 3000, columns = 8> {
    %0 = vta.fetch %x
    %1 = vta.apply max %0 imm 0
    vta.write %1 to %y
  }
  func.return
}

// -----

// CHECK: y: expected tiles that fit into the buffers of VtaConfig({{.*}}), found blocks = 1, rows = 3000, columns = 8
func.func @main() attributes {vta.config = #vta.config<batch = 1, block_in = 16, block_out = 16>} {
  %x = vta.region input "x" at 0 bytes 1024 as tensor<1x16x8x8xi8> tiles [1, 16, 1, 1]
  %y = vta.region output "y" at 1024 bytes 1024 as tensor<1x16x8x8xi8> tiles [1, 16, 1, 1]
  vta.max_pool "y" of %x to %y least -128 tiles <blocks = 1, rows = 3000, columns = 8>
  func.return
}

// -----

// A program that has instructions already.

// CHECK: expected layers for VTA (glow-form-vta-layers makes them)
func.func @main() attributes {vta.config = #vta.config<batch = 1, block_in = 16, block_out = 16>} {
  vta.finish
  func.return
}
