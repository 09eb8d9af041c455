// RUN: glow-opt %s --tile-batch="images=0" --verify-diagnostics | filecheck %s

// CHECK: expected images and cache of at least 1, found 0 and 2097152
func.func @none() {
  func.return
}
