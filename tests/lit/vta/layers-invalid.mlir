// RUN: glow-opt %s --split-input-file --verify-diagnostics | filecheck %s

func.func @main() attributes {vta.config = #vta.config<batch = 1, block_in = 16, block_out = 16>} {
  %x = vta.region input "x" at 0 bytes 1024 as tensor<1x16x8x8xi8> tiles [1, 16, 1, 1]
  %w = vta.region constant "w" at 1024 bytes 256 = dense<1> : tensor<256xi8>
  %y = vta.region output "y" at 2048 bytes 1024 as tensor<1x16x8x8xi8> tiles [1, 16, 1, 1]
  vta.layer "y" blocks [0, 1] {
    %0 = vta.fetch %x
  }
  func.return
}
// CHECK: expected a layer to write a tensor

// -----

func.func @main() attributes {vta.config = #vta.config<batch = 1, block_in = 16, block_out = 16>} {
  %x = vta.region input "x" at 0 bytes 1024 as tensor<1x16x8x8xi8> tiles [1, 16, 1, 1]
  %w = vta.region constant "w" at 1024 bytes 256 = dense<1> : tensor<256xi8>
  %y = vta.region output "y" at 2048 bytes 1024 as tensor<1x16x8x8xi8> tiles [1, 16, 1, 1]
  vta.layer "y" blocks [0, 2] {
    %0 = vta.fetch %x
    vta.write %0 to %y
  }
  func.return
}
// CHECK: expected blocks [first, count] of 1, found [0, 2]

// -----

func.func @main() attributes {vta.config = #vta.config<batch = 1, block_in = 16, block_out = 16>} {
  %x = vta.region input "x" at 0 bytes 1024 as tensor<1x16x8x8xi8> tiles [1, 16, 1, 1]
  %w = vta.region constant "w" at 1024 bytes 256 = dense<1> : tensor<256xi8>
  %y = vta.region output "y" at 2048 bytes 1024 as tensor<1x16x8x8xi8> tiles [1, 16, 1, 1]
  vta.layer "y" blocks [0] {
    %0 = vta.fetch %x
    vta.write %0 to %y
  }
  func.return
}
// CHECK: expected 2 numbers, found array<i64: 0>

// -----

func.func @main() attributes {vta.config = #vta.config<batch = 1, block_in = 16, block_out = 16>} {
  %x = vta.region input "x" at 0 bytes 1024 as tensor<1x16x8x8xi8> tiles [1, 16, 1, 1]
  %w = vta.region constant "w" at 1024 bytes 256 = dense<1> : tensor<256xi8>
  %y = vta.region output "y" at 2048 bytes 1024 as tensor<1x16x8x8xi8> tiles [1, 16, 1, 1]
  vta.layer "y" blocks [0, 1] {
    %0 = vta.fetch %x
    vta.write %0 to %y
    vta.max_pool "p" of %x to %y least 0
  }
  func.return
}
// CHECK: expected no vta.max_pool in a layer

// -----

func.func @main() attributes {vta.config = #vta.config<batch = 1, block_in = 16, block_out = 16>} {
  %x = vta.region input "x" at 0 bytes 1024 as tensor<1x16x8x8xi8> tiles [1, 16, 1, 1]
  %w = vta.region constant "w" at 1024 bytes 256 = dense<1> : tensor<256xi8>
  %y = vta.region output "y" at 2048 bytes 1024 as tensor<1x16x8x8xi8> tiles [1, 16, 1, 1]
  vta.layer "y" blocks [0, 1] {
    %0 = vta.fetch %x
    %1 = vta.apply add %0 imm 3
    vta.write %0 to %y
  }
  func.return
}
// CHECK: expected a value that nothing has changed (vta.copy keeps one)

// -----

