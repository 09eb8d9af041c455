// RUN: glow-opt %s --merge-products="threads=0" --verify-diagnostics | filecheck %s

// CHECK: expected threads of at least 1, found 0
func.func @none() {
  func.return
}
