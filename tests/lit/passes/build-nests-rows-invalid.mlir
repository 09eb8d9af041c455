// RUN: glow-opt %s --irgen --allocate --build-nests --split-input-file --verify-diagnostics | filecheck %s

// CHECK: glow_inst.copy: expected rows that its loops can end with, found a part of its rows, from row 1 on
func.func @main(%x: tensor<24x8xf32> {glow.rows = array<i64: 0>}, %n: tensor<i64> {glow.row_count}) -> tensor<23x8xf32> {
  %y = glow.slice %x starts [1, 0] sizes [23, 8] : (tensor<24x8xf32>) -> tensor<23x8xf32>
  func.return %y : tensor<23x8xf32>
}

// -----

// CHECK: glow_inst.exp: expected rows that its loops can end with, found a part of its 24 rows
func.func @main(%x: tensor<24x8xf32> {glow.rows = array<i64: 0>}, %n: tensor<i64> {glow.row_count}) -> tensor<5x8xf32> {
  %s = glow.slice %x sizes [5, 8] : (tensor<24x8xf32>) -> tensor<5x8xf32>
  %y = glow.exp %s : (tensor<5x8xf32>) -> tensor<5x8xf32>
  func.return %y : tensor<5x8xf32>
}

// -----

// CHECK: glow_inst.exp: expected rows that its loops can end with, found elements of several rows in one dimension
func.func @main(%x: tensor<24x8xf32> {glow.rows = array<i64: 0>}, %n: tensor<i64> {glow.row_count}) -> tensor<12x16xf32> {
  %r = glow.reshape %x : (tensor<24x8xf32>) -> tensor<12x16xf32>
  %y = glow.exp %r : (tensor<12x16xf32>) -> tensor<12x16xf32>
  func.return %y : tensor<12x16xf32>
}

// -----

// CHECK: glow_inst.max_pool: expected rows that its loops can end with, found
func.func @main(%x: tensor<1x8x24x1xf32> {glow.rows = array<i64: 2>}, %n: tensor<i64> {glow.row_count}) -> tensor<1x8x23x1xf32> {
  %y = glow.max_pool %x kernel [2, 1] : (tensor<1x8x24x1xf32>) -> tensor<1x8x23x1xf32>
  func.return %y : tensor<1x8x23x1xf32>
}

// -----

// CHECK: found rows that an index chooses
func.func @main(%x: tensor<24x8xf32> {glow.rows = array<i64: 0>}, %i: tensor<3xi64>, %n: tensor<i64> {glow.row_count}) -> tensor<3x8xf32> {
  %y = glow.gather %x, %i axis 0 : (tensor<24x8xf32>, tensor<3xi64>) -> tensor<3x8xf32>
  func.return %y : tensor<3x8xf32>
}

// -----

// CHECK: glow_inst.copy: expected rows that its loops can end with, found a value whose parts have rows in different places
func.func @main(%x: tensor<24x8xf32> {glow.rows = array<i64: 0>}, %z: tensor<8x24xf32> {glow.rows = array<i64: 1>}, %n: tensor<i64> {glow.row_count}) -> tensor<2x192xf32> {
  %a = glow.reshape %x : (tensor<24x8xf32>) -> tensor<1x192xf32>
  %b = glow.reshape %z : (tensor<8x24xf32>) -> tensor<1x192xf32>
  %y = glow.concat %a, %b axis 0 : (tensor<1x192xf32>, tensor<1x192xf32>) -> tensor<2x192xf32>
  func.return %y : tensor<2x192xf32>
}
