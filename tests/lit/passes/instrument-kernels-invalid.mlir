// RUN: glow-opt %s --instrument-kernels --split-input-file --verify-diagnostics | filecheck %s

// Only programs of kernels can be timed, for as many threads as they are, and once.

func.func @other() {
  func.return
}

// CHECK: expected a function called main, found none

// -----

func.func private @k(%x: memref<8xf32>) {
  func.return
}
func.func @main(%x: memref<8xf32> {glow.name = "x", glow.qualifier = "in"}) {
  func.call @k(%x) : (memref<8xf32>) -> ()
  func.return
}

// CHECK: main has no arena as its last parameter: run glow-generate-loops before glow-instrument-kernels

// -----

func.func private @k(%x: memref<8xi8>) {
  func.return
}
func.func @main(%weights: memref<0xi8>, %arena: memref<8xi8>) {
  func.call @k(%arena) : (memref<8xi8>) -> ()
  func.return
}

// CHECK: expected main to use its arena through memref.view only

// -----

func.func private @k() {
  func.return
}
func.func @main(%thread: index, %team: !llvm.ptr, %weights: memref<0xi8>, %arena: memref<8xi8>) {
  func.call @k() : () -> ()
  func.return
}

// CHECK: expected a program for 1 thread, found one for several

// -----

func.func private @k() {
  func.return
}
func.func @main(%weights: memref<0xi8>, %arena: memref<8xi8>) {
  %t = llvm.call_intrinsic "llvm.readcyclecounter"() : () -> i64
  func.call @k() : () -> ()
  func.return
}

// CHECK: main records times already
