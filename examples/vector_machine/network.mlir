// A layer of a network.
func.func @main(%x: tensor<1x3xf32> {glow.name = "x"}) -> (tensor<1x20xf32> {glow.name = "y"}) {
  %w = glow.constant dense<0.25> : tensor<20x3xf32>
  %b = glow.constant dense<-1.0> : tensor<20xf32>
  %h = glow.fully_connected %x, %w, %b : (tensor<1x3xf32>, tensor<20x3xf32>, tensor<20xf32>) -> tensor<1x20xf32>
  %y = glow.relu %h : (tensor<1x20xf32>) -> tensor<1x20xf32>
  func.return %y : tensor<1x20xf32>
}
