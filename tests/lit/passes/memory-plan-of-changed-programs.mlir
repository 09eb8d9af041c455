// RUN: glow-opt %s --irgen --allocate --stack-ops --split-input-file | filecheck %s
// RUN: glow-opt %s --irgen --allocate --stack-ops --build-nests --split-input-file | filecheck %s --check-prefix=NESTS

// A pass that changes a program after memory was planned removes the plan.

func.func @main(%x: tensor<8xf32> {glow.name = "x"}) -> (tensor<8xf32> {glow.name = "y"}) {
  %a = glow.exp %x : (tensor<8xf32>) -> tensor<8xf32>
  %b = glow.softmax %a axis 0 : (tensor<8xf32>) -> tensor<8xf32>
  %c = glow.neg %b : (tensor<8xf32>) -> tensor<8xf32>
  %d = glow.abs %c : (tensor<8xf32>) -> tensor<8xf32>
  %y = glow.softmax %d axis 0 : (tensor<8xf32>) -> tensor<8xf32>
  func.return %y : tensor<8xf32>
}

// CHECK-LABEL: func.func @main
// CHECK-NOT:   glow.arena_size
// CHECK-NOT:   offset
// CHECK:       glow_inst.softmax

// What needs a plan makes a new one.

// NESTS-LABEL: func.func @main
// NESTS-SAME:  glow.arena_size

// -----

// The plan of a program that does not change stays.

func.func @main(%x: tensor<8xf32> {glow.name = "x"}) -> (tensor<8xf32> {glow.name = "y"}) {
  %a = glow.softmax %x axis 0 : (tensor<8xf32>) -> tensor<8xf32>
  %y = glow.softmax %a axis 0 : (tensor<8xf32>) -> tensor<8xf32>
  func.return %y : tensor<8xf32>
}

// CHECK-LABEL: func.func @main
// CHECK-SAME:  glow.arena_size = 128 : i64
// CHECK:       glow_inst.alloc_activation {offset = 0 : i64}
