// RUN: not glow-opt %s --convert-to-llvm 2>&1 | filecheck %s

func.func @kernel(%x: memref<8xf32, strided<[?]>>) {
  func.return
}
// CHECK: in @kernel to the llvm dialect: expected static strides, found memref<8xf32, strided<[?]>>
// CHECK-NOT: Traceback
