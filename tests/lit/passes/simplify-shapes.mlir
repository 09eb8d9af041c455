// RUN: glow-opt %s --simplify-shapes --split-input-file | filecheck %s

// Reshapes merge, and those that change nothing vanish.
func.func @reshapes(%x: tensor<2x6xf32>) -> (tensor<4x3xf32>, tensor<2x6xf32>) {
  %a = glow.reshape %x : (tensor<2x6xf32>) -> tensor<12xf32>
  %b = glow.reshape %a : (tensor<12xf32>) -> tensor<4x3xf32>
  %c = glow.reshape %b : (tensor<4x3xf32>) -> tensor<2x6xf32>
  func.return %b, %c : tensor<4x3xf32>, tensor<2x6xf32>
}

// CHECK-LABEL: @reshapes(
// CHECK-NEXT:  %b = glow.reshape %x : (tensor<2x6xf32>) -> tensor<4x3xf32>
// CHECK-NEXT:  func.return %b, %x : tensor<4x3xf32>, tensor<2x6xf32>

// -----

// Reshapes around nodes on each element of one operand cancel.
func.func @around_unary(%x: tensor<2x6xf32>) -> tensor<2x6xf32> {
  %a = glow.reshape %x : (tensor<2x6xf32>) -> tensor<12xf32>
  %b = glow.tanh %a : (tensor<12xf32>) -> tensor<12xf32>
  %c = glow.leaky_relu %b alpha 0.1 : (tensor<12xf32>) -> tensor<12xf32>
  %d = glow.reshape %c : (tensor<12xf32>) -> tensor<2x6xf32>
  func.return %d : tensor<2x6xf32>
}

// CHECK-LABEL: @around_unary(
// CHECK-NEXT:  %d = glow.tanh %x : (tensor<2x6xf32>) -> tensor<2x6xf32>
// CHECK-NEXT:  %d_1 = glow.leaky_relu %d alpha 0.1 : (tensor<2x6xf32>) -> tensor<2x6xf32>
// CHECK-NEXT:  func.return %d_1 : tensor<2x6xf32>

// -----

// Not if the shapes differ, or if something else uses a value between them.
func.func @not_around_unary(%x: tensor<2x6xf32>) -> (tensor<3x4xf32>, tensor<2x6xf32>, tensor<12xf32>) {
  %a = glow.reshape %x : (tensor<2x6xf32>) -> tensor<12xf32>
  %b = glow.tanh %a : (tensor<12xf32>) -> tensor<12xf32>
  %c = glow.reshape %b : (tensor<12xf32>) -> tensor<3x4xf32>
  %d = glow.exp %a : (tensor<12xf32>) -> tensor<12xf32>
  %e = glow.reshape %d : (tensor<12xf32>) -> tensor<2x6xf32>
  func.return %c, %e, %d : tensor<3x4xf32>, tensor<2x6xf32>, tensor<12xf32>
}

// CHECK-LABEL: @not_around_unary(
// CHECK-NEXT:  %a = glow.reshape %x : (tensor<2x6xf32>) -> tensor<12xf32>
// CHECK-NEXT:  %b = glow.tanh %a : (tensor<12xf32>) -> tensor<12xf32>
// CHECK-NEXT:  %c = glow.reshape %b : (tensor<12xf32>) -> tensor<3x4xf32>
// CHECK-NEXT:  %d = glow.exp %a : (tensor<12xf32>) -> tensor<12xf32>
// CHECK-NEXT:  %e = glow.reshape %d : (tensor<12xf32>) -> tensor<2x6xf32>
// CHECK-NEXT:  func.return %c, %e, %d : tensor<3x4xf32>, tensor<2x6xf32>, tensor<12xf32>

// -----

// A reduction keeps dimensions as the reshape after it wants.
func.func @reduction(%x: tensor<2x3xf32>) -> tensor<2xf32> {
  %a = glow.reduce_max %x axes [1] keep_dims true : (tensor<2x3xf32>) -> tensor<2x1xf32>
  %b = glow.reshape %a : (tensor<2x1xf32>) -> tensor<2xf32>
  func.return %b : tensor<2xf32>
}

// CHECK-LABEL: @reduction(
// CHECK-NEXT:  %b = glow.reduce_max %x axes [1] : (tensor<2x3xf32>) -> tensor<2xf32>
// CHECK-NEXT:  func.return %b : tensor<2xf32>

// -----

