// RUN: glow-opt %s --set-machine="vector-bits=256 vector-registers=16" --schedule-nests | filecheck %s
// RUN: glow-opt %s --set-machine="vector-bits=256 vector-registers=16 int8-dots=vpdpbusd" --schedule-nests | filecheck %s --check-prefix=FUSED

// Without an instruction that multiplies words and adds to sums, a product takes a register before
// it is added. Three blocks times four pixels would then need 17 registers.

// CHECK: glow_nest.kernel @words
// CHECK: schedule<register_tile, {{.*}}parts = {p: [0 to 8 by 4], ob: [0 to 6 by 2]}
// FUSED: schedule<register_tile, {{.*}}parts = {p: [0 to 8 by 4], ob: [0 to 6 by 3]}
glow_nest.kernel @words(%y: memref<6x8x8xi32>, %x: memref<8x64xi16>, %w: memref<6x32x8x2xi8>) {
  glow_nest.nest parallel(ob: 6, p: 8, o: 8) reduce(g: 32) add i32 of(%x[64 * p + 2 * g], %w[512 * ob + 16 * g + 2 * o]) terms 2 writes(%y[64 * ob + 8 * p + o])
}
