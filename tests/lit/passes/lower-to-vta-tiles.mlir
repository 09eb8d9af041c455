// RUN: glow-opt %s --lower-to-vta --split-input-file --verify-diagnostics | filecheck %s

// Tiles that are in the text take effect: four stores of a quarter of the rows.

!x = memref<1x16x8x8xi8>
func.func @main(%x: !x {glow.name = "x", glow.qualifier = "in"}, %y: !x {glow.name = "y", glow.qualifier = "out"}) {
  glow_inst.stacked @out %y, @in %x {vta.tiles = [#vta.tiles<blocks = 1, rows = 2, columns = 8>]} : !x, !x {
  ^bb0(%0: i8):
    %1 = glow.relu %0 : (i8) -> i8
    glow_inst.yield %1 : i8
  }
  func.return
}

// CHECK-COUNT-4: vta.store
// CHECK-NOT:     vta.store
// CHECK:         vta.finish

// -----

// Without the attribute, the choice is made here: two tiles of half of the columns.

!x = memref<1x16x8x8xi8>
func.func @main(%x: !x {glow.name = "x", glow.qualifier = "in"}, %y: !x {glow.name = "y", glow.qualifier = "out"}) {
  glow_inst.stacked @out %y, @in %x : !x, !x {
  ^bb0(%0: i8):
    %1 = glow.relu %0 : (i8) -> i8
    glow_inst.yield %1 : i8
  }
  func.return
}

// CHECK-COUNT-2: vta.store
// CHECK-NOT:     vta.store
// CHECK:         vta.finish

// -----

!x = memref<1x16x8x8xi8>
func.func @main(%x: !x {glow.name = "x", glow.qualifier = "in"}, %y: !x {glow.name = "y", glow.qualifier = "out"}) {
  glow_inst.max_pool @out %y, @in %x kernel [1, 1] {vta.tiles = [#vta.tiles<blocks = 1, rows = 2, columns = 8>]} : !x, !x
  func.return
}

// CHECK-COUNT-4: vta.store
// CHECK-NOT:     vta.store
// CHECK:         vta.finish

// -----

// CHECK: y: expected tiles that fit into the buffers of VtaConfig({{.*}}), found blocks = 1, rows = 3000, columns = 8
!x = memref<1x16x8x8xi8>
func.func @main(%x: !x {glow.name = "x", glow.qualifier = "in"}, %y: !x {glow.name = "y", glow.qualifier = "out"}) {
  glow_inst.stacked @out %y, @in %x {vta.tiles = [#vta.tiles<blocks = 1, rows = 3000, columns = 8>]} : !x, !x {
  ^bb0(%0: i8):
    %1 = glow.relu %0 : (i8) -> i8
    glow_inst.yield %1 : i8
  }
  func.return
}

// -----

// CHECK: y: expected tiles that fit into the buffers of VtaConfig({{.*}}), found blocks = 1, rows = 3000, columns = 8
!x = memref<1x16x8x8xi8>
func.func @main(%x: !x {glow.name = "x", glow.qualifier = "in"}, %y: !x {glow.name = "y", glow.qualifier = "out"}) {
  glow_inst.max_pool @out %y, @in %x kernel [1, 1] {vta.tiles = [#vta.tiles<blocks = 1, rows = 3000, columns = 8>]} : !x, !x
  func.return
}

// -----

// CHECK: y: expected vta.tiles of 1 layer, found []
!x = memref<1x16x8x8xi8>
func.func @main(%x: !x {glow.name = "x", glow.qualifier = "in"}, %y: !x {glow.name = "y", glow.qualifier = "out"}) {
  glow_inst.stacked @out %y, @in %x {vta.tiles = []} : !x, !x {
  ^bb0(%0: i8):
    %1 = glow.relu %0 : (i8) -> i8
    glow_inst.yield %1 : i8
  }
  func.return
}

// -----

// CHECK: y: expected vta.tiles of 1 layer, found 4 : i64
!x = memref<1x16x8x8xi8>
func.func @main(%x: !x {glow.name = "x", glow.qualifier = "in"}, %y: !x {glow.name = "y", glow.qualifier = "out"}) {
  glow_inst.stacked @out %y, @in %x {vta.tiles = 4} : !x, !x {
  ^bb0(%0: i8):
    %1 = glow.relu %0 : (i8) -> i8
    glow_inst.yield %1 : i8
  }
  func.return
}
