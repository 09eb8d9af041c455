// RUN: glow-opt %s | filecheck %s
// RUN: glow-opt %s | glow-opt - | filecheck %s
// RUN: glow-opt %s --print-op-generic | glow-opt - | filecheck %s
// RUN: glow-opt %s --print-op-generic | filecheck %s --check-prefix=GENERIC
// RUN: glow-opt %s --canonicalize --cse --dce | filecheck %s

// Every operation, with and without its optional parts. Nothing is folded or removed.

// CHECK: func.func @default() attributes {vta.config = #vta.config<batch = 1, block_in = 16, block_out = 16>} {
func.func @default() attributes {vta.config = #vta.config<batch = 1, block_in = 16, block_out = 16>} {
  // CHECK-NEXT: %x = vta.region input "x" at 0 bytes 50176 as tensor<1x3x56x56xi8> tiles [1, 16, 1, 1]
  %x = vta.region input "x" at 0 bytes 50176 as tensor<1x3x56x56xi8> tiles [1, 16, 1, 1]
  // CHECK-NEXT: %w = vta.region constant "w" at 53248 bytes 256 = dense<1> : tensor<16x16xi8>
  %w = vta.region constant "w" at 53248 bytes 256 = dense<1> : tensor<16x16xi8>
  // CHECK-NEXT: %b = vta.region constant "b" at 57344 bytes 64 = #glow.blob<"m.onnx", 64, 64>
  %b = vta.region constant "b" at 57344 bytes 64 = #glow.blob<"m.onnx", 64, 64>
  // CHECK-NEXT: %u = vta.micro_ops "u" at 65536 [(0, 0, 0), (2047, 1, 1023)]
  %u = vta.micro_ops "u" at 65536 [(0, 0, 0), (2047, 1, 1023)]
  // CHECK-NEXT: %s = vta.region scratch "s" at 131072 bytes 50176
  %s = vta.region scratch "s" at 131072 bytes 50176
  // CHECK-NEXT: %y = vta.region output "y" at 262144 bytes 50176 as tensor<50176x!quant.uniform<i8:f32, 0.5>>
  %y = vta.region output "y" at 262144 bytes 50176 as tensor<50176x!quant.uniform<i8:f32, 0.5>>
  // CHECK-NEXT: vta.load uop[0] from %u[0] size [1, 2]
  vta.load uop[0] from %u[0] size [1, 2]
  // CHECK-NEXT: vta.load inp[7] from %x[12] size [3, 14] stride 56 pad [1, 0, 2, 3] push(compute)
  vta.load inp[7] from %x[12] size [3, 14] stride 56 pad [1, 0, 2, 3] push(compute)
  // CHECK-NEXT: vta.load wgt[1023] from %w[0] size [1, 1] pop(compute) push(compute)
  vta.load wgt[1023] from %w[0] size [1, 1] pop(compute) push(compute)
  // CHECK-NEXT: vta.load acc[0] from %b[0] size [1, 1] pad [0, 15, 0, 0] pop(load, store) push(load, store)
  vta.load acc[0] from %b[0] size [1, 1] pad [0, 15, 0, 0] pop(load, store) push(load, store)
  // CHECK-NEXT: vta.load acc8[0] from dram[4294967295] size [2, 3]
  vta.load acc8[0] from dram[4294967295] size [2, 3]
  // CHECK-NEXT: vta.load inp[0] from dram[0] size [0, 0] pop(compute)
  vta.load inp[0] from dram[0] size [0, 0] pop(compute)
  // CHECK-NEXT: vta.gemm reset uops [0, 1] loop [3, 14] dst [14, 1]
  vta.gemm reset uops [0, 1] loop [3, 14] dst [14, 1]
  // CHECK-NEXT: vta.gemm uops [8191, 8192] loop [16383, 0] dst [2047, 1] src [2047, 1] wgt [0, 1023] pop(load)
  vta.gemm uops [8191, 8192] loop [16383, 0] dst [2047, 1] src [2047, 1] wgt [0, 1023] pop(load)
  // CHECK-NEXT: vta.alu shr uops [0, 1] loop [3, 14] dst [14, 1] imm -32768
  vta.alu shr uops [0, 1] loop [3, 14] dst [14, 1] imm -32768
  // CHECK-NEXT: vta.alu min uops [0, 1] loop [3, 14] dst [14, 1] src [1, 1] push(load, store)
  vta.alu min uops [0, 1] loop [3, 14] dst [14, 1] src [1, 1] push(load, store)
  // CHECK-NEXT: vta.alu mul uops [0, 0] loop [1, 1] dst [0, 0] imm 32767 {vta.layer = "conv"}
  vta.alu mul uops [0, 0] loop [1, 1] dst [0, 0] imm 32767 {vta.layer = "conv"}
  // CHECK-NEXT: vta.store out[0] to %s[0] size [3, 14] stride 56 pop(compute) push(compute)
  vta.store out[0] to %s[0] size [3, 14] stride 56 pop(compute) push(compute)
  // CHECK-NEXT: vta.store out[2047] to dram[5] size [1, 1]
  vta.store out[2047] to dram[5] size [1, 1]
  // CHECK-NEXT: vta.finish pop(store)
  vta.finish pop(store)
  func.return
}

// GENERIC: "vta.load"(%x) <{memory = #vta<memory inp>, sram = 7 : i64, dram = 12 : i64, size = array<i64: 3, 14>, stride = 56 : i64,
// GENERIC-SAME: pad = array<i64: 1, 0, 2, 3>, tokens = #vta.tokens<push_next>}> : (!vta.dram) -> ()
// GENERIC: "vta.load"(%b) {{.*}} tokens = #vta.tokens<pop_prev, pop_next, push_prev, push_next>
// GENERIC: "vta.gemm"() <{reset, {{.*}} tokens = #vta.tokens<>}>

// Only what differs from the default is written, apart from the shape of the GEMM core.

// CHECK: #vta.config<batch = 2, block_in = 8, block_out = 4, acc_bits = 16, inp_depth = 512, loop_bits = 10>
func.func @small() attributes {vta.config = #vta.config<batch = 2, loop_bits = 10, block_in = 8, block_out = 4, wgt_bits = 8, inp_depth = 512, acc_bits = 16>} {
  // CHECK-NEXT: vta.load inp[511] from dram[0] size [1, 1]
  vta.load inp[511] from dram[0] size [1, 1]
  // CHECK-NEXT: vta.finish
  vta.finish
  func.return
}

// CHECK: #vta.config<batch = 1, block_in = 16, block_out = 16, design = "chisel", queue_length = 8, base_address = 4096>
func.func @designed() attributes {vta.config = #vta.config<batch = 1, block_in = 16, block_out = 16, base_address = 4096, queue_length = 8, design = "chisel">} {
  // CHECK-NEXT: vta.load inp[0] from dram[256] size [1, 1]
  vta.load inp[0] from dram[256] size [1, 1]
  func.return
}

// A configuration whose instructions do not fit can be written, but has no such instructions.

// CHECK: uop_depth = 1048576
func.func @wide() attributes {vta.config = #vta.config<batch = 1, block_in = 16, block_out = 16, uop_depth = 1048576>} {
  // CHECK-NEXT: vta.load inp[0] from dram[0] size [1, 1]
  vta.load inp[0] from dram[0] size [1, 1]
  func.return
}