// Broadcasts merge; one that repeats nothing is a reshape, and one of leading ones does it alone.
func.func @broadcasts(%x: tensor<3x1xf32>) -> (tensor<2x3x4xf32>, tensor<1x3x1xf32>, tensor<5x3x1xf32>) {
  %a = glow.broadcast %x : (tensor<3x1xf32>) -> tensor<3x4xf32>
  %b = glow.broadcast %a : (tensor<3x4xf32>) -> tensor<2x3x4xf32>
  %c = glow.broadcast %x : (tensor<3x1xf32>) -> tensor<1x3x1xf32>
  %d = glow.broadcast %c : (tensor<1x3x1xf32>) -> tensor<5x3x1xf32>
  func.return %b, %c, %d : tensor<2x3x4xf32>, tensor<1x3x1xf32>, tensor<5x3x1xf32>
}

// CHECK-LABEL: @broadcasts(
// CHECK-NEXT:  %b = glow.broadcast %x : (tensor<3x1xf32>) -> tensor<2x3x4xf32>
// CHECK-NEXT:  %c = glow.reshape %x : (tensor<3x1xf32>) -> tensor<1x3x1xf32>
// CHECK-NEXT:  %d = glow.broadcast %x : (tensor<3x1xf32>) -> tensor<5x3x1xf32>
// CHECK-NEXT:  func.return %b, %c, %d : tensor<2x3x4xf32>, tensor<1x3x1xf32>, tensor<5x3x1xf32>

// -----

// What is repeated alike is computed once.
func.func @before_broadcast(%x: tensor<3x1xf32>, %y: tensor<3x1xf32>) -> tensor<3x4xf32> {
  %two = glow.splat value 2.0 : tensor<3x4xf32>
  %a = glow.broadcast %x : (tensor<3x1xf32>) -> tensor<3x4xf32>
  %b = glow.broadcast %y : (tensor<3x1xf32>) -> tensor<3x4xf32>
  %c = glow.mul %a, %two : (tensor<3x4xf32>, tensor<3x4xf32>) -> tensor<3x4xf32>
  %d = glow.add %c, %b : (tensor<3x4xf32>, tensor<3x4xf32>) -> tensor<3x4xf32>
  func.return %d : tensor<3x4xf32>
}

// CHECK-LABEL: @before_broadcast(
// CHECK-NEXT:  %c = glow.splat value 2.0 : tensor<3x1xf32>
// CHECK-NEXT:  %c_1 = glow.mul %x, %c : (tensor<3x1xf32>, tensor<3x1xf32>) -> tensor<3x1xf32>
// CHECK-NEXT:  %d = glow.add %c_1, %y : (tensor<3x1xf32>, tensor<3x1xf32>) -> tensor<3x1xf32>
// CHECK-NEXT:  %d_1 = glow.broadcast %d : (tensor<3x1xf32>) -> tensor<3x4xf32>
// CHECK-NEXT:  func.return %d_1 : tensor<3x4xf32>

// -----

// Repeated along different dimensions, it is not.
func.func @not_before_broadcast(%x: tensor<3x1xf32>, %y: tensor<1x4xf32>) -> tensor<3x4xf32> {
  %a = glow.broadcast %x : (tensor<3x1xf32>) -> tensor<3x4xf32>
  %b = glow.broadcast %y : (tensor<1x4xf32>) -> tensor<3x4xf32>
  %c = glow.add %a, %b : (tensor<3x4xf32>, tensor<3x4xf32>) -> tensor<3x4xf32>
  func.return %c : tensor<3x4xf32>
}

// CHECK-LABEL: @not_before_broadcast(
// CHECK-NEXT:  %a = glow.broadcast %x : (tensor<3x1xf32>) -> tensor<3x4xf32>
// CHECK-NEXT:  %b = glow.broadcast %y : (tensor<1x4xf32>) -> tensor<3x4xf32>
// CHECK-NEXT:  %c = glow.add %a, %b : (tensor<3x4xf32>, tensor<3x4xf32>) -> tensor<3x4xf32>
// CHECK-NEXT:  func.return %c : tensor<3x4xf32>

// -----

