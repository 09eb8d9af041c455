// Two branches of convolutions, and a fully connected layer with many weights.
func.func @main(%x: tensor<1x8x12x12xf32> {glow.name = "x"}) -> (tensor<1x10xf32> {glow.name = "y"}) {
  %w1 = glow.constant dense<0.25> : tensor<8x8x1x1xf32>
  %w3 = glow.constant dense<0.125> : tensor<16x8x3x3xf32>
  %b8 = glow.constant dense<0.5> : tensor<8xf32>
  %b16 = glow.constant dense<-0.5> : tensor<16xf32>
  %narrow = glow.convolution %x, %w1, %b8 : (tensor<1x8x12x12xf32>, tensor<8x8x1x1xf32>, tensor<8xf32>) -> tensor<1x8x12x12xf32>
  %wide = glow.convolution %x, %w3, %b16 pads [1, 1, 1, 1] : (tensor<1x8x12x12xf32>, tensor<16x8x3x3xf32>, tensor<16xf32>) -> tensor<1x16x12x12xf32>
  %r1 = glow.relu %narrow : (tensor<1x8x12x12xf32>) -> tensor<1x8x12x12xf32>
  %r3 = glow.relu %wide : (tensor<1x16x12x12xf32>) -> tensor<1x16x12x12xf32>
  %both = glow.concat %r1, %r3 axis 1 : (tensor<1x8x12x12xf32>, tensor<1x16x12x12xf32>) -> tensor<1x24x12x12xf32>
  %p = glow.max_pool %both kernel [2, 2] strides [2, 2] : (tensor<1x24x12x12xf32>) -> tensor<1x24x6x6xf32>
  %flat = glow.reshape %p : (tensor<1x24x6x6xf32>) -> tensor<1x864xf32>
  %wf = glow.constant dense<0.0625> : tensor<10x864xf32>
  %bf = glow.constant dense<0.0> : tensor<10xf32>
  %f = glow.fully_connected %flat, %wf, %bf : (tensor<1x864xf32>, tensor<10x864xf32>, tensor<10xf32>) -> tensor<1x10xf32>
  %y = glow.softmax %f axis 1 : (tensor<1x10xf32>) -> tensor<1x10xf32>
  func.return %y : tensor<1x10xf32>
}
