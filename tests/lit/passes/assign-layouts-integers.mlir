// RUN: glow-opt %s --set-machine="vector-bits=128 vector-registers=8 int8-dots=vpdpbusd has-int8-tiles=true" --assign-layouts --cse --dce --split-input-file | filecheck %s

// The image of 3 channels is packed into one quad, before its border. The result has 8 channels in
// one block, as the next convolution has 24 in one; both are in panels of 4.

func.func @chain(%x: tensor<1x3x5x5x!quant.uniform<u8:f32, 0.5:7>>, %s: tensor<8x1x1xf32>) -> tensor<1x24x3x3xi32> {
  %w = glow.constant dense<1> : tensor<8x3x3x3xi8>
  %b = glow.constant dense<2> : tensor<8xi32>
  %v = glow.constant dense<3> : tensor<24x8x1x1xi8>
  %c = glow.splat value 0.0 : tensor<24xi32>
  %0 = glow.pad %x low [0, 0, 1, 1] high [0, 0, 1, 1] value 7.0 : (tensor<1x3x5x5x!quant.uniform<u8:f32, 0.5:7>>) -> tensor<1x3x7x7x!quant.uniform<u8:f32, 0.5:7>>
  %1 = glow.convolution %0, %w, %b strides [2, 2] : (tensor<1x3x7x7x!quant.uniform<u8:f32, 0.5:7>>, tensor<8x3x3x3xi8>, tensor<8xi32>) -> tensor<1x8x3x3xi32>
  %2 = glow.cast %1 : (tensor<1x8x3x3xi32>) -> tensor<1x8x3x3xf32>
  %3 = glow.quantize %2 : (tensor<1x8x3x3xf32>) -> tensor<1x8x3x3x!quant.uniform<u8:f32, 0.25:9>>
  %4 = glow.convolution %3, %v, %c : (tensor<1x8x3x3x!quant.uniform<u8:f32, 0.25:9>>, tensor<24x8x1x1xi8>, tensor<24xi32>) -> tensor<1x24x3x3xi32>
  func.return %4 : tensor<1x24x3x3xi32>
}

// CHECK-LABEL: @chain(
// CHECK:       [[X:%.*]] = glow_cpu.pack_channels %x block 4 {{.*}} -> tensor<1x1x5x5x4x!quant.uniform<u8:f32, 0.5:7>>
// CHECK:       [[P:%.*]] = glow.pad [[X]] low [0, 0, 1, 1, 0] high [0, 0, 1, 1, 0] value 7.0
// CHECK:       [[Y:%.*]] = glow_cpu.dot_convolution [[P]], {{.*}} : (tensor<1x1x7x7x4x!quant.uniform<u8:f32, 0.5:7>>, tensor<2x1x3x3x1x4x4xi8>, tensor<1x8xi32>) -> tensor<1x1x3x3x8xi32>
// CHECK:       glow.cast [[Y]] : (tensor<1x1x3x3x8xi32>) -> tensor<1x1x3x3x8xf32>
// CHECK:       glow.quantize
// CHECK:       glow_cpu.dot_convolution {{.*}} : (tensor<1x1x3x3x8x!quant.uniform<u8:f32, 0.25:9>>, tensor<6x1x1x1x2x4x4xi8>, tensor<1x24xi32>) -> tensor<1x1x3x3x24xi32>
// CHECK:       glow_cpu.unpack_channels {{.*}} channels 24

// -----

// Products of i8 are in pairs here. Values of one concatenation have the same blocks. Borders of
// different numbers are different values.

func.func @joined(%x: tensor<1x16x4x4xi8>) -> (tensor<1x24x4x4xi32>, tensor<1x24x4x4xi32>) {
  %w = glow.constant dense<1> : tensor<8x16x1x1xi8>
  %b = glow.constant dense<2> : tensor<8xi32>
  %v = glow.constant dense<1> : tensor<16x16x1x1xi8>
  %c = glow.constant dense<2> : tensor<16xi32>
  %f = glow.constant dense<1> : tensor<24x24x3x3xi8>
  %g = glow.constant dense<2> : tensor<24xi32>
  %0 = glow.convolution %x, %w, %b : (tensor<1x16x4x4xi8>, tensor<8x16x1x1xi8>, tensor<8xi32>) -> tensor<1x8x4x4xi32>
  %1 = glow.convolution %x, %v, %c : (tensor<1x16x4x4xi8>, tensor<16x16x1x1xi8>, tensor<16xi32>) -> tensor<1x16x4x4xi32>
  %2 = glow.concat %0, %1 axis 1 : (tensor<1x8x4x4xi32>, tensor<1x16x4x4xi32>) -> tensor<1x24x4x4xi32>
  %3 = glow.cast %2 : (tensor<1x24x4x4xi32>) -> tensor<1x24x4x4xi8>
  %4 = glow.pad %3 low [0, 0, 1, 1] high [0, 0, 1, 1] value 3.0 : (tensor<1x24x4x4xi8>) -> tensor<1x24x6x6xi8>
  %5 = glow.pad %3 low [0, 0, 1, 1] high [0, 0, 1, 1] value 0.0 : (tensor<1x24x4x4xi8>) -> tensor<1x24x6x6xi8>
  %6 = glow.convolution %4, %f, %g : (tensor<1x24x6x6xi8>, tensor<24x24x3x3xi8>, tensor<24xi32>) -> tensor<1x24x4x4xi32>
  %7 = glow.convolution %5, %f, %g : (tensor<1x24x6x6xi8>, tensor<24x24x3x3xi8>, tensor<24xi32>) -> tensor<1x24x4x4xi32>
  func.return %6, %7 : tensor<1x24x4x4xi32>, tensor<1x24x4x4xi32>
}

