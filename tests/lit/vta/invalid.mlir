// RUN: glow-opt %s --split-input-file --verify-diagnostics | filecheck %s

func.func @main() {
  vta.finish
  func.return
}
// CHECK: expected to be in a func.func with the attribute vta.config = #vta.config<...>

// -----

func.func @main() attributes {vta.config = 3 : i64} {
  vta.finish
  func.return
}
// CHECK: expected to be in a func.func with the attribute vta.config

// -----

func.func @main() attributes {vta.config = #vta.config<batch = 1, block_in = 16, block_out = 16>} {
  vta.load inp[0] from dram[4294967296] size [1, 1]
  func.return
}
// CHECK: expected dram_base from 0 to 4294967295, found 4294967296

// -----

func.func @main() attributes {vta.config = #vta.config<batch = 1, block_in = 16, block_out = 16>} {
  vta.load inp[0] from dram[0] size [65536, 1]
  func.return
}
// CHECK: expected y_size from 0 to 65535, found 65536

// -----

func.func @main() attributes {vta.config = #vta.config<batch = 1, block_in = 16, block_out = 16>} {
  vta.load inp[0] from dram[0] size [1, 1] pad [0, 16, 0, 0]
  func.return
}
// CHECK: expected y_pad_1 from 0 to 15, found 16

// -----

func.func @main() attributes {vta.config = #vta.config<batch = 1, block_in = 16, block_out = 16>} {
  vta.load inp[0] from dram[0] size [1, 1, 1]
  func.return
}
// CHECK: expected 2 numbers, found array<i64: 1, 1, 1>

// -----

func.func @main() attributes {vta.config = #vta.config<batch = 1, block_in = 16, block_out = 16>} {
  vta.load inp[2047] from dram[0] size [1, 1] pad [0, 0, 0, 1]
  func.return
}
// CHECK: expected elements below 2048 of inp, found 2047 to 2048

// -----

func.func @main() attributes {vta.config = #vta.config<batch = 1, block_in = 16, block_out = 16>} {
  vta.load wgt[1000] from dram[0] size [5, 5]
  func.return
}
// CHECK: expected elements below 1024 of wgt, found 1000 to 1024

// -----

func.func @main() attributes {vta.config = #vta.config<batch = 1, block_in = 16, block_out = 16>} {
  vta.store out[2040] to dram[0] size [3, 3]
  func.return
}
// CHECK: expected elements below 2048 of out, found 2040 to 2048

// -----

func.func @main() attributes {vta.config = #vta.config<batch = 1, block_in = 16, block_out = 16>} {
  vta.load wgt[0] from dram[0] size [1, 1] pad [0, 0, 1, 0]
  func.return
}
// CHECK: expected no padding of wgt, found array<i64: 0, 0, 1, 0>

// -----

func.func @main() attributes {vta.config = #vta.config<batch = 1, block_in = 16, block_out = 16>} {
  vta.load uop[0] from dram[0] size [1, 1] pad [0, 0, 1, 0]
  func.return
}
// CHECK: expected no padding of uop

// -----

func.func @main() attributes {vta.config = #vta.config<batch = 1, block_in = 16, block_out = 16>} {
  vta.load uop[0] from dram[0] size [2, 1]
  func.return
}
// CHECK: expected one row of micro-ops, found 2

// -----

func.func @main() attributes {vta.config = #vta.config<batch = 1, block_in = 16, block_out = 16>} {
  vta.load out[0] from dram[0] size [1, 1]
  func.return
}
// CHECK: expected a load of uop, wgt, inp, acc or acc8, found out

// -----

func.func @main() attributes {vta.config = #vta.config<batch = 1, block_in = 16, block_out = 16>} {
  %x = vta.region input "x" at 0 bytes 160
  vta.load inp[0] from %x[1] size [2, 2] stride 8
  func.return
}
// CHECK: expected elements within the 10 of "x", found 1 to 10

// -----

func.func @main() attributes {vta.config = #vta.config<batch = 1, block_in = 16, block_out = 16>} {
  %x = vta.region input "x" at 160 bytes 160
  vta.load inp[0] from %x[-1] size [1, 2]
  func.return
}
// CHECK: expected elements within the 10 of "x", found -1 to 0

// -----

func.func @main() attributes {vta.config = #vta.config<batch = 1, block_in = 16, block_out = 16>} {
  %x = vta.region input "x" at 8 bytes 160
  vta.load inp[0] from %x[0] size [1, 2]
  func.return
}
// CHECK: expected a region at a multiple of 16 bytes, the size of an element of inp, found "x" at 8

// -----

func.func @main() attributes {vta.config = #vta.config<batch = 1, block_in = 16, block_out = 16>} {
  %x = vta.region input "x" at 0 bytes 160
  vta.store out[0] to %x[0] size [1, 1]
  func.return
}
// CHECK: expected a region that is written, found "x"

