// RUN: glow-opt %s --split-input-file --parsing-diagnostics | filecheck %s

builtin.module attributes {glow.machine = #glow.machine<vector_width = 256>} {}

// CHECK: expected one of vector_bits, {{.*}}, l3_bytes, found vector_width

// -----

builtin.module attributes {glow.machine = #glow.machine<vector_bits = 100>} {}

// CHECK: expected vector-bits to be a power of two in 64 to 65536, found 100

// -----

builtin.module attributes {glow.machine = #glow.machine<int8_dots = [vpdpbusd, dot]>} {}

// CHECK: expected one of vpdpbusd, sdot, usdot, found dot

// -----

builtin.module attributes {glow.machine = #glow.machine<byte_lookups = [vpermb]>} {}

// CHECK: expected one of vpermi2b, pshufb, tbl, found vpermb

// -----

builtin.module attributes {glow.machine = #glow.machine<l2_bytes = 1, l2_bytes = 2>} {}

// CHECK: l2_bytes is given twice
