// RUN: glow-opt %s --set-machine="vector-bits=512 vector-registers=32 int8-dots=vpdpbusd" --assign-layouts --cse --dce | filecheck %s

// Five of 16 channels are few, but products of four bytes make up for the other lanes. One channel
// is faster by vectors of pixels.

func.func @few(%x: tensor<1x16x9x9x!quant.uniform<u8:f32, 0.5:7>>) -> (tensor<1x5x9x9xi32>, tensor<1x1x9x9xi32>) {
  %w = glow.constant dense<1> : tensor<16x16x1x1xi8>
  %b = glow.constant dense<2> : tensor<16xi32>
  %v = glow.constant dense<3> : tensor<5x16x3x3xi8>
  %c = glow.constant dense<[4, 5, 6, 7, 8]> : tensor<5xi32>
  %u = glow.constant dense<3> : tensor<1x16x3x3xi8>
  %d = glow.constant dense<6> : tensor<1xi32>
  %0 = glow.convolution %x, %w, %b : (tensor<1x16x9x9x!quant.uniform<u8:f32, 0.5:7>>, tensor<16x16x1x1xi8>, tensor<16xi32>) -> tensor<1x16x9x9xi32>
  %1 = glow.cast %0 : (tensor<1x16x9x9xi32>) -> tensor<1x16x9x9xf32>
  %2 = glow.quantize %1 : (tensor<1x16x9x9xf32>) -> tensor<1x16x9x9x!quant.uniform<u8:f32, 0.25>>
  %3 = glow.convolution %2, %v, %c pads [1, 1, 1, 1] : (tensor<1x16x9x9x!quant.uniform<u8:f32, 0.25>>, tensor<5x16x3x3xi8>, tensor<5xi32>) -> tensor<1x5x9x9xi32>
  %4 = glow.convolution %2, %u, %d pads [1, 1, 1, 1] : (tensor<1x16x9x9x!quant.uniform<u8:f32, 0.25>>, tensor<1x16x3x3xi8>, tensor<1xi32>) -> tensor<1x1x9x9xi32>
  func.return %3, %4 : tensor<1x5x9x9xi32>, tensor<1x1x9x9xi32>
}

// CHECK-LABEL: @few(
// CHECK:       [[Q:%.*]] = glow.quantize
// CHECK:       [[P:%.*]] = glow.pad [[Q]]
// CHECK:       glow_cpu.dot_convolution [[P]], {{.*}} -> tensor<1x1x9x9x16xi32>
// CHECK:       [[U:%.*]] = glow_cpu.unpack_channels [[Q]] channels 16
// CHECK:       glow.convolution [[U]], {{.*}} -> tensor<1x1x9x9xi32>
