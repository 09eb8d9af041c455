// RUN: glow-opt %s --split-input-file | filecheck %s
// RUN: glow-opt %s --split-input-file | glow-opt --split-input-file | filecheck %s
// RUN: glow-opt %s --split-input-file --print-op-generic | glow-opt --split-input-file | filecheck %s

// Every fact, in another order than they are printed in.
builtin.module attributes {glow.machine = #glow.machine<l3_bytes = 9000000, l2_bytes = 2097152, l1_bytes = 49152,
    has_bf16_tiles = true, has_int8_tiles = true, has_bf16_dot = true, byte_lookups = [vpermi2b, pshufb], int8_dots = [vpdpbusd], has_fma = false,
    vector_registers = 16, vector_bits = 256>} {
}

// CHECK: #glow.machine<vector_bits = 256, vector_registers = 16, has_fma = false, int8_dots = [vpdpbusd], byte_lookups = [vpermi2b, pshufb], has_bf16_dot = true, has_int8_tiles = true,
// CHECK-SAME: has_bf16_tiles = true, l1_bytes = 49152, l2_bytes = 2097152, l3_bytes = 9000000>

// -----

// What is left out has its default.
builtin.module attributes {glow.machine = #glow.machine<int8_dots = [sdot, usdot]>} {
}

// CHECK: #glow.machine<vector_bits = 512, vector_registers = 32, int8_dots = [sdot, usdot], l1_bytes = 32768, l2_bytes = 1048576>}
