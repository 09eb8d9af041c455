// RUN: glow-opt %s --verify-vta-tokens --split-input-file --verify-diagnostics | filecheck %s

// Loads, products and stores of two halves overlap: tokens order what shares elements. Unchanged.

func.func @overlapped() attributes {vta.config = #vta.config<batch = 1, block_in = 16, block_out = 16>} {
  %x = vta.region input "x" at 0 bytes 1024
  %w = vta.region constant "w" at 4096 bytes 256 = dense<1> : tensor<16x16xi8>
  %u = vta.micro_ops "u" at 8192 [(0, 0, 0), (16, 16, 0)]
  %y = vta.region output "y" at 12288 bytes 1024
  vta.load uop[0] from %u[0] size [1, 2]
  vta.load wgt[0] from %w[0] size [1, 1]
  vta.load inp[0] from %x[0] size [1, 16] push(compute)
  vta.load inp[16] from %x[16] size [1, 16] push(compute)
  vta.gemm uops [0, 1] loop [1, 16] dst [0, 1] src [0, 1] pop(load) push(load, store)
  vta.gemm uops [1, 2] loop [1, 16] dst [0, 1] src [0, 1] pop(load) push(load, store)
  vta.store out[0] to %y[0] size [1, 16] pop(compute) push(compute)
  vta.store out[16] to %y[16] size [1, 16] pop(compute) push(compute)
  vta.load inp[0] from %x[32] size [1, 16] pop(compute)
  vta.load inp[16] from %x[48] size [1, 16] pop(compute) push(compute)
  vta.gemm uops [0, 1] loop [1, 16] dst [0, 1] src [16, 1] pop(load, store)
  vta.gemm uops [0, 2] loop [1, 16] dst [0, 1] src [0, 1] pop(store)
  vta.finish
  func.return
}

// CHECK: func.func @overlapped
// CHECK: vta.store out[16] to %y[16]

// -----

// Not a program for VTA: not looked at.

func.func @other(%x: i32) {
  func.return
}

// CHECK: func.func @other

// -----

// A program that is read by two engines only needs no tokens.

func.func @reads() attributes {vta.config = #vta.config<batch = 1, block_in = 16, block_out = 16>} {
  %x = vta.region input "x" at 0 bytes 1024
  vta.load inp[0] from %x[0] size [1, 16]
  vta.load acc8[0] from %x[0] size [1, 16]
  vta.finish
  func.return
}

// CHECK: func.func @reads

// -----

func.func @deadlock() attributes {vta.config = #vta.config<batch = 1, block_in = 16, block_out = 16>} {
  vta.load inp[0] from dram[0] size [1, 16] pop(compute) push(compute)
  vta.load acc[0] from dram[0] size [1, 16]
  vta.alu add uops [0, 0] loop [1, 1] dst [0, 0] imm 1 pop(load, store) push(load, store)
  vta.store out[0] to dram[0] size [1, 16] pop(compute) push(compute)
  vta.finish
  func.return
}

// CHECK: 'vta.load' op: deadlock: load waits for compute in instruction 0 (vta.load inp[0] from dram[0] size [1, 16] pop(compute) push(compute)),
// CHECK-SAME: compute waits for load and store in instruction 2 (vta.alu add uops [0, 0] loop [1, 1] dst [0, 0] imm 1 pop(load, store) push(load, store)),
// CHECK-SAME: store waits for compute in instruction 3 (vta.store

// -----

func.func @one_token_short() attributes {vta.config = #vta.config<batch = 1, block_in = 16, block_out = 16>} {
  vta.load inp[0] from dram[0] size [1, 16] push(compute)
  vta.alu add uops [0, 0] loop [1, 1] dst [0, 0] imm 1 pop(load)
  vta.alu add uops [0, 0] loop [1, 1] dst [0, 0] imm 2 pop(load)
  vta.finish
  func.return
}

// CHECK: 'vta.alu' op: deadlock: compute waits for load in instruction 2 (vta.alu add uops [0, 0] loop [1, 1] dst [0, 0] imm 2 pop(load))

// -----

func.func @token_left() attributes {vta.config = #vta.config<batch = 1, block_in = 16, block_out = 16>} {
  vta.load inp[0] from dram[0] size [1, 16] push(compute)
  vta.load inp[0] from dram[0] size [1, 16] push(compute)
  vta.finish pop(load)
  func.return
}

// CHECK: 'vta.finish' op: expected all tokens to be used, but compute never pops 1 of those that load pushes

// -----

// The second load may overwrite what GEMM still reads.

func.func @race_in_inp() attributes {vta.config = #vta.config<batch = 1, block_in = 16, block_out = 16>} {
  %u = vta.micro_ops "u" at 8192 [(0, 3, 0)]
  vta.load inp[0] from dram[0] size [1, 16] push(compute)
  vta.load inp[15] from dram[0] size [1, 16]
  vta.load uop[0] from %u[0] size [1, 1]
  vta.gemm uops [0, 1] loop [2, 4] dst [0, 1] src [9, 1] pop(load)
  vta.finish
  func.return
}

