// RUN: glow-opt %s --report-outputs --split-input-file --verify-diagnostics | filecheck %s

func.func @other() {
  func.return
}

// CHECK: expected a function called main, found none

// -----

func.func private @k(%y: memref<8xf32>) {
  func.return
}
func.func @main(%x: memref<8xf32> {glow.name = "x", glow.qualifier = "in"}, %y: memref<8xf32> {glow.name = "y", glow.qualifier = "out"}) {
  func.call @k(%y) : (memref<8xf32>) -> ()
  func.return
}

// CHECK: main has no arena as its last parameter: run glow-generate-loops before glow-report-outputs

// -----

func.func private @glow_report(index) -> ()
func.func @main(%weights: memref<0xi8>, %y: memref<8xf32> {glow.qualifier = "out"}, %arena: memref<0xi8>) {
  func.return
}

// CHECK: main reports its outputs already
