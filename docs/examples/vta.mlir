// y = clip((x . w) >> 4) for four vectors of 16 channels
func.func @main() attributes {vta.config = #vta.config<batch = 1, block_in = 16, block_out = 16>} {
  %x = vta.region input "x" at 0 bytes 64 as tensor<4x16xi8>
  %w = vta.region constant "w" at 256 bytes 256 = dense<1> : tensor<16x16xi8>
  %u = vta.micro_ops "u" at 512 [(0, 0, 0)]
  %y = vta.region output "y" at 1024 bytes 64 as tensor<4x16xi8>
  vta.load inp[0] from %x[0] size [1, 4]
  vta.load wgt[0] from %w[0] size [1, 1] push(compute)
  vta.load uop[0] from %u[0] size [1, 1]
  vta.gemm reset uops [0, 1] loop [1, 4] dst [0, 1]
  vta.gemm uops [0, 1] loop [1, 4] dst [0, 1] src [0, 1] pop(load)
  vta.alu shr uops [0, 1] loop [1, 4] dst [0, 1] imm 4
  vta.alu min uops [0, 1] loop [1, 4] dst [0, 1] imm 127
  vta.alu max uops [0, 1] loop [1, 4] dst [0, 1] imm -128 push(store)
  vta.store out[0] to %y[0] size [1, 4] pop(compute) push(compute)
  vta.finish pop(store)
  func.return
}
