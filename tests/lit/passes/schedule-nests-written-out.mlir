// RUN: glow-opt %s --set-machine="vector-bits=256 vector-registers=16" --schedule-nests --split-input-file | filecheck %s
// RUN: glow-opt %s --set-machine="vector-bits=256 vector-registers=32" --schedule-nests --split-input-file | filecheck %s --check-prefix=MORE

// A nest that reads few vectors of the stack is written out, so that the places of all are known. One that writes there
// is written out if all of them may stay in registers: 24 of 32, but not of 16.

glow_nest.kernel @passes(%y: memref<4x6x8xf32>, %x: memref<4x6x8xf32>) {
  %s = glow_nest.scratch : memref<192xf32>
  glow_nest.repeat %n to 4 {
    glow_nest.nest parallel(i: 6, l: 8) reads(%x[48 * %n + 8 * i + l]) writes(%s[32 * i + l], %s[32 * i + l + 8], %s[32 * i + l + 16], %s[32 * i + l + 24]) body {
    ^bb0(%0: f32):
      %1 = glow.neg %0 : (f32) -> f32
      glow_nest.yield %0, %1, %0, %1 : f32, f32, f32, f32
    }
    glow_nest.nest parallel(i: 6, l: 8) reads(%s[8 * i + l], %s[8 * i + l + 48]) writes(%y[48 * %n + 8 * i + l]) body {
    ^bb0(%0: f32, %1: f32):
      %2 = glow.add %0, %1 : (f32, f32) -> f32
      glow_nest.yield %2 : f32
    }
  }
}

// CHECK-LABEL: glow_nest.kernel @passes
// CHECK:       schedule<elementwise, order = [i, l], vector = l, lanes = 8>
// CHECK:       schedule<elementwise, order = [il], vector = il, lanes = 8, written_out = il>

// MORE-LABEL:  glow_nest.kernel @passes
// MORE:        schedule<elementwise, order = [i, l], vector = l, lanes = 8, written_out = i>
// MORE:        schedule<elementwise, order = [il], vector = il, lanes = 8, written_out = il>

// -----

// Loops of other memory, nested loops, and loops of many iterations stay loops; so do vectors that overlap at the end.

glow_nest.kernel @loops(%y: memref<96x16xf32>, %x: memref<96x16xf32>) {
  %s = glow_nest.scratch : memref<1536xf32>
  %t = glow_nest.scratch : memref<20xf32>
  glow_nest.nest parallel(i: 6, l: 8) reads(%x[16 * i + l]) writes(%y[8 * i + l]) raw
  glow_nest.nest parallel(i: 1536) reads(%s[i]) writes(%y[i]) body {
  ^bb0(%0: f32):
    %1 = glow.neg %0 : (f32) -> f32
    glow_nest.yield %1 : f32
  }
  glow_nest.nest parallel(i: 2, j: 3, l: 8) reads(%s[9 * i + 20 * j + l]) writes(%y[90 * i + 16 * j + l]) raw
  glow_nest.nest parallel(l: 20) reads(%t[l]) writes(%y[l]) raw
}

// CHECK-LABEL: glow_nest.kernel @loops
// CHECK-NOT:   written_out
