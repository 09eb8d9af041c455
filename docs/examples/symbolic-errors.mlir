func.func @main(%x: tensor<1x1x?xf32, #glow.dims<height>>) {
  %a = glow.max_pool %x kernel [3] : (tensor<1x1x?xf32, #glow.dims<height>>) -> tensor<1x1x?xf32, #glow.dims<height - 2>>
  func.return
}
// -----
func.func @main(%x: tensor<?xf32, #glow.dims<2 * n>>) {
  %a = glow.exp %x : (tensor<?xf32, #glow.dims<2 * n>>) -> tensor<?xf32, #glow.dims<2 * n>>
  func.return
}