// CHECK: data race in inp: no token orders instruction 1 (vta.load inp[15] from dram[0] size [1, 16]) before instruction 3 (vta.gemm uops [0, 1] loop [2, 4] dst [0, 1] src [9, 1] pop(load))

// -----

// One element further it does not.

func.func @no_race_in_inp() attributes {vta.config = #vta.config<batch = 1, block_in = 16, block_out = 16>} {
  %u = vta.micro_ops "u" at 8192 [(0, 3, 0)]
  vta.load inp[0] from dram[0] size [1, 16] push(compute)
  vta.load inp[16] from dram[0] size [1, 16]
  vta.load uop[0] from %u[0] size [1, 1]
  vta.gemm uops [0, 1] loop [2, 4] dst [0, 1] src [9, 1] pop(load)
  vta.finish
  func.return
}

// CHECK: func.func @no_race_in_inp

// -----

// The padding of a load is written too.

func.func @race_with_padding() attributes {vta.config = #vta.config<batch = 1, block_in = 16, block_out = 16>} {
  %u = vta.micro_ops "u" at 8192 [(0, 3, 0)]
  vta.load uop[0] from %u[0] size [1, 1]
  vta.gemm uops [0, 1] loop [1, 1] dst [0, 0]
  vta.load inp[0] from dram[0] size [1, 3] pad [0, 0, 0, 1]
  vta.finish
  func.return
}

// CHECK: data race in inp

// -----

// A store reads accumulators, whatever they are called.

func.func @race_in_acc() attributes {vta.config = #vta.config<batch = 1, block_in = 16, block_out = 16>} {
  vta.load acc8[0] from dram[0] size [1, 16] push(store)
  vta.store out[0] to dram[64] size [1, 16] pop(compute) push(compute)
  vta.load acc[8] from dram[0] size [1, 1]
  vta.finish pop(store)
  func.return
}

// CHECK: data race in acc: no token orders instruction 2 (vta.load acc[8] {{.*}}) before instruction 1 (vta.store

// -----

// What one layer stores, the next one loads: rows of 4 elements out of 8.

func.func @race_in_dram() attributes {vta.config = #vta.config<batch = 1, block_in = 16, block_out = 16>} {
  %t = vta.region scratch "t" at 4096 bytes 1024
  vta.store out[0] to %t[0] size [8, 4] stride 8 push(compute)
  vta.load inp[0] from %t[1] size [1, 1]
  vta.finish pop(store)
  func.return
}

// CHECK: data race in DRAM: no token orders {{.*}}vta.load inp[0] from %t[1]{{.*}} before {{.*}}vta.store

// -----

// Between the rows there is no race.

func.func @no_race_in_dram() attributes {vta.config = #vta.config<batch = 1, block_in = 16, block_out = 16>} {
  %t = vta.region scratch "t" at 4096 bytes 1024
  vta.store out[0] to %t[0] size [8, 4] stride 8 push(compute)
  vta.load inp[0] from %t[4] size [7, 4] stride 8
  vta.finish pop(store)
  func.return
}

// CHECK: func.func @no_race_in_dram

// -----

func.func @unfinished_store() attributes {vta.config = #vta.config<batch = 1, block_in = 16, block_out = 16>} {
  vta.store out[0] to dram[0] size [1, 1] push(compute)
  vta.store out[1] to dram[1] size [1, 1]
  vta.finish pop(store)
  func.return
}

// CHECK: 'vta.finish' op: expected all stores to be done before vta.finish, but no token orders instruction 1 (vta.store out[1] to dram[1] size [1, 1]) before it

// -----

func.func @no_finish() attributes {vta.config = #vta.config<batch = 1, block_in = 16, block_out = 16>} {
  vta.load inp[0] from dram[0] size [1, 1]
  func.return
}

// CHECK: 'vta.load' op: expected vta.finish as the last instruction

// -----

func.func @empty() attributes {vta.config = #vta.config<batch = 1, block_in = 16, block_out = 16>} {
  func.return
}

// CHECK: 'func.func' op: expected instructions, and vta.finish as the last of them

// -----

func.func @unknown_micro_ops() attributes {vta.config = #vta.config<batch = 1, block_in = 16, block_out = 16>} {
  %u = vta.micro_ops "u" at 8192 [(0, 3, 0)]
  vta.load uop[4] from %u[0] size [1, 1]
  vta.gemm uops [4, 6] loop [1, 1] dst [0, 0]
  vta.finish
  func.return
}

// CHECK: 'vta.gemm' op: expected micro-op 5 to be loaded from a table of vta.micro_ops before

// -----

func.func @outside_the_buffer() attributes {vta.config = #vta.config<batch = 1, block_in = 16, block_out = 16>} {
  %u = vta.micro_ops "u" at 8192 [(1000, 0, 0)]
  vta.load uop[0] from %u[0] size [1, 1]
  vta.gemm uops [0, 1] loop [3, 2] dst [524, 1]
  vta.finish
  func.return
}

