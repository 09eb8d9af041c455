// RUN: glow-opt %s --tile-batch="images=0" --verify-diagnostics | filecheck %s

// CHECK: expected images of at least 1, found 0
func.func @none() {
  func.return
}
