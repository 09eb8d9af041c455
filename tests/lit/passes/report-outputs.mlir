// RUN: glow-opt %s --report-outputs --split-input-file | filecheck %s
// RUN: glow-opt %s --report-outputs --convert-to-llvm --split-input-file | filecheck %s --check-prefix=LLVM

// An output is reported after its last use, also that by a view. Inputs and unused outputs are not.

func.func private @k(%y: memref<4xf32>) {
  func.return
}
func.func @main(%weights: memref<0xi8>, %x: memref<4xf32> {glow.qualifier = "in"}, %u: memref<4xf32> {glow.qualifier = "out"},
    %y: memref<4xf32> {glow.qualifier = "out"}, %z: memref<2x2xf32> {glow.qualifier = "out"}, %arena: memref<0xi8>) {
  %v = memref.reinterpret_cast %z to offset: [0], sizes: [4], strides: [1] : memref<2x2xf32> to memref<4xf32>
  func.call @k(%y) : (memref<4xf32>) -> ()
  func.call @k(%y) : (memref<4xf32>) -> ()
  func.call @k(%v) : (memref<4xf32>) -> ()
  func.call @k(%x) : (memref<4xf32>) -> ()
  func.return
}

// CHECK:      func.func private @glow_report(index) -> ()
// CHECK:      func.func @main
// CHECK:        func.call @k(%y)
// CHECK-NEXT:   func.call @k(%y)
// CHECK-NEXT:   %[[ONE:.*]] = arith.constant 1 : index
// CHECK-NEXT:   func.call @glow_report(%[[ONE]]) : (index) -> ()
// CHECK-NEXT:   func.call @k(%v)
// CHECK-NEXT:   %[[TWO:.*]] = arith.constant 2 : index
// CHECK-NEXT:   func.call @glow_report(%[[TWO]]) : (index) -> ()
// CHECK-NEXT:   func.call @k(%x)
// CHECK-NEXT:   func.return

// LLVM: llvm.func @glow_report(i64)
// LLVM: llvm.call @glow_report(%{{.*}}) : (i64) -> ()

// -----

// Thread 0 reports, behind a barrier; one that is there already is enough.

func.func private @k(%y: memref<4xf32>) {
  func.return
}
func.func private @glow_barrier(!llvm.ptr, index) -> ()
func.func @main(%thread: index, %team: !llvm.ptr, %weights: memref<0xi8>, %y: memref<4xf32> {glow.qualifier = "out"}, %z: memref<4xf32> {glow.qualifier = "out"}, %arena: memref<0xi8>) {
  func.call @k(%y) : (memref<4xf32>) -> ()
  func.call @glow_barrier(%team, %thread) : (!llvm.ptr, index) -> ()
  func.call @k(%z) : (memref<4xf32>) -> ()
  func.return
}

// CHECK:      func.func @main
// CHECK-NEXT:   func.call @k(%y)
// CHECK-NEXT:   func.call @glow_barrier(%team, %thread)
// CHECK-NEXT:   %[[ZERO:.*]] = arith.constant 0 : index
// CHECK-NEXT:   %[[FIRST:.*]] = arith.cmpi eq, %thread, %[[ZERO]] : index
// CHECK-NEXT:   scf.if %[[FIRST]] {
// CHECK-NEXT:     %[[Y:.*]] = arith.constant 0 : index
// CHECK-NEXT:     func.call @glow_report(%[[Y]])
// CHECK-NEXT:   }
// CHECK-NEXT:   func.call @k(%z)
// CHECK-NEXT:   func.call @glow_barrier(%team, %thread)
// CHECK:        scf.if
