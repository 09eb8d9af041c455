// For a design whose stores do not see what is loaded: the sums of x and y pass through the ALU.
func.func @main() attributes {vta.config = #vta.config<batch = 1, block_in = 16, block_out = 16, design = "intelfocl">} {
  %x = vta.region input "x" at 0 bytes 64 as tensor<4x16xi8>
  %y = vta.region input "y" at 64 bytes 64 as tensor<4x16xi8>
  %u = vta.micro_ops "u" at 512 [(0, 4, 0)]
  %z = vta.region output "z" at 1024 bytes 64 as tensor<4x16xi8>
  vta.load acc8[0] from %x[0] size [1, 4]
  vta.load acc8[4] from %y[0] size [1, 4]
  vta.load uop[0] from %u[0] size [1, 1]
  vta.alu add uops [0, 1] loop [1, 4] dst [0, 1] src [0, 1] push(store)
  vta.store out[0] to %z[0] size [1, 4] pop(compute) push(compute)
  vta.finish pop(store)
  func.return
}