// A slice looks through slices, concatenations, pads and broadcasts.
func.func @slices(%x: tensor<8xf32>, %y: tensor<3xf32>) -> (tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2x2xf32>) {
  %a = glow.slice %x starts [7] sizes [4] strides [-2] : (tensor<8xf32>) -> tensor<4xf32>
  %b = glow.slice %a starts [1] sizes [2] strides [2] : (tensor<4xf32>) -> tensor<2xf32>
  %c = glow.concat %x, %y axis 0 : (tensor<8xf32>, tensor<3xf32>) -> tensor<11xf32>
  %d = glow.slice %c starts [9] sizes [2] : (tensor<11xf32>) -> tensor<2xf32>
  %e = glow.pad %y low [2] high [1] value 0.0 : (tensor<3xf32>) -> tensor<6xf32>
  %f = glow.slice %e starts [3] sizes [2] : (tensor<6xf32>) -> tensor<2xf32>
  %g = glow.broadcast %y : (tensor<3xf32>) -> tensor<9x3xf32>
  %h = glow.slice %g starts [5, 1] sizes [2, 2] : (tensor<9x3xf32>) -> tensor<2x2xf32>
  func.return %b, %d, %f, %h : tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2x2xf32>
}

// CHECK-LABEL: @slices(
// CHECK-NEXT:  %b = glow.slice %x starts [5] sizes [2] strides [-4] : (tensor<8xf32>) -> tensor<2xf32>
// CHECK-NEXT:  %d = glow.slice %y starts [1] sizes [2] : (tensor<3xf32>) -> tensor<2xf32>
// CHECK-NEXT:  %f = glow.slice %y starts [1] sizes [2] : (tensor<3xf32>) -> tensor<2xf32>
// CHECK-NEXT:  %h = glow.slice %y starts [1] sizes [2] : (tensor<3xf32>) -> tensor<2xf32>
// CHECK-NEXT:  %h_1 = glow.broadcast %h : (tensor<2xf32>) -> tensor<2x2xf32>
// CHECK-NEXT:  func.return %b, %d, %f, %h_1 : tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2x2xf32>

// -----

// Not if it takes parts of both sides.
func.func @not_slices(%x: tensor<3xf32>, %y: tensor<3xf32>) -> (tensor<2xf32>, tensor<2xf32>) {
  %c = glow.concat %x, %y axis 0 : (tensor<3xf32>, tensor<3xf32>) -> tensor<6xf32>
  %d = glow.slice %c starts [2] sizes [2] : (tensor<6xf32>) -> tensor<2xf32>
  %e = glow.pad %y low [2] high [1] value 0.0 : (tensor<3xf32>) -> tensor<6xf32>
  %f = glow.slice %e starts [1] sizes [2] : (tensor<6xf32>) -> tensor<2xf32>
  func.return %d, %f : tensor<2xf32>, tensor<2xf32>
}

// CHECK-LABEL: @not_slices(
// CHECK-NEXT:  %c = glow.concat %x, %y axis 0 : (tensor<3xf32>, tensor<3xf32>) -> tensor<6xf32>
// CHECK-NEXT:  %d = glow.slice %c starts [2] sizes [2] : (tensor<6xf32>) -> tensor<2xf32>
// CHECK-NEXT:  %e = glow.pad %y low [2] high [1] value 0.0 : (tensor<3xf32>) -> tensor<6xf32>
// CHECK-NEXT:  %f = glow.slice %e starts [1] sizes [2] : (tensor<6xf32>) -> tensor<2xf32>
// CHECK-NEXT:  func.return %d, %f : tensor<2xf32>, tensor<2xf32>

// -----

// A split that is joined again, with something after it.
func.func @rejoin(%x: tensor<2x5xf32>, %y: tensor<2x1xf32>) -> (tensor<2x6xf32>, tensor<2x5xf32>) {
  %a = glow.slice %x sizes [2, 2] : (tensor<2x5xf32>) -> tensor<2x2xf32>
  %b = glow.slice %x starts [0, 2] sizes [2, 3] : (tensor<2x5xf32>) -> tensor<2x3xf32>
  %c = glow.concat %a, %b, %y axis 1 : (tensor<2x2xf32>, tensor<2x3xf32>, tensor<2x1xf32>) -> tensor<2x6xf32>
  %d = glow.concat %b, %a axis 1 : (tensor<2x3xf32>, tensor<2x2xf32>) -> tensor<2x5xf32>
  func.return %c, %d : tensor<2x6xf32>, tensor<2x5xf32>
}

