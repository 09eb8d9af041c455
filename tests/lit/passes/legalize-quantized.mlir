// RUN: glow-opt %s --legalize-quantized --split-input-file | filecheck %s

// The zero point of the input is in the bias (2 / 0.05 - 3 * 5 = 25), and pads with the number for
// 0. The quotient by the result's scale is in the factor: 0.05 / 0.25.
func.func @convolution(%x: tensor<1x1x4x4x!quant.uniform<u8:f32, 0.5:3>>) -> tensor<1x1x4x4x!quant.uniform<u8:f32, 0.25>> {
  %k = glow.constant dense<[[[[1, 2, 2]]]]> : tensor<1x1x1x3xi8> : tensor<1x1x1x3x!quant.uniform<i8:f32, 0.1>>
  %b = glow.constant dense<[2.0]> : tensor<1xf32>
  %r = glow.dequantize %x : (tensor<1x1x4x4x!quant.uniform<u8:f32, 0.5:3>>) -> tensor<1x1x4x4xf32>
  %w = glow.dequantize %k : (tensor<1x1x1x3x!quant.uniform<i8:f32, 0.1>>) -> tensor<1x1x1x3xf32>
  %c = glow.convolution %r, %w, %b pads [0, 1, 0, 1] : (tensor<1x1x4x4xf32>, tensor<1x1x1x3xf32>, tensor<1xf32>) -> tensor<1x1x4x4xf32>
  %y = glow.relu %c : (tensor<1x1x4x4xf32>) -> tensor<1x1x4x4xf32>
  %q = glow.quantize %y : (tensor<1x1x4x4xf32>) -> tensor<1x1x4x4x!quant.uniform<u8:f32, 0.25>>
  func.return %q : tensor<1x1x4x4x!quant.uniform<u8:f32, 0.25>>
}

// CHECK-LABEL: @convolution(
// CHECK:       glow.pad %x low [0, 0, 0, 1] high [0, 0, 0, 1] value 3.0
// CHECK:       glow.constant dense<{{.*}}1, 2, 2{{.*}}> : tensor<1x1x1x3xi8>
// CHECK:       glow.constant dense<25> : tensor<1xi32>
// CHECK:       glow.convolution %{{[a-z0-9_]+}}, %{{[a-z0-9_]+}}, %{{[a-z0-9_]+}} : {{.*}} -> tensor<1x1x4x4xi32>
// CHECK:       glow.cast {{.*}} : (tensor<1x1x4x4xi32>) -> tensor<1x1x4x4xf32>
// CHECK-NEXT:  glow.splat value 0.2
// CHECK-NEXT:  glow.mul
// CHECK-NEXT:  glow.quantize {{.*}} -> tensor<1x1x4x4x!quant.uniform<u8:f32, 1.0>>
// CHECK-NEXT:  glow.storage_cast {{.*}} -> tensor<1x1x4x4x!quant.uniform<u8:f32, 0.25>>

// -----

// Weights with a zero point are multiplied as i16; those of u8 with 128 as i8.
func.func @asymmetric(%x: tensor<2x3x!quant.uniform<u8:f32, 0.5>>) -> (tensor<2x2xf32>, tensor<2x2xf32>) {
  %k = glow.constant dense<[[1, 2, 3], [4, 5, 6]]> : tensor<2x3xi8> : tensor<2x3x!quant.uniform<i8:f32, 0.1:1>>
  %l = glow.constant dense<[[129, 130, 131], [127, 126, 125]]> : tensor<2x3xui8> : tensor<2x3x!quant.uniform<u8:f32, 0.1:128>>
  %b = glow.splat value 0.0 : tensor<2xf32>
  %r = glow.dequantize %x : (tensor<2x3x!quant.uniform<u8:f32, 0.5>>) -> tensor<2x3xf32>
  %w = glow.dequantize %k : (tensor<2x3x!quant.uniform<i8:f32, 0.1:1>>) -> tensor<2x3xf32>
  %v = glow.dequantize %l : (tensor<2x3x!quant.uniform<u8:f32, 0.1:128>>) -> tensor<2x3xf32>
  %c = glow.fully_connected %r, %w, %b : (tensor<2x3xf32>, tensor<2x3xf32>, tensor<2xf32>) -> tensor<2x2xf32>
  %d = glow.fully_connected %r, %v, %b : (tensor<2x3xf32>, tensor<2x3xf32>, tensor<2xf32>) -> tensor<2x2xf32>
  func.return %c, %d : tensor<2x2xf32>, tensor<2x2xf32>
}

