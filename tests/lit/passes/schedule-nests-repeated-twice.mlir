// An algorithm that visits blocks of rows and the remaining rows repeats steps twice with one variable, the number of
// a panel. Within each loop, accesses step with the variable of that loop.
// RUN: glow-opt %s --irgen --eliminate-copies --stack-ops --allocate --set-machine="vector-bits=256 vector-registers=16 l2-bytes=8192" --build-nests --schedule-nests | filecheck %s
// CHECK:      glow_nest.repeat %p to 2 {
// CHECK-NEXT: glow_nest.repeat %b_1 to 2 {
// CHECK-NEXT: 64 * %p + 8 * t + j
// CHECK-NEXT: 16 * i + 8 * %p + j
// CHECK:      glow_nest.repeat %p_1 to 2 {
// CHECK-NEXT: glow_nest.repeat %b_2 to 1 {
// CHECK-NEXT: 64 * %p_1 + 8 * t + j
// CHECK-NEXT: 16 * i + 8 * %p_1 + j

func.func @main(%x: tensor<300x8xf32>, %w: tensor<2x8x8xf32>) -> tensor<300x16xf32> {
  %p = glow_cpu.packed_matmul %x, %w columns 16
     : (tensor<300x8xf32>, tensor<2x8x8xf32>) -> tensor<300x16xf32>
  %y = glow.gelu %p : (tensor<300x16xf32>) -> tensor<300x16xf32>
  func.return %y : tensor<300x16xf32>
}
