// RUN: glow-opt %s -t vta-asm | filecheck %s
// RUN: glow-opt %s -t vta-binary -o %t.vta
// RUN: glow-opt %t.vta | filecheck %s --check-prefix=BACK
// RUN: glow-opt %t.vta -t vta-binary | cmp - %t.vta

func.func @main() attributes {vta.config = #vta.config<batch = 1, block_in = 16, block_out = 16>} {
  %x = vta.region input "x" at 0 bytes 50176 as tensor<1x3x56x56xi8> tiles [1, 16, 1, 1]
  %w = vta.region constant "w" at 53248 bytes 256 = dense<1> : tensor<16x16xi8>
  %u = vta.micro_ops "u" at 65536 [(0, 0, 0), (1, 16, 0)]
  %y = vta.region output "y" at 131072 bytes 50176
  vta.load uop[0] from %u[0] size [1, 2]
  vta.load inp[0] from %x[12] size [3, 14] stride 56 pad [1, 0, 1, 1] push(compute)
  vta.gemm reset uops [0, 1] loop [3, 14] dst [14, 1] {vta.layer = "conv"}
  vta.gemm uops [0, 1] loop [3, 14] dst [14, 1] src [16, 1] pop(load) push(load)
  vta.alu shr uops [0, 1] loop [3, 14] dst [14, 1] imm -3
  vta.alu max uops [0, 1] loop [3, 14] dst [14, 1] imm 0 push(store)
  vta.store out[0] to %y[0] size [3, 14] stride 56 pop(compute) push(compute)
  vta.load inp[0] from dram[0] size [0, 0] pop(compute)
  vta.finish pop(store)
  func.return
}

// CHECK:      .program main
// CHECK:      .config block_out 16
// CHECK:      .region input "x" 0x00000000 50176
// CHECK-NEXT: .region constant "w" 0x0000d000 256
// CHECK-NEXT: .micro_ops "u" 0x00010000
// CHECK-NEXT:      0  00000000  dst 0, src 0, wgt 0
// CHECK-NEXT:      1  00008001  dst 1, src 16, wgt 0
// CHECK-NEXT: .region output "y" 0x00020000 50176
// CHECK-NEXT: .instructions
// CHECK-NEXT:      0  0000000200020001 0000010000000000  load.uop sram_base 0, dram_base 16384, y_size 1, x_size 2, x_stride 2
// CHECK-NEXT:      1  11010038000e0003 0000000030000140  load.inp sram_base 0, dram_base 12, y_size 3, x_size 14, x_stride 56, y_pad_0 1, x_pad_0 1, x_pad_1 1 | push_next
// CHECK-NEXT:      2  000000000000080e 001c001800200082  gemm.reset uop_bgn 0, uop_end 1, iter_out 3, iter_in 14, dst_factor_out 14, dst_factor_in 1
// CHECK-NEXT:      3  000000020400080e 001c00180020002a  gemm uop_bgn 0, uop_end 1, iter_out 3, iter_in 14, dst_factor_out 14, dst_factor_in 1, src_factor_out 16, src_factor_in 1 | pop_prev push_prev
// CHECK-NEXT:      4  fffdb0000000080e 001c001800200004  alu.shr uop_bgn 0, uop_end 1, iter_out 3, iter_in 14, dst_factor_out 14, dst_factor_in 1, imm -3
// CHECK-NEXT:      5  {{[0-9a-f]+ [0-9a-f]+}}  alu.max {{.*}}, imm 0 | push_next
// CHECK-NEXT:      6  00000038000e0003 0000008000000229  store.out sram_base 0, dram_base 8192, y_size 3, x_size 14, x_stride 56 | pop_prev push_prev
// CHECK-NEXT:      7  {{[0-9a-f]+ [0-9a-f]+}}  load.inp sram_base 0, dram_base 0, y_size 0, x_size 0, x_stride 0 | pop_next
// CHECK-NEXT:      8  0000000000000000 0000000000000013  finish | pop_next

// Names of values are those of regions; a region of bytes says so.

// BACK:      %x = vta.region input "x" at 0 bytes 50176 as tensor<1x3x56x56xi8> tiles [1, 16, 1, 1]
// BACK-NEXT: %w = vta.region constant "w" at 53248 bytes 256 = #glow.blob
// BACK-NEXT: %u = vta.micro_ops "u" at 65536 [(0, 0, 0), (1, 16, 0)]
// BACK-NEXT: %y = vta.region output "y" at 131072 bytes 50176 as tensor<50176xi8>
// BACK-NEXT: vta.load uop[0] from %u[0] size [1, 2]
// BACK-NEXT: vta.load inp[0] from %x[12] size [3, 14] stride 56 pad [1, 0, 1, 1] push(compute)
// BACK-NEXT: vta.gemm reset uops [0, 1] loop [3, 14] dst [14, 1] {vta.layer = "conv"}
// BACK-NEXT: vta.gemm uops [0, 1] loop [3, 14] dst [14, 1] src [16, 1] pop(load) push(load)
// BACK-NEXT: vta.alu shr uops [0, 1] loop [3, 14] dst [14, 1] imm -3
// BACK-NEXT: vta.alu max uops [0, 1] loop [3, 14] dst [14, 1] imm 0 push(store)
// BACK-NEXT: vta.store out[0] to %y[0] size [3, 14] stride 56 pop(compute) push(compute)
// BACK-NEXT: vta.load inp[0] from dram[0] size [0, 0] pop(compute)
// BACK-NEXT: vta.finish pop(store)
