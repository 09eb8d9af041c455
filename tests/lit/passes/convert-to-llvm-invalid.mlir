// RUN: not glow-opt %s --convert-to-llvm 2>&1 | filecheck %s

func.func @kernel(%x: memref<8xf32>) {
  "test.op"(%x) : (memref<8xf32>) -> ()
  func.return
}
// CHECK: cannot convert 'test.op' in @kernel to the llvm dialect: no conversion is registered for it
// CHECK-NOT: Traceback
