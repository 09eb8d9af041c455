// RUN: glow-opt %s | glow-opt | filecheck %s
// RUN: glow-opt %s --print-op-generic | glow-opt | filecheck %s
// RUN: glow-opt %s --print-op-generic | filecheck %s --check-prefix=GENERIC

// Observation of a value for a profile.
func.func @observed(%x: tensor<2x0xbf16>) {
  glow.profile %x {value = "x", operator = "input", key = "3cecdfc4d5d8fe87", local_key = "cf6748233a5f8950"} : tensor<2x0xbf16>
  func.return
}

// CHECK:      builtin.module {
// CHECK-NEXT:   func.func @observed(%x: tensor<2x0xbf16>) {
// CHECK-NEXT:     glow.profile %x {value = "x", operator = "input", key = "3cecdfc4d5d8fe87", local_key = "cf6748233a5f8950"} : tensor<2x0xbf16>
// CHECK-NEXT:     func.return
// CHECK-NEXT:   }
// CHECK-NEXT: }

// GENERIC: "glow.profile"(%x) <{value = "x", operator = "input", key = "3cecdfc4d5d8fe87", local_key = "cf6748233a5f8950"}> : (tensor<2x0xbf16>) -> ()
