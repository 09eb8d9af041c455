// RUN: glow-opt %s | glow-opt | filecheck %s
// RUN: glow-opt %s --print-op-generic | glow-opt | filecheck %s

// Sums of rows that indices name.

func.func @main(%d: tensor<10x4xf32>, %q: tensor<10x6xui8>, %i: tensor<5xi64>, %f: tensor<5xf32>, %b: tensor<3xi64>) {
  %r0 = glow.embedding_bag %d, %i, %f, %b : (tensor<10x4xf32>, tensor<5xi64>, tensor<5xf32>, tensor<3xi64>) -> tensor<2x4xf32>
  %r1 = glow.fused_embedding_bag %q, %i, %f, %b bits 4 half true : (tensor<10x6xui8>, tensor<5xi64>, tensor<5xf32>, tensor<3xi64>) -> tensor<2x4xf32>
  %r2 = glow.fused_embedding_bag %q, %i, %f, %b half true : (tensor<10x6xui8>, tensor<5xi64>, tensor<5xf32>, tensor<3xi64>) -> tensor<2x2xf32>
  func.return
}

// CHECK:      %r0 = glow.embedding_bag %d, %i, %f, %b : (tensor<10x4xf32>, tensor<5xi64>, tensor<5xf32>, tensor<3xi64>) -> tensor<2x4xf32>
// CHECK-NEXT: %r1 = glow.fused_embedding_bag %q, %i, %f, %b bits 4 half true : (tensor<10x6xui8>, tensor<5xi64>, tensor<5xf32>, tensor<3xi64>) -> tensor<2x4xf32>
// CHECK-NEXT: %r2 = glow.fused_embedding_bag %q, %i, %f, %b half true : (tensor<10x6xui8>, tensor<5xi64>, tensor<5xf32>, tensor<3xi64>) -> tensor<2x2xf32>
