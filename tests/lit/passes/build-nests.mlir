// RUN: glow-opt %s --build-nests | filecheck %s
// RUN: glow-opt %s --build-nests --schedule-nests | filecheck %s --check-prefix=SCHEDULE
// RUN: glow-opt %s --set-machine="vector-bits=256 vector-registers=16" --build-nests --schedule-nests | filecheck %s --check-prefix=NARROW
// RUN: glow-opt %s --build-nests="threads=2" --schedule-nests --divide-nests="threads=2" | filecheck %s --check-prefix=DIVIDE

// Equal instructions share a kernel. A nest says what is computed; a schedule, how; a split, by whom.

// CHECK: glow_nest.kernel [[KERNEL:@k_exp_[0-9a-f]+]](%out: memref<64x128xf32>, %in: memref<64x128xf32>) {
// CHECK-NEXT: glow_nest.nest parallel(d0: 64, d1: 128) reads(%in[128 * d0 + d1]) writes(%out[128 * d0 + d1]) body {
// CHECK-NEXT: ^bb0(%0: f32):
// CHECK-NEXT:   %1 = glow.exp %0 : (f32) -> f32
// CHECK-NEXT:   glow_nest.yield %1 : f32
// CHECK-NEXT: }
// CHECK-NEXT: }
// CHECK-NEXT: func.func @main
// CHECK: glow_nest.call [[KERNEL]](@out %a, @in %x) : memref<64x128xf32>, memref<64x128xf32>
// CHECK-NEXT: glow_nest.call [[KERNEL]](@out %y, @in %a) : memref<64x128xf32>, memref<64x128xf32>

// SCHEDULE: glow_nest.nest parallel(d0d1: 8192) reads(%in[d0d1]) writes(%out[d0d1]) body {
// SCHEDULE: } schedule<elementwise, order = [d0d1], vector = d0d1, lanes = 16>

// NARROW: } schedule<elementwise, order = [d0d1], vector = d0d1, lanes = 16>

// DIVIDE: glow_nest.kernel @{{.*}} threads 2 {
// DIVIDE: } schedule<elementwise, order = [d0d1], vector = d0d1, lanes = 16> split<0 to 0{{.*}}>
func.func @main(%x: memref<64x128xf32> {glow.name = "x", glow.qualifier = "in"}, %y: memref<64x128xf32> {glow.name = "y", glow.qualifier = "out"})
    attributes {glow.arena_size = 32768 : i64, glow.weights_size = 0 : i64} {
  %a = glow_inst.alloc_activation {offset = 0 : i64} : memref<64x128xf32>
  glow_inst.exp @out %a, @in %x : memref<64x128xf32>, memref<64x128xf32>
  glow_inst.exp @out %y, @in %a : memref<64x128xf32>, memref<64x128xf32>
  glow_inst.dealloc_activation %a : memref<64x128xf32>
  func.return
}
