// RUN: glow-opt %s --partition="devices=interpreter,vta" 2>&1 >/dev/null | filecheck %s
// RUN: glow-opt %s --partition="devices=interpreter,vta" | filecheck %s --check-prefix=MODULE
// RUN: glow-opt %s --partition="devices=interpreter" 2>&1 | filecheck %s --check-prefix=NONE
// RUN: glow-opt %s --partition="devices=interpreter,vta" --inline-partitions 2>&1 | filecheck %s --check-prefix=NONE

// A device that gets nothing of a network: a note says why.

// CHECK: note: vta0: no node: glow.relu is of f32; vta computes quantized<i8,
// CHECK-SAME: power_of_two>: quantize the network first (glow-quantize with schema=power_of_two weight-schema=power_of_two everything=true)
// MODULE: glow.idle = {vta0 = "no node: glow.relu is of f32;
// NONE-NOT: no node
// NONE: func.func

func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %y = glow.relu %x : (tensor<4xf32>) -> tensor<4xf32>
  func.return %y : tensor<4xf32>
}
