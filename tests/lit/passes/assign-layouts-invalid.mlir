// RUN: not glow-opt %s --assign-layouts="block=0" 2>&1 | filecheck %s

// CHECK: expected a block of at least 1 channel, found 0

func.func @empty() {
  func.return
}
