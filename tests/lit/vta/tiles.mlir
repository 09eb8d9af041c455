// RUN: glow-opt %s --split-input-file --parsing-diagnostics --allow-unregistered-dialect | filecheck %s

// Tiles of layers: what differs from the default is written.

"test.op"() {a = #vta.tiles<blocks = 4, rows = 7, columns = 14, inputs = 2, weights_first = true, idle = 3>} : () -> ()
"test.op"() {a = #vta.tiles<columns = 14, blocks = 4, rows = 7, inputs = 1, weights_first = false, idle = 0>} : () -> ()

// CHECK: a = #vta.tiles<blocks = 4, rows = 7, columns = 14, inputs = 2, weights_first = true, idle = 3>
// CHECK: a = #vta.tiles<blocks = 4, rows = 7, columns = 14>}

// -----

// CHECK: expected one of blocks, rows, columns, inputs, weights_first, idle, found row
"test.op"() {a = #vta.tiles<blocks = 4, row = 7, columns = 14>} : () -> ()

// -----

// CHECK: expected rows of the tiles
"test.op"() {a = #vta.tiles<blocks = 4, columns = 14>} : () -> ()

// -----

// CHECK: expected tiles of at least one element, found blocks = 0, rows = 7, columns = 14
"test.op"() {a = #vta.tiles<blocks = 0, rows = 7, columns = 14>} : () -> ()
