// RUN: glow-opt %s --set-machine="has-int8-tiles=true int8-dots=vpdpbusd" --schedule-nests | filecheck %s
// RUN: glow-opt %s --set-machine="has-int8-tiles=true int8-dots=vpdpbusd" --schedule-nests | glow-opt --print-op-generic | glow-opt | filecheck %s
// RUN: glow-opt %s --set-machine="int8-dots=vpdpbusd" --schedule-nests | filecheck %s --check-prefix=VECTORS

// Much of a product of bytes is for tile registers, whose schedule says how far ahead a large filter
// is prefetched.

// CHECK: glow_nest.kernel @large
// CHECK: schedule<amx_tile, {{.*}}, prefetch_distance = 4096, finish = {{.*}}>
// VECTORS: glow_nest.kernel @large
// VECTORS: schedule<register_tile, {{.*}}, prefetch_distance = {1: 4096}, {{.*}}>
glow_nest.kernel @large(%y: memref<32x16xi32>, %x: memref<32x32768xui8>, %w: memref<8192x16x4xi8>) {
  glow_nest.nest parallel(p: 32, l: 16) reduce(q: 8192) add i32 of(%x[32768 * p + 4 * q], %w[64 * q + 4 * l]) terms 4 writes(%y[16 * p + l])
}

// A small filter stays near.

// CHECK: glow_nest.kernel @small
// CHECK: schedule<amx_tile,
// CHECK-NOT: prefetch
// VECTORS: glow_nest.kernel @small
// VECTORS: schedule<register_tile,
// VECTORS-NOT: prefetch
glow_nest.kernel @small(%y: memref<32x16xi32>, %x: memref<32x256xui8>, %w: memref<64x16x4xi8>) {
  glow_nest.nest parallel(p: 32, l: 16) reduce(q: 64) add i32 of(%x[256 * p + 4 * q], %w[64 * q + 4 * l]) terms 4 writes(%y[16 * p + l])
}
