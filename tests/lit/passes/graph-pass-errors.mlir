// RUN: not glow-opt %s --lower-nodes="backend=absent" 2>&1 | filecheck %s --check-prefix=BACKEND
// RUN: not glow-opt %s --lower-nodes="backend=none keep=relu,rleu" 2>&1 | filecheck %s --check-prefix=KEEP
// RUN: not glow-opt %s --fold-constants 2>&1 | filecheck %s --check-prefix=BLOB
// RUN: not glow-opt %s --fold-batch-norm 2>&1 | filecheck %s --check-prefix=NORM

func.func @main(%x: tensor<1x64x1xf32>) -> (tensor<1x64x1xf32>, tensor<64xf32>) {
  %w = glow.constant #glow.blob<"absent.bin", 0, 256> : tensor<64xf32>
  %n = glow.batch_norm %x, %w, %w, %w, %w epsilon 0.001 : (tensor<1x64x1xf32>, tensor<64xf32>, tensor<64xf32>, tensor<64xf32>, tensor<64xf32>) -> tensor<1x64x1xf32>
  %e = glow.exp %w : (tensor<64xf32>) -> tensor<64xf32>
  func.return %n, %e : tensor<1x64x1xf32>, tensor<64xf32>
}

// BACKEND: error: {{.*}}no backend is called 'absent'; installed: {{.*}}cpu
// KEEP: error: {{.*}}cannot keep rleu: there is no such node
// BLOB: graph-pass-errors.mlir:9:{{.*}}glow.exp{{.*}}cannot read a constant: {{.*}}absent.bin
// NORM: graph-pass-errors.mlir:8:{{.*}}glow.batch_norm{{.*}}cannot read its constants: {{.*}}absent.bin
