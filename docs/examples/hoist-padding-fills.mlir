!row = tensor<1x1x4xf32>
func.func @main(%x: !row {glow.name = "x"}) -> (!row {glow.name = "y"}) {
  %a = glow.pad %x {low = array<i64: 0, 0, 1>, high = array<i64: 0, 0, 1>, value = 0.0 : f64} : (!row) -> tensor<1x1x6xf32>
  %b = glow.max_pool %a {kernel = array<i64: 3>, strides = array<i64: 1>, dilations = array<i64: 1>, pads = array<i64: 0, 0>} : (tensor<1x1x6xf32>) -> !row
  %c = glow.exp %b : (!row) -> !row
  %d = glow.pad %c {low = array<i64: 0, 0, 1>, high = array<i64: 0, 0, 1>, value = 0.0 : f64} : (!row) -> tensor<1x1x6xf32>
  %e = glow.max_pool %d {kernel = array<i64: 3>, strides = array<i64: 1>, dilations = array<i64: 1>, pads = array<i64: 0, 0>} : (tensor<1x1x6xf32>) -> !row
  func.return %e : !row
}