// CHECK-LABEL: @asymmetric(
// CHECK:       glow.constant dense<{{\[}}[0, 1, 2], [3, 4, 5]]> : tensor<2x3xi16>
// CHECK:       (tensor<2x3xi16>, tensor<2x3xi16>, tensor<2xi32>) -> tensor<2x2xi32>
// CHECK:       glow.constant dense<{{\[}}[1, 2, 3], [-1, -2, -3]]> : tensor<2x3xi8>
// CHECK:       (tensor<2x3x!quant.uniform<u8:f32, 0.5>>, tensor<2x3xi8>, tensor<2xi32>) -> tensor<2x2xi32>

// -----

// Sums of products of 16 bits may not fit into i32: floats. So do products of what is no constant by floats.
func.func @stays(%x: tensor<2x3x!quant.uniform<i16:f32, 0.5>>, %y: tensor<2x3xf32>) -> (tensor<2x2xf32>, tensor<2x2xf32>) {
  %k = glow.constant dense<[[30000, 30000, 30000], [4, 5, 6]]> : tensor<2x3xi16> : tensor<2x3x!quant.uniform<i16:f32, 0.1>>
  %b = glow.splat value 0.0 : tensor<2xf32>
  %r = glow.dequantize %x : (tensor<2x3x!quant.uniform<i16:f32, 0.5>>) -> tensor<2x3xf32>
  %w = glow.dequantize %k : (tensor<2x3x!quant.uniform<i16:f32, 0.1>>) -> tensor<2x3xf32>
  %c = glow.fully_connected %r, %w, %b : (tensor<2x3xf32>, tensor<2x3xf32>, tensor<2xf32>) -> tensor<2x2xf32>
  %d = glow.fully_connected %r, %y, %b : (tensor<2x3xf32>, tensor<2x3xf32>, tensor<2xf32>) -> tensor<2x2xf32>
  func.return %c, %d : tensor<2x2xf32>, tensor<2x2xf32>
}

// CHECK-LABEL: @stays(
// CHECK:       glow.fully_connected {{.*}} : (tensor<2x3xf32>, tensor<2x3xf32>, tensor<2xf32>) -> tensor<2x2xf32>
// CHECK-NEXT:  glow.fully_connected {{.*}} : (tensor<2x3xf32>, tensor<2x3xf32>, tensor<2xf32>) -> tensor<2x2xf32>

// -----

// Nodes that move numbers work on stored ones; conversions that meet cancel.
func.func @moves(%x: tensor<1x2x4x4x!quant.uniform<u8:f32, 0.5:3>>) -> tensor<2x1x4x!quant.uniform<u8:f32, 0.5:3>> {
  %r = glow.dequantize %x : (tensor<1x2x4x4x!quant.uniform<u8:f32, 0.5:3>>) -> tensor<1x2x4x4xf32>
  %p = glow.max_pool %r kernel [2, 2] strides [2, 2] : (tensor<1x2x4x4xf32>) -> tensor<1x2x2x2xf32>
  %t = glow.transpose %p permutation [1, 0, 2, 3] : (tensor<1x2x2x2xf32>) -> tensor<2x1x2x2xf32>
  %s = glow.reshape %t : (tensor<2x1x2x2xf32>) -> tensor<2x1x4xf32>
  %q = glow.quantize %s : (tensor<2x1x4xf32>) -> tensor<2x1x4x!quant.uniform<u8:f32, 0.5:3>>
  func.return %q : tensor<2x1x4x!quant.uniform<u8:f32, 0.5:3>>
}

