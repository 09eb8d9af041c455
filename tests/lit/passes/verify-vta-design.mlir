// RUN: glow-opt %s --verify-vta-design --split-input-file --verify-diagnostics | filecheck %s

// A machine without limits: everything is loaded, multiplied, shifted and stored. Unchanged.

func.func @functional() attributes {vta.config = #vta.config<batch = 1, block_in = 16, block_out = 16>} {
  %x = vta.region input "x" at 0 bytes 1024
  %u = vta.micro_ops "u" at 4096 [(0, 0, 0)]
  %y = vta.region output "y" at 8192 bytes 1024
  vta.load uop[0] from %u[0] size [1, 1]
  vta.load acc8[0] from %x[0] size [1, 4] pad [1, 0, 1, 1]
  vta.alu mul uops [0, 1] loop [1, 4] dst [0, 0] imm 3
  vta.alu shr uops [0, 1] loop [1, 4] dst [0, 1] imm -31
  vta.store out[4] to %y[0] size [1, 4]
  vta.finish
  func.return
}

// CHECK: func.func @functional
// CHECK: vta.store out[4] to %y[0]

// -----

// What a design without these does: products by the identity, sums at a distance, short shifts.

func.func @careful() attributes {vta.config = #vta.config<batch = 1, block_in = 16, block_out = 16, design = "xilinx-hls">} {
  %x = vta.region input "x" at 0 bytes 1024
  %w = vta.region constant "w" at 4096 bytes 256 = dense<1> : tensor<16x16xi8>
  %u = vta.micro_ops "u" at 8192 [(0, 0, 0)]
  %y = vta.region output "y" at 12288 bytes 1024
  vta.load uop[0] from %u[0] size [1, 1]
  vta.load inp[0] from %x[0] size [1, 3]
  vta.load wgt[0] from %w[0] size [1, 1]
  vta.gemm reset uops [0, 1] loop [1, 3] dst [0, 1]
  vta.gemm uops [0, 1] loop [5, 3] dst [0, 1] src [0, 1]
  vta.alu shr uops [0, 1] loop [1, 3] dst [0, 1] imm 15
  vta.store out[0] to %y[0] size [1, 3]
  vta.finish
  func.return
}

// CHECK: func.func @careful
// CHECK: vta.gemm uops [0, 1] loop [5, 3]

// -----

func.func @bytes() attributes {vta.config = #vta.config<batch = 1, block_in = 16, block_out = 16, design = "chisel">} {
  vta.load acc8[0] from dram[0] size [1, 4]
  vta.finish
  func.return
}

// CHECK: the design chisel has no loads of acc8: load inp, and multiply it by an identity matrix

// -----

func.func @padded() attributes {vta.config = #vta.config<batch = 1, block_in = 16, block_out = 16, design = "intelfocl">} {
  vta.load inp[0] from dram[0] size [1, 4] pad [1, 0, 0, 0]
  vta.load acc[0] from dram[0] size [1, 4] pad [1, 0, 0, 0]
  vta.finish
  func.return
}

// CHECK: the design intelfocl cannot surround accumulators by zeros: reset them before by vta.gemm

// -----

func.func @no_rows() attributes {vta.config = #vta.config<batch = 1, block_in = 16, block_out = 16, design = "chisel">} {
  vta.load inp[0] from dram[0] size [0, 4] pad [1, 0, 0, 0]
  vta.finish
  func.return
}

// CHECK: the design chisel never ends a load that has padding but no rows: load zeros from DRAM

// -----

func.func @product() attributes {vta.config = #vta.config<batch = 1, block_in = 16, block_out = 16, design = "xilinx-hls">} {
  vta.alu mul uops [0, 0] loop [1, 1] dst [0, 0] imm 3
  vta.finish
  func.return
}

// CHECK: the design xilinx-hls cannot multiply in the ALU: add shifted numbers, or give the operator to another device

// -----

func.func @far() attributes {vta.config = #vta.config<batch = 1, block_in = 16, block_out = 16, design = "xilinx-hls">} {
  vta.alu shr uops [0, 0] loop [1, 1] dst [0, 0] imm -16
  vta.alu shr uops [0, 0] loop [1, 1] dst [0, 0] imm 16
  vta.finish
  func.return
}

// CHECK: the design xilinx-hls cannot shift by 16 places, only by -16 to 15: shift several times

// -----

func.func @near() attributes {vta.config = #vta.config<batch = 1, block_in = 16, block_out = 16, design = "xilinx-hls">} {
  %u = vta.micro_ops "u" at 0 [(3, 0, 0), (4, 1, 0)]
  vta.load uop[0] from %u[0] size [1, 2]
  vta.gemm reset uops [0, 2] loop [2, 1] dst [0, 0]
  vta.gemm uops [0, 2] loop [2, 1] dst [0, 0] src [2, 0]
  vta.finish
  func.return
}

// CHECK: 'vta.gemm' op: the design xilinx-hls reads an accumulator no sooner than 3 iterations after its write, but iteration 2 reads acc[3],
// CHECK-SAME: which iteration 0 writes: let other accumulators come between

// -----

// An operand of the ALU is read as well.

func.func @chain() attributes {vta.config = #vta.config<batch = 1, block_in = 16, block_out = 16, design = "chisel">} {
  %u = vta.micro_ops "u" at 0 [(1, 0, 0)]
  vta.load uop[0] from %u[0] size [1, 1]
  vta.alu add uops [0, 1] loop [1, 2] dst [0, 2] src [0, 2]
  vta.alu add uops [0, 1] loop [1, 2] dst [0, 1] src [0, 1]
  vta.finish
  func.return
}

// CHECK: no sooner than 2 iterations after its write, but iteration 1 reads acc[1], which iteration 0 writes

// -----

func.func @loaded() attributes {vta.config = #vta.config<batch = 1, block_in = 16, block_out = 16, design = "intelfocl">} {
  %x = vta.region input "x" at 0 bytes 1024
  %u = vta.micro_ops "u" at 4096 [(0, 0, 0)]
  %y = vta.region output "y" at 8192 bytes 1024
  vta.load uop[0] from %u[0] size [1, 1]
  vta.load acc8[0] from %x[0] size [1, 4]
  vta.alu add uops [0, 1] loop [1, 3] dst [0, 1] imm 0
  vta.store out[0] to %y[0] size [1, 3]
  vta.store out[0] to %y[0] size [1, 4]
  vta.finish
  func.return
}

// CHECK: the design intelfocl stores what GEMM or ALU computed, not what was loaded or reset, such as acc[3]: add 0 in the ALU before

// -----

func.func @micro_ops() attributes {vta.config = #vta.config<batch = 1, block_in = 16, block_out = 16, design = "chisel">} {
  vta.load uop[2048] from dram[0] size [1, 1]
  vta.finish
  func.return
}

// CHECK: expected elements below 2048 of uop, found 2048 to 2048

// -----

// Functions that are no programs are not looked at.

func.func @other(%x: i32) {
  func.return
}

// CHECK: func.func @other
