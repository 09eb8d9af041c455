// RUN: glow-opt %s --lower-nodes="target-cpu=\"cortex-a76\"" | filecheck %s
// RUN: glow-opt %s --lower-nodes="target-cpu=\"cortex-a72\" target-features=\"+dotprod\"" | filecheck %s
// RUN: glow-opt %s --lower-nodes="target-triple=\"aarch64-unknown-linux-gnu\" target-features=\"+dotprod\"" | filecheck %s
// RUN: not glow-opt %s --lower-nodes="target-cpu=\"cortex-a72\"" 2>&1 | filecheck %s --check-prefix=WITHOUT
// RUN: not glow-opt %s --lower-nodes="target-cpu=\"x86-64\"" 2>&1 | filecheck %s --check-prefix=WITHOUT
// RUN: not glow-opt %s --lower-nodes="backend=none target-cpu=\"x86-64\"" 2>&1 | filecheck %s --check-prefix=OTHER

// Which nodes stay depends on the CPU that code is generated for, not on this one.

func.func @main(%x: tensor<3x36xi8>, %w: tensor<5x9x8x4xi8>) -> tensor<3x37xi32> {
  %y = glow_cpu.dot_matmul %x, %w columns 37 : (tensor<3x36xi8>, tensor<5x9x8x4xi8>) -> tensor<3x37xi32>
  func.return %y : tensor<3x37xi32>
}

// CHECK: glow_cpu.dot_matmul
// WITHOUT: error: {{.*}}: neither implemented by the backend nor decomposable: 1 node: glow_cpu.dot_matmul
// OTHER: error: {{.*}}target-cpu: options of a backend, found 'none'
