// A pass runs behind the conversions that lead to what it works on; one note on stderr names them.
// RUN: glow-opt %s --lower-nodes --stack-ops --allocate 2>%t.err | filecheck %s
// RUN: filecheck %s --check-prefix=NOTE < %t.err
// RUN: not glow-opt %s --stack-ops --strict 2>&1 | filecheck %s --check-prefix=STRICT
// Passes in xdsl-opt stay plain.
// RUN: xdsl-opt %s -p glow-stack-ops 2>&1 | filecheck %s --check-prefix=PLAIN

func.func @main(%x: tensor<4xf32> {glow.name = "x"}) -> (tensor<4xf32> {glow.name = "y"}) {
  %a = glow.exp %x : (tensor<4xf32>) -> tensor<4xf32>
  %y = glow.neg %a : (tensor<4xf32>) -> tensor<4xf32>
  func.return %y : tensor<4xf32>
}

// CHECK:      func.func @main({{.*}}) attributes {glow.arena_size = 0 : i64
// CHECK-NEXT:   glow_inst.stacked

// NOTE:      levels.mlir: note: --stack-ops works on instructions (glow_inst): --schedule-nodes --irgen run before it
// NOTE-NOT:  {{.}}

// STRICT:   levels.mlir: error: --stack-ops works on instructions (glow_inst) and finds none: add --schedule-nodes --irgen before it

// PLAIN:     glow.neg
// PLAIN-NOT: note