// CHECK-LABEL: @moves(
// CHECK-NEXT:  glow.max_pool %x
// CHECK-NEXT:  glow.transpose
// CHECK-NEXT:  glow.reshape
// CHECK-NEXT:  func.return

// -----

// Parts are quantized before they are joined, and pads hold the stored number.
func.func @joins(%x: tensor<1x2xf32>, %y: tensor<1x2x!quant.uniform<u8:f32, 0.5:3>>) -> tensor<1x5x!quant.uniform<u8:f32, 0.25:7>> {
  %r = glow.dequantize %y : (tensor<1x2x!quant.uniform<u8:f32, 0.5:3>>) -> tensor<1x2xf32>
  %j = glow.concat %x, %r axis 1 : (tensor<1x2xf32>, tensor<1x2xf32>) -> tensor<1x4xf32>
  %p = glow.pad %j low [0, 1] value 1.0 : (tensor<1x4xf32>) -> tensor<1x5xf32>
  %q = glow.quantize %p : (tensor<1x5xf32>) -> tensor<1x5x!quant.uniform<u8:f32, 0.25:7>>
  func.return %q : tensor<1x5x!quant.uniform<u8:f32, 0.25:7>>
}

// CHECK-LABEL: @joins(
// CHECK-DAG:   glow.quantize %x
// CHECK-DAG:   glow.dequantize %y
// CHECK:       glow.concat {{.*}} -> tensor<1x4x!quant.uniform<u8:f32, 0.25:7>>
// CHECK-NEXT:  glow.pad {{.*}}value 11.0 :

// -----

// Limits: of the type, between quantizations on one grid, below what the type holds, above it.
func.func @limits(%x: tensor<4xf32>, %y: tensor<4x!quant.uniform<i8:f32, 0.5:3>>)
    -> (tensor<4x!quant.uniform<u8:f32, 0.5>>, tensor<4x!quant.uniform<i8:f32, 0.5:3>>, tensor<4x!quant.uniform<u8:f32, 0.5>>) {
  %a = glow.relu %x : (tensor<4xf32>) -> tensor<4xf32>
  %b = glow.quantize %a : (tensor<4xf32>) -> tensor<4x!quant.uniform<u8:f32, 0.5>>
  %r = glow.dequantize %y : (tensor<4x!quant.uniform<i8:f32, 0.5:3>>) -> tensor<4xf32>
  %c = glow.clip %r min 0.0 max 6.0 : (tensor<4xf32>) -> tensor<4xf32>
  %d = glow.quantize %c : (tensor<4xf32>) -> tensor<4x!quant.uniform<i8:f32, 0.5:3>>
  %e = glow.clip %x min 0.0 max 6.0 : (tensor<4xf32>) -> tensor<4xf32>
  %f = glow.quantize %e : (tensor<4xf32>) -> tensor<4x!quant.uniform<u8:f32, 0.5>>
  func.return %b, %d, %f : tensor<4x!quant.uniform<u8:f32, 0.5>>, tensor<4x!quant.uniform<i8:f32, 0.5:3>>, tensor<4x!quant.uniform<u8:f32, 0.5>>
}

// CHECK-LABEL: @limits(
// CHECK-DAG:   glow.quantize %x
// CHECK-DAG:   glow.clip {{.*}} min 3 max 15 : (tensor<4xi8>) -> tensor<4xi8>
// CHECK-DAG:   glow.clip %x min 0.0 max 6.0

// -----

// Two activations: sums of rows and columns correct for zero points; the right one becomes i8.
func.func @activations(%x: tensor<2x3x!quant.uniform<u8:f32, 0.5:3>>, %y: tensor<3x2x!quant.uniform<u8:f32, 0.5:7>>) -> tensor<2x2xf32> {
  %a = glow.dequantize %x : (tensor<2x3x!quant.uniform<u8:f32, 0.5:3>>) -> tensor<2x3xf32>
  %b = glow.dequantize %y : (tensor<3x2x!quant.uniform<u8:f32, 0.5:7>>) -> tensor<3x2xf32>
  %c = glow.matmul %a, %b : (tensor<2x3xf32>, tensor<3x2xf32>) -> tensor<2x2xf32>
  func.return %c : tensor<2x2xf32>
}