// CHECK-LABEL: @joined(
// CHECK:       glow_cpu.dot_convolution {{.*}} : (tensor<1x1x4x4x16xi8>, tensor<2x1x1x1x8x4x2xi8>, tensor<1x8xi32>) -> tensor<1x1x4x4x8xi32>
// CHECK:       glow_cpu.dot_convolution {{.*}} -> tensor<1x2x4x4x8xi32>
// CHECK:       glow.concat {{.*}} -> tensor<1x3x4x4x8xi32>
// CHECK:       [[P:%.*]] = glow.pad {{.*}} value 3.0
// CHECK:       [[Q:%.*]] = glow.pad {{.*}} value 0.0
// CHECK:       glow_cpu.dot_convolution [[P]], {{.*}} -> tensor<1x1x4x4x24xi32>
// CHECK:       glow_cpu.dot_convolution [[Q]], {{.*}} -> tensor<1x1x4x4x24xi32>

// -----

// Several users of one border, and a depthwise convolution, which keeps the blocks of its input.

func.func @shared(%x: tensor<1x8x4x4xui8>) -> (tensor<1x8x4x4xi32>, tensor<1x8x4x4xi32>) {
  %v = glow.constant dense<1> : tensor<8x8x1x1xi8>
  %w = glow.constant dense<1> : tensor<8x8x3x3xi8>
  %d = glow.constant dense<1> : tensor<8x1x3x3xi8>
  %b = glow.constant dense<2> : tensor<8xi32>
  %0 = glow.convolution %x, %v, %b : (tensor<1x8x4x4xui8>, tensor<8x8x1x1xi8>, tensor<8xi32>) -> tensor<1x8x4x4xi32>
  %1 = glow.cast %0 : (tensor<1x8x4x4xi32>) -> tensor<1x8x4x4xui8>
  %2 = glow.pad %1 low [0, 0, 1, 1] high [0, 0, 1, 1] value 3.0 : (tensor<1x8x4x4xui8>) -> tensor<1x8x6x6xui8>
  %3 = glow.convolution %2, %w, %b : (tensor<1x8x6x6xui8>, tensor<8x8x3x3xi8>, tensor<8xi32>) -> tensor<1x8x4x4xi32>
  %4 = glow.convolution %2, %d, %b group 8 : (tensor<1x8x6x6xui8>, tensor<8x1x3x3xi8>, tensor<8xi32>) -> tensor<1x8x4x4xi32>
  func.return %3, %4 : tensor<1x8x4x4xi32>, tensor<1x8x4x4xi32>
}

// CHECK-LABEL: @shared(
// CHECK:       [[P:%.*]] = glow.pad {{.*}} -> tensor<1x1x6x6x8xui8>
// CHECK:       glow_cpu.dot_convolution [[P]], {{.*}} -> tensor<1x1x4x4x8xi32>
// CHECK:       glow_cpu.blocked_depthwise_convolution [[P]], {{.*}} : (tensor<1x1x6x6x8xui8>, tensor<1x3x3x8xi8>, tensor<1x8xi32>) -> tensor<1x1x4x4x8xi32>
// CHECK-NOT:   glow.pad

// -----

// Wide integers, and filters that are not constant, keep their layout.

func.func @plain(%x: tensor<1x8x4x4xi32>, %y: tensor<1x8x4x4xui8>, %w: tensor<8x8x1x1xi8>) {
  %v = glow.constant dense<1> : tensor<8x8x1x1xi32>
  %b = glow.constant dense<2> : tensor<8xi32>
  %0 = glow.convolution %x, %v, %b : (tensor<1x8x4x4xi32>, tensor<8x8x1x1xi32>, tensor<8xi32>) -> tensor<1x8x4x4xi32>
  %1 = glow.convolution %y, %w, %b : (tensor<1x8x4x4xui8>, tensor<8x8x1x1xi8>, tensor<8xi32>) -> tensor<1x8x4x4xi32>
  "test.op"(%0, %1) : (tensor<1x8x4x4xi32>, tensor<1x8x4x4xi32>) -> ()
  func.return
}

// CHECK-LABEL: @plain(
// CHECK-NOT:   dot_convolution
// CHECK:       func.return

// -----

// A depthwise convolution of bytes packs its input for a window of 9 elements, but not for one of 4.
func.func @depthwise(%x: tensor<1x8x6x6xui8>, %y: tensor<1x8x6x6xui8>) -> (tensor<1x8x4x4xi32>, tensor<1x8x5x5xi32>) {
  %w = glow.constant dense<1> : tensor<8x1x3x3xi8>
  %v = glow.constant dense<1> : tensor<8x1x2x2xi8>
  %b = glow.constant dense<2> : tensor<8xi32>
  %0 = glow.convolution %x, %w, %b group 8 : (tensor<1x8x6x6xui8>, tensor<8x1x3x3xi8>, tensor<8xi32>) -> tensor<1x8x4x4xi32>
  %1 = glow.convolution %y, %v, %b group 8 : (tensor<1x8x6x6xui8>, tensor<8x1x2x2xi8>, tensor<8xi32>) -> tensor<1x8x5x5xi32>
  func.return %0, %1 : tensor<1x8x4x4xi32>, tensor<1x8x5x5xi32>
}

// CHECK-LABEL: @depthwise(
// CHECK:       [[X:%.*]] = glow_cpu.pack_channels %x block 8
// CHECK:       glow_cpu.blocked_depthwise_convolution [[X]],
// CHECK:       glow.convolution %y,
