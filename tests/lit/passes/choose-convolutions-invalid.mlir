// RUN: not glow-opt %s --choose-convolutions="algorithm=fft" 2>&1 | filecheck %s

func.func @f() {
  func.return
}

// CHECK: expected the algorithm of convolutions to be auto, direct, winograd or product, found 'fft'