// CHECK-LABEL: @activations(
// CHECK:       glow.matmul {{.*}}u8:f32, 0.5:3{{.*}}i8:f32, 0.5:-121{{.*}} -> tensor<2x2xi32>
// CHECK:       glow.reduce_sum {{.*}}axes [0]
// CHECK:       glow.reduce_sum {{.*}}axes [1]

// -----

// A change to signed storage meets the quantization above a move, unless others need the unsigned numbers.
func.func @storage(%x: tensor<6xf32>, %z: tensor<6xf32>) -> (tensor<2x3x!quant.uniform<i8:f32, 0.5:-9>>, tensor<2x3x!quant.uniform<i8:f32, 0.5:-9>>, tensor<2x3x!quant.uniform<u8:f32, 0.5:119>>) {
  %a = glow.quantize %x : (tensor<6xf32>) -> tensor<6x!quant.uniform<u8:f32, 0.5:119>>
  %b = glow.reshape %a : (tensor<6x!quant.uniform<u8:f32, 0.5:119>>) -> tensor<2x3x!quant.uniform<u8:f32, 0.5:119>>
  %c = glow.dequantize %b : (tensor<2x3x!quant.uniform<u8:f32, 0.5:119>>) -> tensor<2x3xf32>
  %d = glow.quantize %c : (tensor<2x3xf32>) -> tensor<2x3x!quant.uniform<i8:f32, 0.5:-9>>
  %e = glow.quantize %z : (tensor<6xf32>) -> tensor<6x!quant.uniform<u8:f32, 0.5:119>>
  %f = glow.reshape %e : (tensor<6x!quant.uniform<u8:f32, 0.5:119>>) -> tensor<2x3x!quant.uniform<u8:f32, 0.5:119>>
  %g = glow.dequantize %f : (tensor<2x3x!quant.uniform<u8:f32, 0.5:119>>) -> tensor<2x3xf32>
  %h = glow.quantize %g : (tensor<2x3xf32>) -> tensor<2x3x!quant.uniform<i8:f32, 0.5:-9>>
  func.return %d, %h, %f : tensor<2x3x!quant.uniform<i8:f32, 0.5:-9>>, tensor<2x3x!quant.uniform<i8:f32, 0.5:-9>>, tensor<2x3x!quant.uniform<u8:f32, 0.5:119>>
}

// CHECK-LABEL: @storage(
// CHECK-NEXT:  [[A:%.*]] = glow.quantize %x : (tensor<6xf32>) -> tensor<6x!quant.uniform<i8:f32, 0.5:-9>>
// CHECK-NEXT:  [[B:%.*]] = glow.reshape [[A]] :
// CHECK-NEXT:  [[E:%.*]] = glow.quantize %z : (tensor<6xf32>) -> tensor<6x!quant.uniform<u8:f32, 0.5:119>>
// CHECK-NEXT:  [[F:%.*]] = glow.reshape [[E]] :
// CHECK-NEXT:  [[G:%.*]] = glow.dequantize [[F]] :
// CHECK-NEXT:  [[H:%.*]] = glow.quantize [[G]] : (tensor<2x3xf32>) -> tensor<2x3x!quant.uniform<i8:f32, 0.5:-9>>
// CHECK-NEXT:  func.return [[B]], [[H]], [[F]]

// -----

// Nothing quantized: nothing happens, not even to constants.
func.func @floats(%x: tensor<2xf32>) -> tensor<2xf32> {
  %a = glow.constant dense<[1.0, 2.0]> : tensor<2xf32>
  %b = glow.neg %a : (tensor<2xf32>) -> tensor<2xf32>
  %c = glow.add %x, %b : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  func.return %c : tensor<2xf32>
}

// CHECK-LABEL: @floats(
// CHECK:       glow.neg