func.func @main() attributes {vta.config = #vta.config<batch = 1, block_in = 16, block_out = 16>} {
  %x = vta.region input "x" at 0 bytes 1024 as tensor<1x16x8x8xi8> tiles [1, 16, 1, 1]
  %w = vta.region constant "w" at 1024 bytes 256 = dense<1> : tensor<256xi8>
  %y = vta.region output "y" at 2048 bytes 1024 as tensor<1x16x8x8xi8> tiles [1, 16, 1, 1]
  vta.layer "y" blocks [0, 1] {
    %0 = vta.fetch %x
    %1 = vta.apply add %0, %0
    vta.write %1 to %y
  }
  func.return
}
// CHECK: expected two different values (vta.copy makes another)

// -----

func.func @main() attributes {vta.config = #vta.config<batch = 1, block_in = 16, block_out = 16>} {
  %x = vta.region input "x" at 0 bytes 1024 as tensor<1x16x8x8xi8> tiles [1, 16, 1, 1]
  %w = vta.region constant "w" at 1024 bytes 256 = dense<1> : tensor<256xi8>
  %y = vta.region output "y" at 2048 bytes 1024 as tensor<1x16x8x8xi8> tiles [1, 16, 1, 1]
  vta.layer "y" blocks [0, 1] {
    %0 = vta.fetch %x
    %1 = vta.apply add %0
    vta.write %1 to %y
  }
  func.return
}
// CHECK: expected another value, a number (imm) or a vector

// -----

func.func @main() attributes {vta.config = #vta.config<batch = 1, block_in = 16, block_out = 16>} {
  %x = vta.region input "x" at 0 bytes 1024 as tensor<1x16x8x8xi8> tiles [1, 16, 1, 1]
  %w = vta.region constant "w" at 1024 bytes 256 = dense<1> : tensor<256xi8>
  %y = vta.region output "y" at 2048 bytes 1024 as tensor<1x16x8x8xi8> tiles [1, 16, 1, 1]
  vta.layer "y" blocks [0, 1] {
    %0 = vta.fetch %x
    %1 = vta.apply add %0 imm 32768
    vta.write %1 to %y
  }
  func.return
}
// CHECK: expected a number from -32768 to 32767, found 32768

// -----

func.func @main() attributes {vta.config = #vta.config<batch = 1, block_in = 16, block_out = 16>} {
  %x = vta.region input "x" at 0 bytes 1024 as tensor<1x16x8x8xi8> tiles [1, 16, 1, 1]
  %w = vta.region constant "w" at 1024 bytes 256 = dense<1> : tensor<256xi8>
  %y = vta.region output "y" at 2048 bytes 1024 as tensor<1x16x8x8xi8> tiles [1, 16, 1, 1]
  vta.layer "y" blocks [0, 1] {
    %0 = vta.fetch %x
    %1 = vta.apply add %0 vector 0
    vta.write %1 to %y
  }
  func.return
}
// CHECK: expected one of 0 vectors, found 0

// -----

func.func @main() attributes {vta.config = #vta.config<batch = 1, block_in = 16, block_out = 16>} {
  %x = vta.region input "x" at 0 bytes 1024 as tensor<1x16x8x8xi8> tiles [1, 16, 1, 1]
  %w = vta.region constant "w" at 1024 bytes 256 = dense<1> : tensor<256xi8>
  %y = vta.region output "y" at 2048 bytes 1024 as tensor<1x16x8x8xi8> tiles [1, 16, 1, 1]
  vta.layer "y" blocks [0, 1] {
    %0 = vta.fetch %x
    vta.write %0 to %x
  }
  func.return
}
// CHECK: expected an output or scratch to write to

// -----

func.func @main() attributes {vta.config = #vta.config<batch = 1, block_in = 16, block_out = 16>} {
  %x = vta.region input "x" at 0 bytes 1024 as tensor<1x16x8x8xi8> tiles [1, 16, 1, 1]
  %w = vta.region constant "w" at 1024 bytes 256 = dense<1> : tensor<256xi8>
  %y = vta.region output "y" at 2048 bytes 1024 as tensor<1x16x8x8xi8> tiles [1, 16, 1, 1]
  vta.layer "y" blocks [0, 1] {
    %0 = vta.fetch %w
    vta.write %0 to %y
  }
  func.return
}
// CHECK: expected a region with a tensor, found "w"

// -----

