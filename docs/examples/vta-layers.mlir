// A convolution of 16 to 16 channels; the result is divided by 16, rounded, and not negative.
func.func @main() attributes {vta.config = #vta.config<batch = 1, block_in = 16, block_out = 16>} {
  %x = vta.region input "x" at 0 bytes 576 as tensor<1x16x6x6xi8> tiles [1, 16, 1, 1]
  %y = vta.region output "y" at 768 bytes 576 as tensor<1x16x6x6xi8> tiles [1, 16, 1, 1]
  %w = vta.region constant "w" at 1536 bytes 2304 = dense<3> : tensor<2304xi8>
  vta.layer "y" blocks [0, 1] {
    %0 = vta.product %x blocks [0, 1] by %w at 0 rows [3, 1, 1, 1] columns [3, 1, 1, 1]
    %1 = vta.apply add %0 imm 13
    %2 = vta.apply max %1 imm 8
    %3 = vta.apply shr %2 imm 4
    %4 = vta.apply min %3 imm 127
    vta.write %4 to %y
  }
  func.return
}
