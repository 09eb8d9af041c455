// RUN: not glow-opt %s --assign-layouts="block=0" 2>&1 | filecheck %s

// CHECK: expected a block of at least 1 channel, found 0

func.func @empty() {
  func.return
}

// RUN: not glow-opt %s --assign-layouts="quads=i16" 2>&1 | filecheck %s --check-prefix=QUADS

// QUADS: expected quads of u8, i8, found 'i16'
