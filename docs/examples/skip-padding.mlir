func.func @main(%x: tensor<1x2x100xf32>, %w: tensor<64x2x3xf32>, %b: tensor<64xf32>) -> tensor<1x64x100xf32> {
  %y = glow.convolution %x, %w, %b pads [90, 90] dilations [90] : (tensor<1x2x100xf32>, tensor<64x2x3xf32>, tensor<64xf32>) -> tensor<1x64x100xf32>
  func.return %y : tensor<1x64x100xf32>
}