func.func @main() attributes {vta.config = #vta.config<batch = 1, block_in = 16, block_out = 16>} {
  %x = vta.region input "x" at 0 bytes 1024 as tensor<1x16x8x8xi8> tiles [1, 16, 1, 1]
  %w = vta.region constant "w" at 1024 bytes 256 = dense<1> : tensor<256xi8>
  %y = vta.region output "y" at 2048 bytes 1024 as tensor<1x16x8x8xi8> tiles [1, 16, 1, 1]
  vta.layer "y" blocks [0, 1] {
    %0 = vta.product %x blocks [0, 2] by %w at 0
    vta.write %0 to %y
  }
  func.return
}
// CHECK: expected blocks [first, count] of 1 of inputs, found [0, 2]

// -----

func.func @main() attributes {vta.config = #vta.config<batch = 1, block_in = 16, block_out = 16>} {
  %x = vta.region input "x" at 0 bytes 1024 as tensor<1x16x8x8xi8> tiles [1, 16, 1, 1]
  %w = vta.region constant "w" at 1024 bytes 256 = dense<1> : tensor<256xi8>
  %y = vta.region output "y" at 2048 bytes 1024 as tensor<1x16x8x8xi8> tiles [1, 16, 1, 1]
  vta.layer "y" blocks [0, 1] {
    %0 = vta.product %x blocks [0, 1] by %w at 0 rows [3, 1, 1, 1] columns [3, 1, 1, 1]
    vta.write %0 to %y
  }
  func.return
}
// CHECK: expected 1 element of weights to be enough, found 9

// -----

func.func @main() attributes {vta.config = #vta.config<batch = 1, block_in = 16, block_out = 16>} {
  %x = vta.region input "x" at 0 bytes 1024 as tensor<1x16x8x8xi8> tiles [1, 16, 1, 1]
  %w = vta.region constant "w" at 1024 bytes 256 = dense<1> : tensor<256xi8>
  %y = vta.region output "y" at 2048 bytes 1024 as tensor<1x16x8x8xi8> tiles [1, 16, 1, 1]
  vta.layer "y" blocks [0, 1] {
    %0 = vta.product %x blocks [0, 1] by %w at 1
    vta.write %0 to %y
  }
  func.return
}
// CHECK: expected 1 element of weights to be enough, found 2

// -----

func.func @main() attributes {vta.config = #vta.config<batch = 1, block_in = 16, block_out = 16>} {
  %x = vta.region input "x" at 0 bytes 1024 as tensor<1x16x8x8xi8> tiles [1, 16, 1, 1]
  %w = vta.region constant "w" at 1024 bytes 256 = dense<1> : tensor<256xi8>
  %y = vta.region output "y" at 2048 bytes 1024 as tensor<1x16x8x8xi8> tiles [1, 16, 1, 1]
  vta.layer "y" blocks [0, 1] {
    %0 = vta.product %x blocks [0, 1] by %w at 0 rows [0, 1, 1, 1]
    vta.write %0 to %y
  }
  func.return
}
// CHECK: expected a window [kernel, stride, dilation, zeros before], found [0, 1, 1, 1]

// -----

func.func @main() attributes {vta.config = #vta.config<batch = 1, block_in = 16, block_out = 16>} {
  %x = vta.region input "x" at 0 bytes 1024 as tensor<1x16x8x8xi8> tiles [1, 16, 1, 1]
  %w = vta.region constant "w" at 1024 bytes 256 = dense<1> : tensor<256xi8>
  %y = vta.region output "y" at 2048 bytes 1024 as tensor<1x16x8x8xi8> tiles [1, 16, 1, 1]
  vta.layer "y" blocks [0, 1] {
    %0 = vta.product %x blocks [0, 1] by %w at 0 rows [3, 1]
    vta.write %0 to %y
  }
  func.return
}
// CHECK: expected 4 numbers, found array<i64: 3, 1>

// -----

