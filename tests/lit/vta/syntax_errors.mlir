// RUN: glow-opt %s --split-input-file --parsing-diagnostics | filecheck %s

func.func @main() attributes {vta.config = #vta.config<batch = 1, block_in = 16, block_out = 16>} {
  vta.load inp[0] from dram[0] size [1, 1] pop(load)
  func.return
}
// CHECK: load has no queue of tokens with load

// -----

func.func @main() attributes {vta.config = #vta.config<batch = 1, block_in = 16, block_out = 16>} {
  vta.load inp[0] from dram[0] size [1, 1] push(store)
  func.return
}
// CHECK: load has no queue of tokens with store

// -----

func.func @main() attributes {vta.config = #vta.config<batch = 1, block_in = 16, block_out = 16>} {
  vta.store out[0] to dram[0] size [1, 1] push(load)
  func.return
}
// CHECK: store has no queue of tokens with load

// -----

func.func @main() attributes {vta.config = #vta.config<batch = 1, block_in = 16, block_out = 16>} {
  vta.gemm uops [0, 1] loop [1, 1] dst [0, 0] pop(compute)
  func.return
}
// CHECK: compute has no queue of tokens with compute

// -----

func.func @main() attributes {vta.config = #vta.config<batch = 1, block_in = 16, block_out = 16>} {
  vta.load oup[0] from dram[0] size [1, 1]
  func.return
}
// CHECK: error:

// -----

func.func @main() attributes {vta.config = #vta.config<batch = 1, block_in = 16, block_out = 16>} {
  %u = vta.micro_ops "u" at 0 [(0, 0)]
  func.return
}
// CHECK: expected (dst, src, wgt), found 2 numbers

// -----

func.func private @f() attributes {vta.config = #vta.config<bach = 1>}
// CHECK: expected one of batch, block_in, block_out, {{.*}}, found bach

// -----

func.func private @f() attributes {vta.config = #vta.config<batch = 0>}
// CHECK: expected batch of a VTA to be at least 1, found 0

// -----

func.func private @f() attributes {vta.config = #vta.config<inp_depth = 100>}
// CHECK: expected inp_depth of a VTA to be a power of 2 above 1, found 100

// -----

func.func private @f() attributes {vta.config = #vta.config<wgt_depth = 1>}
// CHECK: expected wgt_depth of a VTA to be a power of 2 above 1, found 1

// -----

func.func private @f() attributes {vta.config = #vta.config<block_in = 1, inp_bits = 4>}
// CHECK: expected elements of inp of whole bytes, found 4 bits

// -----

func.func private @f() attributes {vta.config = #vta.config<dram_base_bits = 33>}
// CHECK: expected dram_base_bits of a VTA to be at most 32, found 33

// -----

func.func @main() attributes {vta.config = #vta.config<batch = 1, block_in = 16, block_out = 16, design = "verilog">} {
  func.return
}
// CHECK: expected design to be one of functional, xilinx-hls, chisel, intelfocl, found verilog
