// RUN: glow-opt %s | glow-opt | filecheck %s
// RUN: glow-opt %s --print-op-generic | glow-opt | filecheck %s

// Branches and loops on buffers.

func.func @main(%c: memref<i1> {glow.qualifier = "in"}, %n: memref<i64> {glow.qualifier = "in"}, %x: memref<4xf32> {glow.qualifier = "in"},
    %y: memref<4xf32> {glow.qualifier = "out"}, %k: memref<i32> {glow.qualifier = "out"}) {
  glow_inst.if @in %c, @out %y, @in %x : memref<i1>, memref<4xf32>, memref<4xf32> then {
  ^bb0(%0: memref<4xf32>, %1: memref<4xf32>):
    glow_inst.relu @out %0, @in %1 : memref<4xf32>, memref<4xf32>
    glow_inst.yield
  } else {
  ^bb1(%2: memref<4xf32>, %3: memref<4xf32>):
    glow_inst.copy @out %2, @in %3 : memref<4xf32>, memref<4xf32>
    glow_inst.yield
  }
  %i = glow_inst.alloc_activation : memref<i64>
  %g = glow_inst.alloc_activation : memref<i1>
  %s = glow_inst.alloc_activation : memref<10x4xf32>
  glow_inst.copy @out %g, @in %c : memref<i1>, memref<i1>
  glow_inst.splat @out %s value 0.0 : memref<10x4xf32>
  glow_inst.loop trips @in %n while @inout %g count @out %k step @out %i carries @inout %y stacks @inout %s reads @in %x,
      @in %c steps 10 {note = "kept"} : memref<i64>, memref<i1>, memref<i32>, memref<i64>, memref<4xf32>, memref<10x4xf32>, memref<4xf32>, memref<i1> {
  ^bb2(%4: memref<i64>, %5: memref<i1>, %6: memref<4xf32>, %7: memref<4xf32>, %8: memref<4xf32>, %9: memref<i1>):
    glow_inst.add @out %7, @in %6, @in %8 : memref<4xf32>, memref<4xf32>, memref<4xf32>
    glow_inst.copy @out %5, @in %9 : memref<i1>, memref<i1>
    glow_inst.yield
  }
  glow_inst.dealloc_activation %g : memref<i1>
  glow_inst.loop count @out %k step @out %i stacks @out %s steps 10 : memref<i32>, memref<i64>, memref<10x4xf32> {
  ^bb3(%10: memref<i64>, %11: memref<4xf32>):
    glow_inst.splat @out %11 value 1.0 : memref<4xf32>
    glow_inst.yield
  }
  glow_inst.dealloc_activation %s : memref<10x4xf32>
  glow_inst.dealloc_activation %i : memref<i64>
  func.return
}

// CHECK:      glow_inst.if @in %c, @out %y, @in %x : memref<i1>, memref<4xf32>, memref<4xf32> then {
// CHECK-NEXT: ^bb{{.*}}(%0: memref<4xf32>, %1: memref<4xf32>):
// CHECK-NEXT:   glow_inst.relu @out %0, @in %1 : memref<4xf32>, memref<4xf32>
// CHECK-NEXT:   glow_inst.yield
// CHECK-NEXT: } else {
// CHECK:      glow_inst.loop trips @in %n while @inout %g count @out %k step @out %i carries @inout %y stacks @inout %s reads @in %x,
// CHECK-SAME: @in %c steps 10 {note = "kept"} : memref<i64>, memref<i1>, memref<i32>, memref<i64>, memref<4xf32>, memref<10x4xf32>, memref<4xf32>, memref<i1> {
// CHECK-NEXT: ^bb{{.*}}(%0: memref<i64>, %1: memref<i1>, %2: memref<4xf32>, %3: memref<4xf32>, %4: memref<4xf32>, %5: memref<i1>):
// CHECK:      glow_inst.loop count @out %k step @out %i stacks @out %s steps 10 : memref<i32>, memref<i64>, memref<10x4xf32> {