// -----

func.func @main() attributes {vta.config = #vta.config<batch = 1, block_in = 16, block_out = 16>} {
  %u = vta.micro_ops "u" at 1024 [(0, 0, 0), (1, 0, 0)]
  vta.store out[0] to %u[0] size [1, 1]
  func.return
}
// CHECK: expected a region that is written, found "u"

// -----

func.func @main() attributes {vta.config = #vta.config<batch = 1, block_in = 16, block_out = 16>} {
  %u = vta.micro_ops "u" at 1024 [(0, 0, 0), (1, 0, 0)]
  vta.load inp[0] from %u[0] size [1, 1]
  func.return
}
// CHECK: expected a region of data, found "u"

// -----

func.func @main() attributes {vta.config = #vta.config<batch = 1, block_in = 16, block_out = 16>} {
  %u = vta.micro_ops "u" at 1024 [(0, 0, 0), (1, 0, 0)]
  vta.load uop[0] from %u[1] size [1, 2]
  func.return
}
// CHECK: expected elements within the 2 of "u", found 1 to 2

// -----

func.func @main() attributes {vta.config = #vta.config<batch = 1, block_in = 16, block_out = 16>} {
  %x = "test.op"() : () -> !vta.dram
  vta.load inp[0] from %x[0] size [1, 2]
  func.return
}
// CHECK: expected the result of vta.region or vta.micro_ops

// -----

func.func @main() attributes {vta.config = #vta.config<batch = 1, block_in = 16, block_out = 16>} {
  vta.gemm uops [0, 8193] loop [1, 1] dst [0, 0]
  func.return
}
// CHECK: expected a range of the 8192 micro-ops, found 0 to 8193

// -----

func.func @main() attributes {vta.config = #vta.config<batch = 1, block_in = 16, block_out = 16>} {
  vta.gemm uops [3, 2] loop [1, 1] dst [0, 0]
  func.return
}
// CHECK: expected a range of the 8192 micro-ops, found 3 to 2

// -----

func.func @main() attributes {vta.config = #vta.config<batch = 1, block_in = 16, block_out = 16>} {
  vta.gemm uops [0, 1] loop [1, 16384] dst [0, 0]
  func.return
}
// CHECK: expected iter_in from 0 to 16383, found 16384

// -----

func.func @main() attributes {vta.config = #vta.config<batch = 1, block_in = 16, block_out = 16>} {
  vta.gemm uops [0, 1] loop [1, 1] dst [0, 2048]
  func.return
}
// CHECK: expected dst_factor_in from 0 to 2047, found 2048

// -----

func.func @main() attributes {vta.config = #vta.config<batch = 1, block_in = 16, block_out = 16>} {
  vta.gemm uops [0, 1] loop [1, 1] dst [0, 0] wgt [1024, 0]
  func.return
}
// CHECK: expected wgt_factor_out from 0 to 1023, found 1024

// -----

func.func @main() attributes {vta.config = #vta.config<batch = 1, block_in = 16, block_out = 16>} {
  vta.alu add uops [0, 1] loop [1, 1] dst [0, 0] src [-1, 0]
  func.return
}
// CHECK: expected src_factor_out from 0 to 2047, found -1

// -----

func.func @main() attributes {vta.config = #vta.config<batch = 1, block_in = 16, block_out = 16>} {
  vta.alu add uops [0, 1] loop [1, 1] dst [0, 0] imm 32768
  func.return
}
// CHECK: expected imm from -32768 to 32767, found 32768

// -----

func.func @main() attributes {vta.config = #vta.config<batch = 1, block_in = 16, block_out = 16, acc_depth = 8192>} {
  vta.gemm uops [0, 1] loop [1, 1] dst [0, 0]
  func.return
}
// CHECK: the fields of GEMM do not fit into 2 x 64 bits: no room for wgt_factor_in; choose smaller buffers or narrower fields

// -----

func.func @main() attributes {vta.config = #vta.config<batch = 1, block_in = 16, block_out = 16, acc_depth = 8192>} {
  %u = vta.micro_ops "u" at 1024 [(0, 0, 0), (1, 0, 0)]
  func.return
}
// CHECK: the fields of a micro-op do not fit into 1 x 32 bits: no room for wgt

// -----

func.func @main() attributes {vta.config = #vta.config<batch = 1, block_in = 16, block_out = 16>} {
  %u = vta.micro_ops "u" at 0 [(0, 2048, 0)]
  func.return
}
// CHECK: expected src of a micro-op from 0 to 2047, found 2048

// -----

func.func @main() attributes {vta.config = #vta.config<batch = 1, block_in = 16, block_out = 16>} {
  %u = vta.micro_ops "u" at 0 [(0, 0, -1)]
  func.return
}
// CHECK: expected wgt of a micro-op from 0 to 1023, found -1