// CHECK-LABEL: @rejoin(
// CHECK-NEXT:  %a = glow.slice %x sizes [2, 2] : (tensor<2x5xf32>) -> tensor<2x2xf32>
// CHECK-NEXT:  %b = glow.slice %x starts [0, 2] sizes [2, 3] : (tensor<2x5xf32>) -> tensor<2x3xf32>
// CHECK-NEXT:  %c = glow.concat %x, %y axis 1 : (tensor<2x5xf32>, tensor<2x1xf32>) -> tensor<2x6xf32>
// CHECK-NEXT:  %d = glow.concat %b, %a axis 1 : (tensor<2x3xf32>, tensor<2x2xf32>) -> tensor<2x5xf32>
// CHECK-NEXT:  func.return %c, %d : tensor<2x6xf32>, tensor<2x5xf32>

// -----

// Concatenations along one axis merge; one that has another user stays.
func.func @concats(%x: tensor<2xf32>, %y: tensor<3xf32>) -> (tensor<7xf32>, tensor<8xf32>, tensor<6xf32>) {
  %a = glow.concat %x, %y axis 0 : (tensor<2xf32>, tensor<3xf32>) -> tensor<5xf32>
  %b = glow.concat %a, %x axis 0 : (tensor<5xf32>, tensor<2xf32>) -> tensor<7xf32>
  %c = glow.concat %y, %y axis 0 : (tensor<3xf32>, tensor<3xf32>) -> tensor<6xf32>
  %d = glow.concat %c, %x axis 0 : (tensor<6xf32>, tensor<2xf32>) -> tensor<8xf32>
  func.return %b, %d, %c : tensor<7xf32>, tensor<8xf32>, tensor<6xf32>
}

// CHECK-LABEL: @concats(
// CHECK-NEXT:  %b = glow.concat %x, %y, %x axis 0 : (tensor<2xf32>, tensor<3xf32>, tensor<2xf32>) -> tensor<7xf32>
// CHECK-NEXT:  %c = glow.concat %y, %y axis 0 : (tensor<3xf32>, tensor<3xf32>) -> tensor<6xf32>
// CHECK-NEXT:  %d = glow.concat %c, %x axis 0 : (tensor<6xf32>, tensor<2xf32>) -> tensor<8xf32>
// CHECK-NEXT:  func.return %b, %d, %c : tensor<7xf32>, tensor<8xf32>, tensor<6xf32>

// -----

// Splats may move; equal ones join.
func.func @splats() -> (tensor<3x2xf32>, tensor<5xf32>) {
  %a = glow.splat value 2.0 : tensor<6xf32>
  %b = glow.reshape %a : (tensor<6xf32>) -> tensor<3x2xf32>
  %c = glow.splat value 1.0 : tensor<2xf32>
  %d = glow.splat value 1.0 : tensor<3xf32>
  %e = glow.concat %c, %d axis 0 : (tensor<2xf32>, tensor<3xf32>) -> tensor<5xf32>
  func.return %b, %e : tensor<3x2xf32>, tensor<5xf32>
}

// CHECK-LABEL: @splats(
// CHECK-NEXT:  %b = glow.splat value 2.0 : tensor<3x2xf32>
// CHECK-NEXT:  %e = glow.splat value 1.0 : tensor<5xf32>
// CHECK-NEXT:  func.return %b, %e : tensor<3x2xf32>, tensor<5xf32>

// -----

// Pads merge, and zeros around the spatial dimensions are the convolution's own.
func.func @pads(%x: tensor<1x1x3xf32>, %w: tensor<1x1x3xf32>, %b: tensor<1xf32>) -> tensor<1x1x6xf32> {
  %a = glow.pad %x high [0, 0, 1] value 0.0 : (tensor<1x1x3xf32>) -> tensor<1x1x4xf32>
  %c = glow.pad %a low [0, 0, 2] value 0.0 : (tensor<1x1x4xf32>) -> tensor<1x1x6xf32>
  %d = glow.convolution %c, %w, %b pads [1, 1] : (tensor<1x1x6xf32>, tensor<1x1x3xf32>, tensor<1xf32>) -> tensor<1x1x6xf32>
  func.return %d : tensor<1x1x6xf32>
}

// CHECK-LABEL: @pads(
// CHECK-NEXT:  %d = glow.convolution %x, %w, %b pads [3, 2] : (tensor<1x1x3xf32>, tensor<1x1x3xf32>, tensor<1xf32>) -> tensor<1x1x6xf32>
// CHECK-NEXT:  func.return %d : tensor<1x1x6xf32>

// -----

