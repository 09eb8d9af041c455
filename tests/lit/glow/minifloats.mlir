// RUN: glow-opt %s | glow-opt | filecheck %s
// RUN: glow-opt %s --print-op-generic | glow-opt | filecheck %s
// RUN: glow-opt %s --canonicalize | filecheck %s --check-prefix=CANONICAL
// RUN: glow-opt %s --irgen --allocate --set-machine="vector-bits=256 vector-registers=16" --build-nests | filecheck %s --check-prefix=NEST

// Floats of up to 8 bits, and integers of fewer, are stored, moved and converted.

func.func @main(%x: tensor<5xf32>, %s: tensor<5xf8E4M3FN>, %n: tensor<5xi4>) -> (tensor<5xf8E8M0FNU>, tensor<5xf32>, tensor<5xf8E4M3FN>, tensor<5xf64>, tensor<5xui2>, tensor<1x5xf8E4M3FN>) {
  %power = glow.cast %x saturate false rounding "nearest" : (tensor<5xf32>) -> tensor<5xf8E8M0FNU>
  %c = glow.constant dense<[0.5, -1.0, 1.5, 6.0, 0.0]> : tensor<5xf4E2M1FN>
  %number = glow.cast %c : (tensor<5xf4E2M1FN>) -> tensor<5xf32>
  %half = glow.cast %s : (tensor<5xf8E4M3FN>) -> tensor<5xf16>
  %back = glow.cast %half : (tensor<5xf16>) -> tensor<5xf8E4M3FN>
  %double = glow.cast %half : (tensor<5xf16>) -> tensor<5xf64>
  %last = glow.cast %n : (tensor<5xi4>) -> tensor<5xui2>
  %row = glow.reshape %s : (tensor<5xf8E4M3FN>) -> tensor<1x5xf8E4M3FN>
  func.return %power, %number, %back, %double, %last, %row : tensor<5xf8E8M0FNU>, tensor<5xf32>, tensor<5xf8E4M3FN>, tensor<5xf64>, tensor<5xui2>, tensor<1x5xf8E4M3FN>
}

// CHECK:      func.func @main(%x: tensor<5xf32>, %s: tensor<5xf8E4M3FN>, %n: tensor<5xi4>)
// CHECK-NEXT:   %power = glow.cast %x saturate false rounding "nearest" : (tensor<5xf32>) -> tensor<5xf8E8M0FNU>
// CHECK-NEXT:   %c = glow.constant dense<[5.000000e-01, -1.000000e+00, 1.500000e+00, 6.000000e+00, 0.000000e+00]> : tensor<5xf4E2M1FN>
// CHECK-NEXT:   %number = glow.cast %c : (tensor<5xf4E2M1FN>) -> tensor<5xf32>

// A conversion on the way that loses nothing is left out; one to powers of two keeps its rounding.

// CANONICAL:      %power = glow.cast %x saturate false rounding "nearest" : (tensor<5xf32>) -> tensor<5xf8E8M0FNU>
// CANONICAL-NOT:  tensor<5xf16>
// CANONICAL:      glow.cast %s : (tensor<5xf8E4M3FN>) -> tensor<5xf64>

// In kernels, a minifloat is a byte, whose bits are computed.

// NEST-NOT: glow.cast %{{.*}} -> f8
// NEST:     glow.bitcast %{{.*}} : (ui8) -> f8E8M0FNU
// NEST:     glow.bitcast %{{.*}} : (f4E2M1FN) -> ui8
// NEST-NOT: glow.cast %{{.*}} -> f8
// NEST:     glow.bitcast %{{.*}} : (ui8) -> f8E4M3FN
