// RUN: glow-opt %s --split-input-file --verify-diagnostics --parsing-diagnostics | filecheck %s

func.func @integers(%x: tensor<2xi32>) {
  glow.profile %x {value = "x", operator = "input", key = "3cecdfc4d5d8fe87", local_key = "cf6748233a5f8950"} : tensor<2xi32>
  func.return
}

// CHECK: expected float elements, found tensor<2xi32>

// -----

func.func @no_key(%x: tensor<2xf32>) {
  glow.profile %x {value = "x", operator = "input", key = "3cecdfc4d5d8fe87"} : tensor<2xf32>
  func.return
}

// CHECK: property 'local_key' expected
