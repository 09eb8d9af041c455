// RUN: glow-opt %s --set-machine="byte-lookups=vpermi2b,pshufb" --schedule-nests --generate-loops | filecheck %s
// RUN: glow-opt %s --set-machine="vector-bits=256 vector-registers=16 byte-lookups=pshufb" --schedule-nests --generate-loops | filecheck %s --check-prefix=ROWS
// RUN: glow-opt %s --schedule-nests --generate-loops | filecheck %s --check-prefix=GATHERED

// Bytes of a table of 256 are looked up in registers, whether indices are signed or not.

glow_nest.kernel @bytes(%y: memref<65xi8>, %t: memref<256xi8>, %i: memref<65xui8>, %s: memref<65xi8>) {
  glow_nest.nest parallel(n: 65) reads(%t[index(%i[n], 256, unsigned)]) writes(%y[n]) raw
  glow_nest.nest parallel(n: 65) reads(%t[index(%s[n], 256)]) writes(%y[n]) raw
}

// CHECK-LABEL: func.func private @bytes
// CHECK:         %[[I:.*]] = vector.load %{{.*}} : memref<65xi8>, vector<64xi8>
// CHECK-NEXT:    %[[T:.*]] = vector.load %{{.*}} : memref<256xi8>, vector<256xi8>
// CHECK-NEXT:    %[[R:.*]] = glow_vec.lookup vpermi2b %[[T]], %[[I]] : vector<256xi8>, vector<64xi8>
// CHECK-NEXT:    vector.store %[[R]], %{{.*}} : memref<65xi8>, vector<64xi8>
// CHECK:         glow_vec.lookup vpermi2b
// CHECK-NOT:     glow_vec.gather

// ROWS-LABEL: func.func private @bytes
// ROWS:         glow_vec.lookup pshufb %{{.*}}, %{{.*}} : vector<256xi8>, vector<32xi8>
// ROWS-NOT:     glow_vec.gather
// ROWS-LABEL: func.func private @others

// GATHERED-LABEL: func.func private @bytes
// GATHERED-NOT:   glow_vec.lookup
// GATHERED:       glow_vec.gather {{.*}} : memref<256xi8>, vector<64xindex>, vector<64xi1>, vector<64xi8>

// Not words, tables of another size, elements further apart, or rows of a table.

glow_nest.kernel @others(%y: memref<64xi8>, %w: memref<64xi16>, %t: memref<512xi8>, %v: memref<256xi16>, %i: memref<64xui8>) {
  glow_nest.nest parallel(n: 64) reads(%v[index(%i[n], 256, unsigned)]) writes(%w[n]) raw
  glow_nest.nest parallel(n: 64) reads(%t[index(%i[n], 200, unsigned)]) writes(%y[n]) raw
  glow_nest.nest parallel(n: 64) reads(%t[2 * index(%i[n], 256, unsigned)]) writes(%y[n]) raw
  glow_nest.nest parallel(n: 64) reads(%t[n + index(%i[n], 256, unsigned)]) writes(%y[n]) raw
}

// CHECK-LABEL: func.func private @others
// CHECK-NOT:     glow_vec.lookup
// CHECK-COUNT-4: glow_vec.gather
// CHECK-NOT:     glow_vec.lookup