// Ones around it, or zeros around the channels, are not.
func.func @not_pads(%x: tensor<1x1x3xf32>, %w: tensor<1x1x3xf32>, %v: tensor<1x2x3xf32>, %b: tensor<1xf32>) -> (tensor<1x1x3xf32>, tensor<1x1x1xf32>) {
  %a = glow.pad %x low [0, 0, 1] high [0, 0, 1] value 1.0 : (tensor<1x1x3xf32>) -> tensor<1x1x5xf32>
  %c = glow.convolution %a, %w, %b : (tensor<1x1x5xf32>, tensor<1x1x3xf32>, tensor<1xf32>) -> tensor<1x1x3xf32>
  %d = glow.pad %x high [0, 1, 0] value 0.0 : (tensor<1x1x3xf32>) -> tensor<1x2x3xf32>
  %e = glow.convolution %d, %v, %b : (tensor<1x2x3xf32>, tensor<1x2x3xf32>, tensor<1xf32>) -> tensor<1x1x1xf32>
  func.return %c, %e : tensor<1x1x3xf32>, tensor<1x1x1xf32>
}

// CHECK-LABEL: @not_pads(
// CHECK-NEXT:  %a = glow.pad %x low [0, 0, 1] high [0, 0, 1] value 1.0 : (tensor<1x1x3xf32>) -> tensor<1x1x5xf32>
// CHECK-NEXT:  %c = glow.convolution %a, %w, %b : (tensor<1x1x5xf32>, tensor<1x1x3xf32>, tensor<1xf32>) -> tensor<1x1x3xf32>
// CHECK-NEXT:  %d = glow.pad %x high [0, 1, 0] value 0.0 : (tensor<1x1x3xf32>) -> tensor<1x2x3xf32>
// CHECK-NEXT:  %e = glow.convolution %d, %v, %b : (tensor<1x2x3xf32>, tensor<1x2x3xf32>, tensor<1xf32>) -> tensor<1x1x1xf32>
// CHECK-NEXT:  func.return %c, %e : tensor<1x1x3xf32>, tensor<1x1x1xf32>

// -----

// A gather in equal steps is a slice; any other is not, nor is one that clamps.
func.func @gather(%x: tensor<5x2xf32>) -> (tensor<2xf32>, tensor<3x2xf32>, tensor<3x2xf32>, tensor<2x2xf32>) {
  %i = glow.constant dense<-1> : tensor<i64>
  %j = glow.constant dense<[4, 2, 0]> : tensor<3xi64>
  %k = glow.constant dense<[0, 1, 3]> : tensor<3xi64>
  %l = glow.constant dense<[4, 5]> : tensor<2xi64>
  %a = glow.gather %x, %i axis 0 : (tensor<5x2xf32>, tensor<i64>) -> tensor<2xf32>
  %b = glow.gather %x, %j axis 0 : (tensor<5x2xf32>, tensor<3xi64>) -> tensor<3x2xf32>
  %c = glow.gather %x, %k axis 0 : (tensor<5x2xf32>, tensor<3xi64>) -> tensor<3x2xf32>
  %d = glow.gather %x, %l axis 0 : (tensor<5x2xf32>, tensor<2xi64>) -> tensor<2x2xf32>
  func.return %a, %b, %c, %d : tensor<2xf32>, tensor<3x2xf32>, tensor<3x2xf32>, tensor<2x2xf32>
}

// CHECK-LABEL: @gather(
// CHECK-NEXT:  %k = glow.constant dense<[0, 1, 3]> : tensor<3xi64>
// CHECK-NEXT:  %l = glow.constant dense<[4, 5]> : tensor<2xi64>
// CHECK-NEXT:  %a = glow.slice %x starts [4, 0] sizes [1, 2] : (tensor<5x2xf32>) -> tensor<1x2xf32>
// CHECK-NEXT:  %a_1 = glow.reshape %a : (tensor<1x2xf32>) -> tensor<2xf32>
// CHECK-NEXT:  %b = glow.slice %x starts [4, 0] sizes [3, 2] strides [-2, 1] : (tensor<5x2xf32>) -> tensor<3x2xf32>
// CHECK-NEXT:  %c = glow.gather %x, %k axis 0 : (tensor<5x2xf32>, tensor<3xi64>) -> tensor<3x2xf32>
// CHECK-NEXT:  %d = glow.gather %x, %l axis 0 : (tensor<5x2xf32>, tensor<2xi64>) -> tensor<2x2xf32>
// CHECK-NEXT:  func.return %a_1, %b, %c, %d : tensor<2xf32>, tensor<3x2xf32>, tensor<3x2xf32>, tensor<2x2xf32>

