// RUN: glow-opt %s --limit-rows='rows="x=1","m=0" count=n' --split-input-file | filecheck %s

// The number of rows is an input, and inputs say which of their dimensions it bounds.
func.func @main(%x: tensor<1x24x8xf32> {glow.name = "x"}, %m: tensor<24xf32> {glow.name = "m"}) -> tensor<1x24x8xf32> {
  %y = glow.relu %x : (tensor<1x24x8xf32>) -> tensor<1x24x8xf32>
  func.return %y : tensor<1x24x8xf32>
}

// CHECK:      func.func @main(%x: tensor<1x24x8xf32> {glow.name = "x", glow.rows = array<i64: 1>}, %m: tensor<24xf32> {glow.name = "m", glow.rows = array<i64: 0>}, %n: tensor<i64> {glow.name = "n", glow.row_count}) -> tensor<1x24x8xf32> {
// CHECK-NEXT:   %y = glow.relu %x : (tensor<1x24x8xf32>) -> tensor<1x24x8xf32>
// CHECK-NEXT:   func.return %y : tensor<1x24x8xf32>

// -----

// Other functions stay.
func.func @other(%x: tensor<1x24x8xf32>) -> tensor<1x24x8xf32> {
  func.return %x : tensor<1x24x8xf32>
}

// CHECK:     func.func @other(%x: tensor<1x24x8xf32>) -> tensor<1x24x8xf32> {
