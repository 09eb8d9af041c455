// RUN: glow-opt %s --split-input-file --verify-diagnostics | filecheck %s

// Nodes that do not verify: each error says what was expected and what was found.

// CHECK: 'glow.add' op (%r): expected operand 1 like tensor<f32>, found f32
%a, %b = "test.op"() : () -> (tensor<f32>, f32)
%r = glow.add %a, %b : (tensor<f32>, f32) -> tensor<f32>

// -----

// CHECK: 'glow.add' op (%r): expected operand 1 of shape (4,), found tensor<5xf32>
%a, %b = "test.op"() : () -> (tensor<4xf32>, tensor<5xf32>)
%r = glow.add %a, %b : (tensor<4xf32>, tensor<5xf32>) -> tensor<4xf32>

// -----

// CHECK: 'glow.add' op (%r): expected operand 1 with elements f32, found tensor<4xf16>
%a, %b = "test.op"() : () -> (tensor<4xf32>, tensor<4xf16>)
%r = glow.add %a, %b : (tensor<4xf32>, tensor<4xf16>) -> tensor<4xf32>

// -----

// CHECK: 'glow.add' op (%r): expected result 0 of type tensor<4xf32>, found tensor<4xf16>
%a = "test.op"() : () -> tensor<4xf32>
%r = glow.add %a, %a : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf16>

// -----

// CHECK: 'glow.add' op (%r): expected numeric elements, found tensor<4xi1>
%a = "test.op"() : () -> tensor<4xi1>
%r = glow.add %a, %a : (tensor<4xi1>, tensor<4xi1>) -> tensor<4xi1>

// -----

// CHECK: 'glow.relu' op (%r): expected numeric elements, found tensor<4x!quant.uniform<i8:f32, 0.1>>
%a = "test.op"() : () -> tensor<4x!quant.uniform<i8:f32, 0.1>>
%r = glow.relu %a : (tensor<4x!quant.uniform<i8:f32, 0.1>>) -> tensor<4x!quant.uniform<i8:f32, 0.1>>

// -----

// CHECK: 'glow.exp' op (%r): expected float elements, found tensor<4xi32>
%a = "test.op"() : () -> tensor<4xi32>
%r = glow.exp %a : (tensor<4xi32>) -> tensor<4xi32>

// -----

// CHECK: 'glow.pow' op (%r): expected float elements, found tensor<4xi32>
%a = "test.op"() : () -> tensor<4xi32>
%r = glow.pow %a, %a : (tensor<4xi32>, tensor<4xi32>) -> tensor<4xi32>

// -----

// CHECK: 'glow.less' op (%r): expected result 0 of type tensor<4xi1>, found tensor<4xf32>
%a = "test.op"() : () -> tensor<4xf32>
%r = glow.less %a, %a : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>

// -----

// CHECK: 'glow.and' op (%r): expected integer elements, found tensor<4xf32>
%a = "test.op"() : () -> tensor<4xf32>
%r = glow.and %a, %a : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>

// -----

// CHECK: 'glow.not' op (%r): expected integer elements, found tensor<4xf32>
%a = "test.op"() : () -> tensor<4xf32>
%r = glow.not %a : (tensor<4xf32>) -> tensor<4xf32>

// -----

