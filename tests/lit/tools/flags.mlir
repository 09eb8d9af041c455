// Flags are passes, in order and repeatable; they mix with -p.
// RUN: glow-opt --canonicalize --cse %s | filecheck %s --check-prefix=CSE
// RUN: glow-opt -p canonicalize --cse -p dce %s --print-between-passes | filecheck %s --check-prefix=ORDER
// RUN: glow-opt %s --dce --cse --dce --print-between-passes | filecheck %s --check-prefix=REPEAT
// RUN: glow-opt %s --print-op-generic | glow-opt | filecheck %s --check-prefix=ROUND
// RUN: cat %s | glow-opt -p cse | filecheck %s --check-prefix=CSE

func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {
  %a = glow.relu %x : (tensor<2xf32>) -> tensor<2xf32>
  %b = glow.relu %x : (tensor<2xf32>) -> tensor<2xf32>
  %c = glow.add %a, %b : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  func.return %c : tensor<2xf32>
}

// CSE:       %a = glow.relu %x
// CSE-NEXT:  %c = glow.add %a, %a

// ORDER:     IR after canonicalize:
// ORDER:     IR after cse:
// ORDER-NOT: IR after dce:

// REPEAT:    IR after dce:
// REPEAT:    IR after cse:
// REPEAT-NOT: IR after

// ROUND:     %a = glow.relu %x : (tensor<2xf32>) -> tensor<2xf32>
// ROUND-NEXT: %b = glow.relu %x
