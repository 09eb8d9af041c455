// RUN: glow-opt %s --set-machine="vector-bits=256 vector-registers=16 has-fma=false int8-dots=vpdpbusd byte-lookups=pshufb" | filecheck %s
// RUN: glow-opt %s --set-machine="vector-bits=256 int8-dots=sdot,usdot" --set-machine="l2-bytes=4096" | filecheck %s --check-prefix=AGAIN
// RUN: glow-opt %s --set-machine="target-cpu=haswell l1-bytes=48000 l2-bytes=4096 l3-bytes=65536" | filecheck %s --check-prefix=CPU
// RUN: glow-opt %s --set-machine="target-cpu=haswell target-features=\"-fma\"" | filecheck %s --check-prefix=WITHOUT
// RUN: not glow-opt %s --set-machine="target-cpu=haswel" 2>&1 | filecheck %s --check-prefix=UNKNOWN
// RUN: not glow-opt %s --set-machine="vector-registers=3" 2>&1 | filecheck %s --check-prefix=REGISTERS
// RUN: not glow-opt %s --set-machine="l1-bytes=0" 2>&1 | filecheck %s --check-prefix=CACHE

// Given facts; the rest is the default.
// CHECK: builtin.module attributes {glow.machine = #glow.machine<vector_bits = 256, vector_registers = 16, has_fma = false, int8_dots = [vpdpbusd], byte_lookups = [pshufb], l1_bytes = 32768, l2_bytes = 1048576>} {

// The pass describes a whole machine: nothing is left of what another said.
// AGAIN: #glow.machine<vector_bits = 512, vector_registers = 32, l1_bytes = 32768, l2_bytes = 4096>}

// CPU: #glow.machine<vector_bits = 256, vector_registers = 16, byte_lookups = [pshufb], l1_bytes = 48000, l2_bytes = 4096, l3_bytes = 65536>}
// WITHOUT: vector_bits = 256, vector_registers = 16, has_fma = false
// UNKNOWN: LLVM knows no CPU 'haswel'
// REGISTERS: expected vector-registers in 4 to 1024, found 3
// CACHE: expected l1-bytes in 1 to 281474976710655, found 0

func.func @f() {
  func.return
}