// CHECK: 'glow.select' op (%r): expected a condition with elements i1, found tensor<4xf32>
%a = "test.op"() : () -> tensor<4xf32>
%r = glow.select %a, %a, %a : (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>

// -----

// CHECK: 'glow.select' op (%r): expected operand 2 with elements f32, found tensor<4xi32>
%c, %a, %b = "test.op"() : () -> (tensor<4xi1>, tensor<4xf32>, tensor<4xi32>)
%r = glow.select %c, %a, %b : (tensor<4xi1>, tensor<4xf32>, tensor<4xi32>) -> tensor<4xf32>

// -----

// CHECK: 'glow.cast' op (%r): expected a rounding of ('up', 'down', 'nearest'), found 'even'
%a = glow.splat value 0.0 : tensor<4xf32>
%r = glow.cast %a rounding "even" : (tensor<4xf32>) -> tensor<4xf8E8M0FNU>

// -----

// CHECK: 'glow.add' op (%r): expected numeric elements, found tensor<4xf8E5M2>
%a = glow.splat value 0.0 : tensor<4xf8E5M2>
%r = glow.add %a, %a : (tensor<4xf8E5M2>, tensor<4xf8E5M2>) -> tensor<4xf8E5M2>

// -----

// CHECK: 'glow.less' op (%r): expected floats of 16 bits or more, found tensor<4xf4E2M1FN>
%a = glow.splat value 0.0 : tensor<4xf4E2M1FN>
%r = glow.less %a, %a : (tensor<4xf4E2M1FN>, tensor<4xf4E2M1FN>) -> tensor<4xi1>

// -----

// CHECK: 'glow.relu' op (%r): expected numeric elements, found tensor<4xi4>
%a = glow.splat value 0 : tensor<4xi4>
%r = glow.relu %a : (tensor<4xi4>) -> tensor<4xi4>

// -----

// CHECK: 'glow.bitcast' op (%r): expected floats of 64, 32 or at most 8 bits, or integers of at least 8, found i4
%a = glow.splat value 0 : tensor<4xi4>
%r = glow.bitcast %a : (tensor<4xi4>) -> tensor<4xui8>

// -----

// CHECK: 'glow.cast' op (%r): expected float or integer elements, found !quant.uniform<i8:f32, 0.1>
%a = "test.op"() : () -> tensor<4xf32>
%r = glow.cast %a : (tensor<4xf32>) -> tensor<4x!quant.uniform<i8:f32, 0.1>>

// -----

// CHECK: 'glow.constant' op (%r): expected 16 bytes for tensor<4xf32>, found 15
%r = glow.constant #glow.blob<"model.onnx", 0, 15> : tensor<4xf32>

// -----

// CHECK: 'glow.constant' op (%r): expected result 0 of type tensor<2xf32>, found tensor<3xf32>
%r = "glow.constant"() <{value = dense<[1.0, 2.0]> : tensor<2xf32>}> : () -> tensor<3xf32>

// -----

// CHECK: 'glow.constant' op (%r): expected result 0 of type tensor<2xi16>, found tensor<2x!quant.uniform<i8:f32, 0.1>>
%r = glow.constant dense<[1, 2]> : tensor<2xi16> : tensor<2x!quant.uniform<i8:f32, 0.1>>

// -----

// CHECK: 'glow.sizes' op (%r): expected 2 values for tensor<2xi64>, found (n,)
%r = glow.sizes values [n] : tensor<2xi64>

// -----

// CHECK: 'glow.sizes' op (%r): expected values that depend on symbols, found (1, 2); write a constant
%r = glow.sizes values [1, 2] : tensor<2xi64>

// -----

// CHECK: 'glow.sizes' op (%r): expected integer elements, found tensor<1xf32>
%r = glow.sizes values [n] : tensor<1xf32>

// -----

// CHECK: 'glow.splat' op (%r): expected float or integer elements, found index
%r = glow.splat value 0.0 : index

// -----

// CHECK: 'glow.reshape' op (%r): expected a result with 12 elements, found tensor<5xf32>
%a = "test.op"() : () -> tensor<2x6xf32>
%r = glow.reshape %a : (tensor<2x6xf32>) -> tensor<5xf32>

// -----

// CHECK: 'glow.reshape' op (%r): expected result 0 of type tensor<12xf32>, found tensor<12xf16>
%a = "test.op"() : () -> tensor<2x6xf32>
%r = glow.reshape %a : (tensor<2x6xf32>) -> tensor<12xf16>

// -----

// CHECK: 'glow.broadcast' op (%r): expected a result that tensor<2x6xf32> broadcasts to, found tensor<4x6xf32>
%a = "test.op"() : () -> tensor<2x6xf32>
%r = glow.broadcast %a : (tensor<2x6xf32>) -> tensor<4x6xf32>

// -----

// CHECK: 'glow.broadcast' op (%r): expected a result that tensor<2x6xf32> broadcasts to, found tensor<6xf32>
%a = "test.op"() : () -> tensor<2x6xf32>
%r = glow.broadcast %a : (tensor<2x6xf32>) -> tensor<6xf32>

// -----

// CHECK: 'glow.transpose' op (%r): expected different dimensions from 0 to 1, found [0, 0]; found input tensor<2x6xf32>
%a = "test.op"() : () -> tensor<2x6xf32>
%r = glow.transpose %a permutation [0, 0] : (tensor<2x6xf32>) -> tensor<2x2xf32>

// -----

// CHECK: 'glow.concat' op (%r): expected at least one operand, found none
%r = "glow.concat"() <{axis = 0 : i64}> : () -> tensor<2xf32>

// -----

// CHECK: 'glow.concat' op (%r): expected operand 1 to match tensor<2x6xf32> except in dimension 1, found tensor<3x6xf32>
%a, %b = "test.op"() : () -> (tensor<2x6xf32>, tensor<3x6xf32>)
%r = glow.concat %a, %b axis 1 : (tensor<2x6xf32>, tensor<3x6xf32>) -> tensor<2x12xf32>

// -----

// CHECK: 'glow.concat' op (%r): expected axis in 0 to 1, found 2
%a = "test.op"() : () -> tensor<2x6xf32>
%r = glow.concat %a axis 2 : (tensor<2x6xf32>) -> tensor<2x6xf32>

// -----

// CHECK: 'glow.slice' op (%r): the index of dimension 0 of input, which has 4 elements, goes from 1 to 5; found input tensor<4xf32>
%a = "test.op"() : () -> tensor<4xf32>
%r = glow.slice %a starts [1] sizes [3] strides [2] : (tensor<4xf32>) -> tensor<3xf32>

// -----

// CHECK: 'glow.slice' op (%r): the index of dimension 0 of input, which has 4 elements, goes from -2 to 0
%a = "test.op"() : () -> tensor<4xf32>
%r = glow.slice %a sizes [3] strides [-1] : (tensor<4xf32>) -> tensor<3xf32>

// -----

// CHECK: 'glow.slice' op (%r): expected a stride other than 0 in dimension 0, found 0
%a = "test.op"() : () -> tensor<4xf32>
%r = glow.slice %a sizes [1] strides [0] : (tensor<4xf32>) -> tensor<1xf32>

// -----

// CHECK: 'glow.slice' op (%r): expected 1 value in sizes, found [1, 1]
%a = "test.op"() : () -> tensor<4xf32>
%r = glow.slice %a sizes [1, 1] : (tensor<4xf32>) -> tensor<1xf32>

// -----

// CHECK: 'glow.pad' op (%r): expected low of at least 0, found [-2]
%a = "test.op"() : () -> tensor<4xf32>
%r = glow.pad %a low [-2] high [1] value 0.0 : (tensor<4xf32>) -> tensor<3xf32>

// -----

// CHECK: 'glow.pad' op (%r): expected a number to pad with, found "zero"
%a = "test.op"() : () -> tensor<4xf32>
%r = glow.pad %a low [2] high [1] {value = "zero"} : (tensor<4xf32>) -> tensor<7xf32>

// -----

// CHECK: 'glow.gather' op (%r): expected indices of i32 or i64, found tensor<2xf32>
%a, %i = "test.op"() : () -> (tensor<4xf32>, tensor<2xf32>)
%r = glow.gather %a, %i axis 0 : (tensor<4xf32>, tensor<2xf32>) -> tensor<2xf32>

// -----

// CHECK: 'glow.gather' op (%r): the index of dimension 0 of data, which has 0 elements, goes from 0 to 0
%a, %i = "test.op"() : () -> (tensor<0xf32>, tensor<2xi64>)
%r = glow.gather %a, %i axis 0 : (tensor<0xf32>, tensor<2xi64>) -> tensor<2xf32>

// -----

// CHECK: 'glow.convolution' op (%r): expected 1 group of 2 input channels and an output channel count divisible by 1, found input tensor<1x3x8xf32> and filter tensor<4x2x3xf32>
%x, %w, %b = "test.op"() : () -> (tensor<1x3x8xf32>, tensor<4x2x3xf32>, tensor<4xf32>)
%r = glow.convolution %x, %w, %b : (tensor<1x3x8xf32>, tensor<4x2x3xf32>, tensor<4xf32>) -> tensor<1x4x6xf32>

// -----

// CHECK: 'glow.convolution' op (%r): index o runs over 3 values, but dimension 0 of filter has 4; found input tensor<1x3x8xf32>, filter tensor<4x3x3xf32>, bias tensor<3xf32>
%x, %w, %b = "test.op"() : () -> (tensor<1x3x8xf32>, tensor<4x3x3xf32>, tensor<3xf32>)
%r = glow.convolution %x, %w, %b : (tensor<1x3x8xf32>, tensor<4x3x3xf32>, tensor<3xf32>) -> tensor<1x4x6xf32>

// -----

// CHECK: 'glow.convolution' op (%r): expected w.. * strides + k.. * dilations below 8 for the first w0, found 8; found input tensor<1x3x8xf32>, filter tensor<4x3x9xf32>, bias tensor<4xf32>
%x, %w, %b = "test.op"() : () -> (tensor<1x3x8xf32>, tensor<4x3x9xf32>, tensor<4xf32>)
%r = glow.convolution %x, %w, %b : (tensor<1x3x8xf32>, tensor<4x3x9xf32>, tensor<4xf32>) -> tensor<1x4x0xf32>

// -----

// CHECK: 'glow.convolution' op (%r): expected 2 values in pads, found [0]
%x, %w, %b = "test.op"() : () -> (tensor<1x3x8xf32>, tensor<4x3x3xf32>, tensor<4xf32>)
%r = glow.convolution %x, %w, %b pads [0] : (tensor<1x3x8xf32>, tensor<4x3x3xf32>, tensor<4xf32>) -> tensor<1x4x6xf32>

// -----

// CHECK: 'glow.convolution' op (%r): expected strides of at least 1, found [0]
%x, %w, %b = "test.op"() : () -> (tensor<1x3x8xf32>, tensor<4x3x3xf32>, tensor<4xf32>)
%r = glow.convolution %x, %w, %b strides [0] : (tensor<1x3x8xf32>, tensor<4x3x3xf32>, tensor<4xf32>) -> tensor<1x4x6xf32>

// -----

// CHECK: 'glow.convolution' op (%r): expected numeric elements, found tensor<1x3x8xi1>
%x, %w, %b = "test.op"() : () -> (tensor<1x3x8xi1>, tensor<4x3x3xi1>, tensor<4xi1>)
%r = glow.convolution %x, %w, %b : (tensor<1x3x8xi1>, tensor<4x3x3xi1>, tensor<4xi1>) -> tensor<1x4x6xi1>

// -----

// CHECK: 'glow.max_pool' op (%r): expected input of rank 3 to 5, found tensor<1x3xf32>
%x = "test.op"() : () -> tensor<1x3xf32>
%r = glow.max_pool %x kernel [2] : (tensor<1x3xf32>) -> tensor<1x2xf32>

// -----

// CHECK: 'glow.max_pool' op (%r): expected w.. * strides + k.. * dilations below 2 for the first w0, found 2; found input tensor<1x3x2xf32>
%x = "test.op"() : () -> tensor<1x3x2xf32>
%r = glow.max_pool %x kernel [3] : (tensor<1x3x2xf32>) -> tensor<1x3x0xf32>

// -----

// CHECK: 'glow.avg_pool' op (%r): expected float elements, found tensor<1x3x8xi32>
%x = "test.op"() : () -> tensor<1x3x8xi32>
%r = glow.avg_pool %x kernel [2] : (tensor<1x3x8xi32>) -> tensor<1x3x7xi32>

// -----

// CHECK: 'glow.matmul' op (%r): index t runs over 3 values, but dimension 0 of rhs has 2; found lhs tensor<2x3xf32>, rhs tensor<2x3xf32>
// CHECK-NEXT: result[b.., i, j] = sum(t) lhs[b.., i, t] * rhs[b.., t, j]
// CHECK-NEXT: ^
%a, %b = "test.op"() : () -> (tensor<2x3xf32>, tensor<2x3xf32>)
%r = glow.matmul %a, %b : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>

// -----

// CHECK: 'glow.matmul' op (%r): expected rhs of rank 2, found rank 3; found lhs tensor<2x3xf32>, rhs tensor<1x3x2xf32>
%a, %b = "test.op"() : () -> (tensor<2x3xf32>, tensor<1x3x2xf32>)
%r = glow.matmul %a, %b : (tensor<2x3xf32>, tensor<1x3x2xf32>) -> tensor<2x2xf32>

// -----

// CHECK: 'glow.fully_connected' op (%r): index t runs over 5 values, but dimension 1 of weights has 3; found input tensor<1x5xf32>, weights tensor<4x3xf32>, bias tensor<4xf32>
%x, %w, %b = "test.op"() : () -> (tensor<1x5xf32>, tensor<4x3xf32>, tensor<4xf32>)
%r = glow.fully_connected %x, %w, %b : (tensor<1x5xf32>, tensor<4x3xf32>, tensor<4xf32>) -> tensor<1x4xf32>

// -----

// CHECK: 'glow.batch_norm' op (%r): index c runs over 8 values, but dimension 0 of mean has 4
%x, %c = "test.op"() : () -> (tensor<1x8x4xf32>, tensor<4xf32>)
%r = glow.batch_norm %x, %c, %c, %c, %c : (tensor<1x8x4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<1x8x4xf32>

// -----

// CHECK: 'glow.local_response_norm' op (%r): expected size of at least 1, found 0
%x = "test.op"() : () -> tensor<1x8x4xf32>
%r = glow.local_response_norm %x size 0 : (tensor<1x8x4xf32>) -> tensor<1x8x4xf32>

// -----

// CHECK: 'glow.softmax' op (%r): expected axis in 0 to 1, found -1
%x = "test.op"() : () -> tensor<1x8xf32>
%r = glow.softmax %x axis -1 : (tensor<1x8xf32>) -> tensor<1x8xf32>

// -----

// CHECK: 'glow.reduce_sum' op (%r): expected ascending axes in 0 to 1, found [1, 0]
%x = "test.op"() : () -> tensor<1x8xf32>
%r = glow.reduce_sum %x axes [1, 0] : (tensor<1x8xf32>) -> tensor<f32>

// -----

// CHECK: 'glow.reduce_max' op (%r): expected ascending axes in 0 to 1, found [2]
%x = "test.op"() : () -> tensor<1x8xf32>
%r = glow.reduce_max %x axes [2] : (tensor<1x8xf32>) -> tensor<1x8xf32>

// -----

// CHECK: 'glow.reduce_mean' op (%r): expected float elements, found tensor<1x8xi32>
%x = "test.op"() : () -> tensor<1x8xi32>
%r = glow.reduce_mean %x axes [1] : (tensor<1x8xi32>) -> tensor<1xi32>

// -----

// CHECK: 'glow.quantize' op (%r): expected a result with quantized elements, found i8
%x = "test.op"() : () -> tensor<4xf32>
%r = glow.quantize %x : (tensor<4xf32>) -> tensor<4xi8>

// -----

// CHECK: 'glow.quantize' op (%r): expected 2 elements in dimension 0, found shape (4,)
%x = "test.op"() : () -> tensor<4xf32>
%r = glow.quantize %x : (tensor<4xf32>) -> tensor<4x!quant.uniform<i8:f32:0, {0.1, 0.2}>>

// -----

// CHECK: 'glow.dequantize' op (%r): expected an operand with quantized elements, found tensor<4xf32>
%x = "test.op"() : () -> tensor<4xf32>
%r = glow.dequantize %x : (tensor<4xf32>) -> tensor<4xf32>

// -----

// CHECK: 'glow.dequantize' op (%r): expected result 0 of type tensor<4xf16>, found tensor<4xf32>
%q = "test.op"() : () -> tensor<4x!quant.uniform<i8:f16, 0.1>>
%r = glow.dequantize %q : (tensor<4x!quant.uniform<i8:f16, 0.1>>) -> tensor<4xf32>

// -----

// CHECK: 'glow.storage_cast' op (%r): expected a result with elements stored as i8, found ui8
%x = "test.op"() : () -> tensor<4x!quant.uniform<i8:f32, 0.1>>
%r = glow.storage_cast %x : (tensor<4x!quant.uniform<i8:f32, 0.1>>) -> tensor<4xui8>

// -----

// CHECK: 'glow.storage_cast' op (%r): expected quantized or integer elements, found tensor<4xf32>
%x = "test.op"() : () -> tensor<4xf32>
%r = glow.storage_cast %x : (tensor<4xf32>) -> tensor<4xf32>

// -----

// CHECK: 'glow.rescale' op (%r): expected i32 or quantized elements, found tensor<4xf32>
%x, %m = "test.op"() : () -> (tensor<4xf32>, tensor<4xi32>)
%r = glow.rescale %x, %m, %m : (tensor<4xf32>, tensor<4xi32>, tensor<4xi32>) -> tensor<4x!quant.uniform<i8:f32, 0.1>>

// -----

// CHECK: 'glow.rescale' op (%r): expected operand 2 with elements i32, found tensor<4xi64>
%m, %s = "test.op"() : () -> (tensor<4xi32>, tensor<4xi64>)
%r = glow.rescale %m, %m, %s : (tensor<4xi32>, tensor<4xi32>, tensor<4xi64>) -> tensor<4x!quant.uniform<i8:f32, 0.1>>

// -----

// CHECK: 'glow.rescale' op (%r): expected a result with quantized elements, found i8
%m = "test.op"() : () -> tensor<4xi32>
%r = glow.rescale %m, %m, %m : (tensor<4xi32>, tensor<4xi32>, tensor<4xi32>) -> tensor<4xi8>

// -----

// CHECK: 'glow.shift_right' op (%r): expected integer elements, found tensor<4xf32>
%x = "test.op"() : () -> tensor<4xf32>
%r = glow.shift_right %x, %x : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>

// -----

// CHECK: 'glow.matmul' op (%r): expected operand 1 with elements i32, found tensor<2x2xi8>
%x, %y = "test.op"() : () -> (tensor<2x2xi32>, tensor<2x2xi8>)
%r = glow.matmul %x, %y : (tensor<2x2xi32>, tensor<2x2xi8>) -> tensor<2x2xi32>

// -----

// CHECK: 'glow.fully_connected' op (%r): expected operand 2 with elements i32, found tensor<3xi8>
%x, %w, %b = "test.op"() : () -> (tensor<2x2xui8>, tensor<3x2xi8>, tensor<3xi8>)
%r = glow.fully_connected %x, %w, %b : (tensor<2x2xui8>, tensor<3x2xi8>, tensor<3xi8>) -> tensor<2x3xi32>

// -----

// CHECK: 'glow.bitcast' op (%r): expected a result as wide as f32, found i16
%x = "test.op"() : () -> tensor<4xf32>
%r = glow.bitcast %x : (tensor<4xf32>) -> tensor<4xi16>

// -----

// CHECK: 'glow.bitcast' op (%r): expected floats of 64, 32 or at most 8 bits, or integers of at least 8, found f16
%x = "test.op"() : () -> tensor<4xf16>
%r = glow.bitcast %x : (tensor<4xf16>) -> tensor<4xi16>

// -----

// CHECK: 'glow.multiply_add_pairs' op (%r): expected elements of i32, found tensor<4xf32>
%x = "test.op"() : () -> tensor<4xf32>
%r = glow.multiply_add_pairs %x, %x, %x : (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>

// -----

// CHECK: 'glow.multiply_add' op (%r): expected operand 2 with elements f32, found tensor<4xi32>
%x = "test.op"() : () -> tensor<4xf32>
%i = "test.op"() : () -> tensor<4xi32>
%r = glow.multiply_add %x, %x, %i : (tensor<4xf32>, tensor<4xf32>, tensor<4xi32>) -> tensor<4xf32>

// -----

// CHECK: 'glow.fake_quantize' op (%r): expected a least i32 below the greatest one, found 7 and 7
%x = "test.op"() : () -> tensor<4xf32>
%r = glow.fake_quantize %x, %x, %x least 7 greatest 7 : (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