// -----

// Equal indices are a slice that repeats, whatever the axis.
func.func @gather_equal(%x: tensor<5x2xf32>, %y: tensor<3x5x2xf32>) -> (tensor<3x2xf32>, tensor<3x2x2x2xf32>) {
  %i = glow.constant dense<[1, -4, 1]> : tensor<3xi64>
  %j = glow.constant dense<-1> : tensor<2x2xi64>
  %a = glow.gather %x, %i axis 0 : (tensor<5x2xf32>, tensor<3xi64>) -> tensor<3x2xf32>
  %b = glow.gather %y, %j axis 1 : (tensor<3x5x2xf32>, tensor<2x2xi64>) -> tensor<3x2x2x2xf32>
  func.return %a, %b : tensor<3x2xf32>, tensor<3x2x2x2xf32>
}

// CHECK-LABEL: @gather_equal(
// CHECK-NEXT:  %a = glow.slice %x starts [1, 0] sizes [1, 2] : (tensor<5x2xf32>) -> tensor<1x2xf32>
// CHECK-NEXT:  %a_1 = glow.broadcast %a : (tensor<1x2xf32>) -> tensor<3x2xf32>
// CHECK-NEXT:  %b = glow.slice %y starts [0, 4, 0] sizes [3, 1, 2] : (tensor<3x5x2xf32>) -> tensor<3x1x2xf32>
// CHECK-NEXT:  %b_1 = glow.reshape %b : (tensor<3x1x2xf32>) -> tensor<3x1x1x2xf32>
// CHECK-NEXT:  %b_2 = glow.broadcast %b_1 : (tensor<3x1x1x2xf32>) -> tensor<3x2x2x2xf32>
// CHECK-NEXT:  func.return %a_1, %b_2 : tensor<3x2xf32>, tensor<3x2x2x2xf32>

// -----

// A gather of many indices in equal steps is a slice, too.
func.func @gather_many(%x: tensor<40x1xf32>) -> tensor<1x1x18x1xf32> {
  %i = glow.constant dense<[[[2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19]]]> : tensor<1x1x18xi64>
  %a = glow.gather %x, %i axis 0 : (tensor<40x1xf32>, tensor<1x1x18xi64>) -> tensor<1x1x18x1xf32>
  func.return %a : tensor<1x1x18x1xf32>
}

// CHECK-LABEL: @gather_many(
// CHECK-NEXT:  %a = glow.slice %x starts [2, 0] sizes [18, 1] : (tensor<40x1xf32>) -> tensor<18x1xf32>
// CHECK-NEXT:  %a_1 = glow.reshape %a : (tensor<18x1xf32>) -> tensor<1x1x18x1xf32>

// -----

// A quantization with a scale for each index stays where its dimension is.
func.func @scale_of_each_index(%x: tensor<3xf32>, %y: tensor<2x12xf32>) -> (tensor<2x3x!quant.uniform<i8:f32:1, {0.5, 0.25, 0.125}>>, tensor<2x12xf32>) {
  %b = glow.broadcast %x : (tensor<3xf32>) -> tensor<2x3xf32>
  %q = glow.quantize %b : (tensor<2x3xf32>) -> tensor<2x3x!quant.uniform<i8:f32:1, {0.5, 0.25, 0.125}>>
  %r = glow.reshape %y : (tensor<2x12xf32>) -> tensor<2x3x4xf32>
  %p = glow.quantize %r : (tensor<2x3x4xf32>) -> tensor<2x3x4x!quant.uniform<i8:f32:1, {0.5, 0.25, 0.125}>>
  %d = glow.dequantize %p : (tensor<2x3x4x!quant.uniform<i8:f32:1, {0.5, 0.25, 0.125}>>) -> tensor<2x3x4xf32>
  %z = glow.reshape %d : (tensor<2x3x4xf32>) -> tensor<2x12xf32>
  func.return %q, %z : tensor<2x3x!quant.uniform<i8:f32:1, {0.5, 0.25, 0.125}>>, tensor<2x12xf32>
}

// CHECK-LABEL: @scale_of_each_index(
// CHECK-NEXT:  %b = glow.broadcast %x
// CHECK-NEXT:  %q = glow.quantize %b
// CHECK-NEXT:  %r = glow.reshape %y
// CHECK-NEXT:  %p = glow.quantize %r
// CHECK-NEXT:  %d = glow.dequantize %p
// CHECK-NEXT:  %z = glow.reshape %d
