// RUN: glow-opt %s --split-input-file --verify-diagnostics -t vta-asm | filecheck %s
// RUN: glow-opt %s --split-input-file --verify-diagnostics -t vta-binary | filecheck %s

func.func @main() {
  func.return
}
// CHECK: expected {{.*}}func.func with the attribute vta.config

// -----

func.func @main() attributes {vta.config = #vta.config<batch = 1, block_in = 16, block_out = 16>} {
  %c = "test.op"() : () -> i32
  vta.finish
  func.return
}
// CHECK: expected only operations of the vta dialect in a program for it

// -----

func.func @main(%x: i32) attributes {vta.config = #vta.config<batch = 1, block_in = 16, block_out = 16>} {
  vta.finish
  func.return
}
// CHECK: expected a program of one block without arguments