// -----

func.func @main() attributes {vta.config = #vta.config<batch = 1, block_in = 16, block_out = 16>} {
  %u = vta.micro_ops "u" at 0 []
  func.return
}
// CHECK: expected at least one triple (dst, src, wgt)

// -----

func.func @main() attributes {vta.config = #vta.config<batch = 1, block_in = 16, block_out = 16>} {
  %u = vta.micro_ops "u" at -4 [(0, 0, 0)]
  func.return
}
// CHECK: expected an address from 0 on, found -4

// -----

func.func @main() attributes {vta.config = #vta.config<batch = 1, block_in = 16, block_out = 16>} {
  %x = vta.region input "x" at 0 bytes 0
  func.return
}
// CHECK: expected an address from 0 on and at least 1 byte, found 0 bytes at 0

// -----

func.func @main() attributes {vta.config = #vta.config<batch = 1, block_in = 16, block_out = 16>} {
  %x = vta.region constant "x" at 0 bytes 4
  func.return
}
// CHECK: expected a value of a constant, found none

// -----

func.func @main() attributes {vta.config = #vta.config<batch = 1, block_in = 16, block_out = 16>} {
  %x = vta.region input "x" at 0 bytes 4 = dense<0> : tensor<4xi8>
  func.return
}
// CHECK: expected no value, found dense<0> : tensor<4xi8>

// -----

func.func @main() attributes {vta.config = #vta.config<batch = 1, block_in = 16, block_out = 16>} {
  %x = vta.region constant "x" at 0 bytes 4 = dense<0> : tensor<5xi8>
  func.return
}
// CHECK: expected a value of 4 bytes, found 5

// -----

func.func @main() attributes {vta.config = #vta.config<batch = 1, block_in = 16, block_out = 16>} {
  %x = vta.region constant "x" at 0 bytes 4 = dense<0> : vector<4xi8>
  func.return
}
// CHECK: expected a tensor, found vector<4xi8>

// -----

func.func @main() attributes {vta.config = #vta.config<batch = 1, block_in = 16, block_out = 16>} {
  %x = vta.region input "x" at 0 bytes 31 as tensor<1x17xi8> tiles [1, 16]
  func.return
}
// CHECK: expected at least 32 bytes for tensor<1x17xi8> in tiles of [1, 16], found 31

// -----

func.func @main() attributes {vta.config = #vta.config<batch = 1, block_in = 16, block_out = 16>} {
  %x = vta.region input "x" at 0 bytes 32 as tensor<1x17xi8> tiles [16]
  func.return
}
// CHECK: expected a tensor of known sizes and as many tile sizes of at least 1, found tensor<1x17xi8> and [16]

// -----

func.func @main() attributes {vta.config = #vta.config<batch = 1, block_in = 16, block_out = 16>} {
  vta.finish
  vta.finish
  func.return
}
// CHECK: expected vta.finish to be the last instruction

// -----

func.func @main() attributes {vta.config = #vta.config<batch = 1, block_in = 16, block_out = 16>} {
  "vta.load"() <{memory = #vta<memory inp>, sram = 0 : i64, dram = 0 : i64, size = array<i64: 0, 0>, tokens = #vta.tokens<pop_prev>}> : () -> ()
  func.return
}
// CHECK: expected tokens between neighbours of load - compute - store, found #vta.tokens<pop_prev> on an instruction of load

// -----

func.func @main() attributes {vta.config = #vta.config<batch = 1, block_in = 16, block_out = 16>} {
  "vta.store"() <{sram = 0 : i64, dram = 0 : i64, size = array<i64: 0, 0>, tokens = #vta.tokens<push_next>}> : () -> ()
  func.return
}
// CHECK: found #vta.tokens<push_next> on an instruction of store

// -----

func.func @main() attributes {vta.config = #vta.config<batch = 1, block_in = 16, block_out = 16, base_address = 4096>} {
  %x = vta.region input "x" at 4096 bytes 64
  %y = vta.region output "y" at 4080 bytes 64
  func.return
}
// CHECK: expected an address from 4096 on, the base address of the machine, found 4080

// -----

func.func @main() attributes {vta.config = #vta.config<batch = 1, block_in = 16, block_out = 16, base_address = 4096>} {
  %u = vta.micro_ops "u" at 0 [(0, 0, 0)]
  func.return
}
// CHECK: expected an address from 4096 on, the base address of the machine, found 0

// -----

func.func @main() attributes {vta.config = #vta.config<batch = 1, block_in = 16, block_out = 16, base_address = 4096>} {
  vta.load inp[0] from dram[255] size [1, 1]
  vta.finish
  func.return
}
// CHECK: expected addresses from 4096 on, the base address of the machine, found 4080
