func.func @main(%x: tensor<3x2xf32>) -> tensor<3x4xf32> {
  %w = glow.constant dense<[[[1.0, 2.0, 3.0, 4.0], [5.0, 6.0, 7.0, 0.1]]]> : tensor<1x2x4xf32>
  %y = glow_cpu.packed_matmul %x, %w columns 4 : (tensor<3x2xf32>, tensor<1x2x4xf32>) -> tensor<3x4xf32>
  func.return %y : tensor<3x4xf32>
}
