// RUN: glow-opt %s --set-machine="target-cpu=\"cortex-a76\"" --lower-nodes | filecheck %s
// RUN: glow-opt %s --set-machine="target-cpu=\"cortex-a72\" target-features=\"+dotprod\"" --lower-nodes | filecheck %s
// RUN: glow-opt %s --set-machine="vector-bits=128 int8-dots=sdot" --lower-nodes | filecheck %s
// RUN: not glow-opt %s --set-machine="target-cpu=\"cortex-a72\"" --lower-nodes 2>&1 | filecheck %s --check-prefix=WITHOUT
// RUN: not glow-opt %s --lower-nodes 2>&1 | filecheck %s --check-prefix=WITHOUT

// Which nodes stay depends on the machine that the module is for, not on this one.

func.func @main(%x: tensor<3x36xi8>, %w: tensor<5x9x8x4xi8>) -> tensor<3x37xi32> {
  %y = glow_cpu.dot_matmul %x, %w columns 37 : (tensor<3x36xi8>, tensor<5x9x8x4xi8>) -> tensor<3x37xi32>
  func.return %y : tensor<3x37xi32>
}

// CHECK: glow_cpu.dot_matmul
// WITHOUT: error: {{.*}}: neither implemented by the backend nor decomposable: 1 node: glow_cpu.dot_matmul
