!row = tensor<1x1x4xf32>
func.func @main(%x: !row {glow.name = "x"}) -> (!row {glow.name = "y"}) {
  %a = glow.pad %x low [0, 0, 1] high [0, 0, 1] value 0.0 : (!row) -> tensor<1x1x6xf32>
  %b = glow.max_pool %a kernel [3] : (tensor<1x1x6xf32>) -> !row
  %c = glow.exp %b : (!row) -> !row
  %d = glow.pad %c low [0, 0, 1] high [0, 0, 1] value 0.0 : (!row) -> tensor<1x1x6xf32>
  %e = glow.max_pool %d kernel [3] : (tensor<1x1x6xf32>) -> !row
  func.return %e : !row
}
