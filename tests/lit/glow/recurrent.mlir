// RUN: glow-opt %s | glow-opt | filecheck %s
// RUN: glow-opt %s --print-op-generic | glow-opt | filecheck %s

// Recurrent layers, with and without a mask.

func.func @recurrent(%x4: tensor<5x2x12xf32>, %w4: tensor<3x12xf32>, %i2: tensor<2x2x3xf32>, %p: tensor<3x3xf32>, %m: tensor<5x2xi1>,
    %x3: tensor<5x2x9xf16>, %w3: tensor<3x9xf16>, %i: tensor<1x2x3xf16>, %b: tensor<1x3xf16>, %x: tensor<5x2x3xf16>, %w: tensor<3x3xf16>) {
  %lstm = glow.lstm %x4, %w4, %i2, %p : (tensor<5x2x12xf32>, tensor<3x12xf32>, tensor<2x2x3xf32>, tensor<3x3xf32>) -> tensor<2x6x2x3xf32>
  %masked = glow.lstm %x4, %w4, %i2, %p, %m activations "HardSigmoid(0.2,0.5) Tanh Relu" clip 2.5 input_forget true reverse true : (tensor<5x2x12xf32>,
      tensor<3x12xf32>, tensor<2x2x3xf32>, tensor<3x3xf32>, tensor<5x2xi1>) -> tensor<2x6x2x3xf32>
  %gru = glow.gru %x3, %w3, %i, %b reset_after true : (tensor<5x2x9xf16>, tensor<3x9xf16>, tensor<1x2x3xf16>, tensor<1x3xf16>) -> tensor<1x6x2x3xf16>
  %rnn = glow.rnn %x, %w, %i, %m activations "Affine(0.5,0.1)" : (tensor<5x2x3xf16>, tensor<3x3xf16>, tensor<1x2x3xf16>, tensor<5x2xi1>) -> tensor<1x6x2x3xf16>
  %kept = glow.gru %x3, %w3, %i, %b keeps true : (tensor<5x2x9xf16>, tensor<3x9xf16>, tensor<1x2x3xf16>, tensor<1x3xf16>) -> tensor<4x6x2x3xf16>
  %q = "test.op"() : () -> tensor<3x3x4xf16>
  %panels = glow.gru %x3, %q, %i, %b : (tensor<5x2x9xf16>, tensor<3x3x4xf16>, tensor<1x2x3xf16>, tensor<1x3xf16>) -> tensor<1x6x2x3xf16>
  func.return
}

// CHECK:      %lstm = glow.lstm %x4, %w4, %i2, %p : (tensor<5x2x12xf32>, tensor<3x12xf32>, tensor<2x2x3xf32>, tensor<3x3xf32>) -> tensor<2x6x2x3xf32>
// CHECK-NEXT: %masked = glow.lstm %x4, %w4, %i2, %p, %m activations "HardSigmoid(0.2,0.5) Tanh Relu" clip 2.5 input_forget true reverse true
// CHECK-SAME: tensor<5x2xi1>) -> tensor<2x6x2x3xf32>
// CHECK-NEXT: %gru = glow.gru %x3, %w3, %i, %b reset_after true : (tensor<5x2x9xf16>, tensor<3x9xf16>, tensor<1x2x3xf16>, tensor<1x3xf16>) -> tensor<1x6x2x3xf16>
// CHECK-NEXT: %rnn = glow.rnn %x, %w, %i, %m activations "Affine(0.5,0.1)" : (tensor<5x2x3xf16>, tensor<3x3xf16>, tensor<1x2x3xf16>, tensor<5x2xi1>) -> tensor<1x6x2x3xf16>
// CHECK-NEXT: %kept = glow.gru %x3, %w3, %i, %b keeps true : (tensor<5x2x9xf16>, tensor<3x9xf16>, tensor<1x2x3xf16>, tensor<1x3xf16>) -> tensor<4x6x2x3xf16>
// CHECK:      %panels = glow.gru %x3, %q, %i, %b : (tensor<5x2x9xf16>, tensor<3x3x4xf16>, tensor<1x2x3xf16>, tensor<1x3xf16>) -> tensor<1x6x2x3xf16>