// CHECK: 'vta.gemm' op: expected dst below 2048, the number of elements of acc, found 2049

// -----

func.func @foreign() attributes {vta.config = #vta.config<batch = 1, block_in = 16, block_out = 16>} {
  "test.op"() : () -> ()
  vta.finish
  func.return
}

// CHECK: 'test.op' op: expected only operations of the vta dialect in a program for it

// -----

// Two regions of scratch share bytes. The load from the one must be done before the other is stored: here COMPUTE
// learns of it, and passes it on.

func.func @again() attributes {vta.config = #vta.config<batch = 1, block_in = 16, block_out = 16>} {
  %a = vta.region scratch "a" at 0 bytes 256
  %b = vta.region scratch "b" at 128 bytes 256
  %u = vta.micro_ops "u" at 8192 [(0, 0, 0)]
  vta.load uop[0] from %u[0] size [1, 1]
  vta.gemm reset uops [0, 1] loop [1, 16] dst [0, 1] push(store)
  vta.store out[0] to %a[0] size [1, 16] pop(compute) push(compute)
  vta.load uop[0] from %u[0] size [1, 1] pop(store) push(load)
  vta.load inp[0] from %a[0] size [1, 16] pop(compute) push(compute)
  vta.load uop[0] from %u[0] size [1, 1] pop(load) push(store)
  vta.store out[0] to %b[0] size [1, 8] pop(compute) push(compute)
  vta.finish pop(store)
  func.return
}

// CHECK: func.func @again

// -----

// The same without the token between the load and the store.

func.func @too_early() attributes {vta.config = #vta.config<batch = 1, block_in = 16, block_out = 16>} {
  %a = vta.region scratch "a" at 0 bytes 256
  %b = vta.region scratch "b" at 128 bytes 256
  %u = vta.micro_ops "u" at 8192 [(0, 0, 0)]
  vta.load uop[0] from %u[0] size [1, 1]
  vta.gemm reset uops [0, 1] loop [1, 16] dst [0, 1] push(store)
  vta.store out[0] to %a[0] size [1, 16] pop(compute) push(compute)
  vta.load uop[0] from %u[0] size [1, 1] pop(store) push(load)
  vta.load inp[0] from %a[0] size [1, 16] pop(compute)
  // expected-error@+1 {{data race in DRAM: no token orders instruction 4 (vta.load inp[0] from %a[0] size [1, 16]}}
  vta.store out[0] to %b[0] size [1, 8] push(compute)
  vta.finish pop(store)
  func.return
}

// -----

// A queue for two tokens: LOAD waits at the third until COMPUTE has taken one.

func.func @waits() attributes {vta.config = #vta.config<batch = 1, block_in = 16, block_out = 16, queue_length = 2>} {
  vta.load inp[0] from dram[0] size [1, 0] push(compute)
  vta.load inp[0] from dram[0] size [1, 0] push(compute)
  vta.load inp[0] from dram[0] size [1, 0] push(compute)
  vta.load acc[0] from dram[0] size [1, 0] pop(load)
  vta.load acc[0] from dram[0] size [1, 0] pop(load)
  vta.finish pop(load)
  func.return
}

// CHECK: func.func @waits

// -----

// COMPUTE waits for STORE, and STORE for what COMPUTE sends behind a full queue.

func.func @full() attributes {vta.config = #vta.config<batch = 1, block_in = 16, block_out = 16, queue_length = 1>} {
  vta.load inp[0] from dram[0] size [1, 0] push(compute)
  vta.load inp[0] from dram[0] size [1, 0] push(compute)
  vta.load inp[0] from dram[0] size [1, 0] pop(compute)
  vta.load acc[0] from dram[0] size [1, 0] push(load)
  vta.load acc[0] from dram[0] size [1, 0] push(load)
  vta.load acc[0] from dram[0] size [1, 0] pop(load)
  vta.load acc[0] from dram[0] size [1, 0] pop(load)
  vta.load inp[0] from dram[0] size [1, 0] pop(compute)
  vta.finish
  func.return
}

// CHECK: deadlock: load waits for room in its queue to compute, which holds 1 tokens, in instruction 1 ({{.*}}), compute waits for room in its queue to load, which holds 1 tokens, in instruction 4

// -----

// A counter that does not count further: COMPUTE may be slow.

func.func @lost() attributes {vta.config = #vta.config<batch = 1, block_in = 16, block_out = 16, design = "chisel", queue_length = 2>} {
  vta.load inp[0] from dram[0] size [1, 0] push(compute)
  vta.load inp[0] from dram[0] size [1, 0] push(compute)
  vta.load acc[0] from dram[0] size [1, 0] pop(load)
  vta.load inp[0] from dram[0] size [1, 0] push(compute)
  vta.load acc[0] from dram[0] size [1, 0] pop(load)
  vta.finish pop(load)
  func.return
}

// CHECK: the design chisel loses tokens if a queue has more than 2, but that from load to compute may have 3 after instruction 3 ({{.*}}): let load wait for compute before
