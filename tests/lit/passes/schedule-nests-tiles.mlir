// What finishes the results of tile registers has a schedule of its own, one for each group of pixels.
// RUN: glow-opt %s --schedule-nests | filecheck %s
// CHECK: schedule<amx_tile, rows = 10, panels = 2, {{.*}}, finish = [(p: 20, panelo: 32)<elementwise, order = [p, panelo], vector = panelo, lanes = 16>]>


// A schedule that is edited takes effect, and the text is read as it is written.
// RUN: glow-opt %s --schedule-nests | sed "s/vector = panelo, lanes = 16/vector = panelo, lanes = 4/" | glow-opt - --generate-loops | filecheck %s --check-prefix=EDITED
// EDITED: glow_vec.tile_store
// EDITED: vector.load {{.*}} vector<4xi32>
// EDITED-NOT: vector<16xi32>

// One of other loops is an error, and so is none.
// RUN: glow-opt %s --schedule-nests | sed "s/finish = \[(p: 20, panelo: 32)/finish = [(p: 21, panelo: 32)/" | not glow-opt - --generate-loops 2>&1 | filecheck %s --check-prefix=OTHER
// OTHER: expected finish with the loops p:20, panelo:32, found p:21, panelo:32
// RUN: glow-opt %s --schedule-nests | sed "s/, finish = .*/>/" | not glow-opt - --generate-loops 2>&1 | filecheck %s --check-prefix=NONE
// NONE: expected finish for each of 1 groups, found 0

module attributes {glow.machine = #glow.machine<int8_dots = [vpdpbusd], has_int8_tiles = true>} {
  glow_nest.kernel @k_product(%y: memref<20x32xi32>, %x: memref<20x64xui8>, %w: memref<2x16x16x4xi8>, %z: memref<20x48xi32>) {
    glow_nest.nest parallel(r: 20, p: 2, j: 16) reduce(g: 16) add i32 of(%x[64 * r + 4 * g], %w[1024 * p + 64 * g + 4 * j]) terms 4
        reads(%z[48 * r + 16 * p + j]) writes(%y[32 * r + 16 * p + j]) body {
    ^bb0(%0: i32, %1: i32):
      %2 = glow.maximum %0, %1 : (i32, i32) -> i32
      glow_nest.yield %2 : i32
    }
  }
  func.func @main() attributes {glow.arena_size = 0 : i64, glow.weights_size = 0 : i64} {
    func.return
  }
}
