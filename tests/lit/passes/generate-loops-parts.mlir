// RUN: glow-opt %s --schedule-nests --generate-loops --split-input-file | filecheck %s

// A part of a program without main: a kernel is a function alone, and says what callers need.

glow_nest.kernel @k_half(%out: memref<3000xf32>, %in: memref<3000xf32>) {
  %copy = glow_nest.scratch : memref<3000xf32>
  glow_nest.nest parallel(i: 3000) reads(%in[i]) writes(%copy[i]) raw
  glow_nest.nest parallel(i: 3000) reads(%in[i], %copy[-i + 2999]) writes(%out[i]) body {
  ^bb0(%0: f32, %1: f32):
    %2 = glow.sub %0, %1 : (f32, f32) -> f32
    glow_nest.yield %2 : f32
  }
}

// CHECK-LABEL: func.func private @k_half(
// CHECK-SAME:  memref<12032xi8>) attributes {glow_nest.interface = {scratch_bytes = 12032 : i64}} {
// CHECK-NOT:   @main

// -----

// What has at most 8 KiB lies on the stack, and callers need not know.

glow_nest.kernel @k_centred(%out: memref<7xf32>, %in: memref<7xf32>) {
  %mean = glow_nest.scratch : memref<1xf32>
  glow_nest.nest parallel() reduce(i: 7) add f32 of(%in[i]) writes(%mean[0])
  glow_nest.nest parallel(i: 7) reads(%in[i], %mean[0]) writes(%out[i]) body {
  ^bb0(%0: f32, %1: f32):
    %2 = glow.sub %0, %1 : (f32, f32) -> f32
    glow_nest.yield %2 : f32
  }
}

// CHECK-LABEL: func.func private @k_centred(%{{[^:]*}}: memref<7xf32>, %{{[^:]*}}: memref<7xf32>) {
// CHECK:       memref.alloca() {{.*}} : memref<1xf32>

// -----

// A part that declares its kernel: main has temporary memory for it.

func.func private @k_half(memref<7xf32>, memref<7xf32>, memref<64xi8>) attributes {glow_nest.interface = {scratch_bytes = 64 : i64}}
func.func @main(%x: memref<7xf32> {glow.name = "x", glow.qualifier = "in"}, %y: memref<7xf32> {glow.name = "y", glow.qualifier = "out"})
    attributes {glow.arena_size = 0 : i64, glow.weights_size = 0 : i64} {
  glow_nest.call @k_half(@out %y, @in %x) : memref<7xf32>, memref<7xf32>
  func.return
}

// CHECK:       func.func private @k_half(memref<7xf32>, memref<7xf32>, memref<64xi8>)
// CHECK-LABEL: func.func @main(
// CHECK-SAME:  %arena: memref<64xi8>
// CHECK:       %[[SCRATCH:.*]] = memref.view %arena
// CHECK:       func.call @k_half(%{{.*}}, %{{.*}}, %[[SCRATCH]])