func.func @main() attributes {vta.config = #vta.config<batch = 1, block_in = 16, block_out = 16>} {
  %x = vta.region input "x" at 0 bytes 1024 as tensor<1x16x8x8xi8> tiles [1, 16, 1, 1]
  %w = vta.region constant "w" at 1024 bytes 256 = dense<1> : tensor<256xi8>
  %y = vta.region output "y" at 2048 bytes 1024 as tensor<1x16x8x8xi8> tiles [1, 16, 1, 1]
  vta.layer "y" blocks [0, 1] {
    %0 = vta.product %x blocks [0, 1] by %w at 0 grid [2, 32, 1, 64, 4, 8, 8, 1]
    vta.write %0 to %y
  }
  func.return
}
// CHECK: expected inputs of 1 image, as results are, found 2

// -----

func.func @main() attributes {vta.config = #vta.config<batch = 1, block_in = 16, block_out = 16>} {
  %x = vta.region input "x" at 0 bytes 1024 as tensor<1x16x8x8xi8> tiles [1, 16, 1, 1]
  %w = vta.region constant "w" at 1024 bytes 256 = dense<1> : tensor<256xi8>
  %y = vta.region output "y" at 2048 bytes 1024 as tensor<1x16x8x8xi8> tiles [1, 16, 1, 1]
  vta.layer "y" blocks [0, 1] {
    %0 = vta.product %x blocks [0, 1] by %w at 0 grid [1, 64, 1, 64, 8, 8, 9, 1]
    vta.write %0 to %y
  }
  func.return
}
// CHECK: expected a grid in "x", found array<i64: 1, 64, 1, 64, 8, 8, 9, 1>

// -----

func.func @main() attributes {vta.config = #vta.config<batch = 1, block_in = 16, block_out = 16>} {
  %x = vta.region input "x" at 0 bytes 1024 as tensor<1x16x8x8xi8> tiles [1, 16, 1, 1]
  %w = vta.region constant "w" at 1024 bytes 256 = dense<1> : tensor<256xi8>
  %y = vta.region output "y" at 2048 bytes 1024 as tensor<1x16x8x8xi8> tiles [1, 16, 1, 1]
  vta.layer "y" blocks [0, 1] {
    %0 = vta.product %x blocks [0, 1] by %w at 0 grid [1, 64]
    vta.write %0 to %y
  }
  func.return
}
// CHECK: expected 8 numbers, found array<i64: 1, 64>

// -----

func.func @main() attributes {vta.config = #vta.config<batch = 1, block_in = 16, block_out = 16>} {
  %x = vta.region input "x" at 0 bytes 1024 as tensor<1x16x8x8xi8> tiles [1, 16, 1, 1]
  %w = vta.region constant "w" at 1024 bytes 256 = dense<1> : tensor<256xi8>
  %y = vta.region output "y" at 2048 bytes 2048 as tensor<1x32x8x8xi8> tiles [1, 16, 1, 1]
  vta.max_pool "y" of %x to %y least 0
  func.return
}
// CHECK: expected a result with the images and channels of the source

// -----

func.func @main() attributes {vta.config = #vta.config<batch = 1, block_in = 16, block_out = 16>} {
  %x = vta.region input "x" at 0 bytes 1024 as tensor<1x16x8x8xi8> tiles [1, 16, 1, 1]
  %w = vta.region constant "w" at 1024 bytes 256 = dense<1> : tensor<256xi8>
  %y = vta.region output "y" at 2048 bytes 1024 as tensor<1x16x8x8xi8> tiles [1, 16, 1, 1]
  vta.max_pool "y" of %y to %x least 0
  func.return
}
// CHECK: expected an output or scratch to write to

// -----

func.func @main() attributes {vta.config = #vta.config<batch = 1, block_in = 16, block_out = 16>} {
  %x = vta.region input "x" at 0 bytes 1024 as tensor<1x16x8x8xi8> tiles [1, 16, 1, 1]
  %w = vta.region constant "w" at 1024 bytes 256 = dense<1> : tensor<256xi8>
  %y = vta.region output "y" at 2048 bytes 1024 as tensor<1x16x8x8xi8> tiles [1, 16, 1, 1]
  %0 = vta.fetch %x
  func.return
}
// CHECK: 'vta.fetch' expects parent op 'vta.layer'
