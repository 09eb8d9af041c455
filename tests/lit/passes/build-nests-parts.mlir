// RUN: glow-opt %s --set-machine="l2-bytes=8192" --build-nests --split-input-file | filecheck %s

// A step of the loops over b and p computes the part of w that it needs, in two nests: conditions on
// t cut its loop.
func.func @main(%x: memref<3x8x32xf32> {glow.name = "x", glow.qualifier = "in"}, %c: memref<3x4x16x40xui8> {glow.name = "c", glow.qualifier = "in"}, %y: memref<3x8x4x40xf32> {glow.name = "y", glow.qualifier = "out"}) {
  glow_inst.generic @out %y, @in %x, @in %c formula "y[b, r, p, q] = sum(k, t) x[b, r, 2 * k + t] * w[b, p, k, t, q] where w[b, p, k, t, q] = f32(i32(c[b, p, k, q]) / 16 if t == 1 else i32(c[b, p, k, q])) for t < 2" : memref<3x8x4x40xf32>, memref<3x8x32xf32>, memref<3x4x16x40xui8>
  func.return
}

// CHECK:      glow_nest.repeat %b to 3 {
// CHECK-NEXT:   glow_nest.repeat %p to 4 {
// CHECK-NEXT:     glow_nest.nest parallel(k: 16, t: 1, q: 40) {{.*}} writes(%scratch[80 * k + 40 * t + q])
// CHECK-NOT:      glow.select
// CHECK:          glow_nest.nest parallel(k: 16, t: 1, q: 40) {{.*}} writes(%scratch[80 * k + 40 * t + q + 40])
// CHECK-NOT:      glow.select
// CHECK:          glow_nest.nest parallel(r: 8, q: 40) reduce({{.*}}) add f32

// -----

// The second cache holds all of w.
func.func @main(%x: memref<3x8x8xf32> {glow.name = "x", glow.qualifier = "in"}, %c: memref<3x8x10xui8> {glow.name = "c", glow.qualifier = "in"}, %y: memref<3x8x10xf32> {glow.name = "y", glow.qualifier = "out"}) {
  glow_inst.generic @out %y, @in %x, @in %c formula "y[b, r, q] = sum(k) x[b, r, k] * w[b, k, q] where w[b, k, q] = f32(c[b, k, q])" : memref<3x8x10xf32>, memref<3x8x8xf32>, memref<3x8x10xui8>
  func.return
}

// CHECK-NOT:  glow_nest.repeat
// CHECK:      glow_nest.call
