// RUN: glow-opt %s --set-machine="vector-bits=128 vector-registers=16" --assign-layouts --cse --dce | filecheck %s

// Bytes are looked up in the blocks of the convolutions around, though a lane of the last block has no channel.
func.func @main(%x: tensor<1x7x9x9xf32>) -> tensor<1x7x9x9xf32> {
  %w = glow.constant dense<0.5> : tensor<7x7x3x3xf32>
  %z = glow.constant dense<0.5> : tensor<7xf32>
  %t = glow.splat value 5 : tensor<256x!quant.uniform<u8:f32, 0.25>>
  %a = glow.convolution %x, %w, %z pads [1, 1, 1, 1] : (tensor<1x7x9x9xf32>, tensor<7x7x3x3xf32>, tensor<7xf32>) -> tensor<1x7x9x9xf32>
  %q = glow.quantize %a : (tensor<1x7x9x9xf32>) -> tensor<1x7x9x9x!quant.uniform<u8:f32, 0.1:3>>
  %l = glow.int_lookup_table %q, %t : (tensor<1x7x9x9x!quant.uniform<u8:f32, 0.1:3>>, tensor<256x!quant.uniform<u8:f32, 0.25>>) -> tensor<1x7x9x9x!quant.uniform<u8:f32, 0.25>>
  %d = glow.dequantize %l : (tensor<1x7x9x9x!quant.uniform<u8:f32, 0.25>>) -> tensor<1x7x9x9xf32>
  %r = glow.convolution %d, %w, %z pads [1, 1, 1, 1] : (tensor<1x7x9x9xf32>, tensor<7x7x3x3xf32>, tensor<7xf32>) -> tensor<1x7x9x9xf32>
  func.return %r : tensor<1x7x9x9xf32>
}

// CHECK:      [[Q:%.*]] = glow.quantize {{.*}} -> tensor<1x1x9x9x8x!quant.uniform<u8:f32, 0.1:3>>
// CHECK-NEXT: [[L:%.*]] = glow.int_lookup_table [[Q]], %t : (tensor<1x1x9x9x8x!quant.uniform<u8:f32, 0.1:3>>, tensor<256x!quant.uniform<u8:f32, 0.25>>) -> tensor<1x1x9x9x8x!quant.uniform<u8:f32, 0.25>>
// CHECK-NEXT: glow.dequantize [[L]]
