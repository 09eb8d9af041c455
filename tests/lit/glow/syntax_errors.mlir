// RUN: glow-opt %s --split-input-file --parsing-diagnostics | filecheck %s

// Properties that do not parse: each error names the property.

// CHECK: glow.convolution has no property stride; did you mean strides?
%x, %w, %b = "test.op"() : () -> (tensor<1x3x8xf32>, tensor<4x3x3xf32>, tensor<4xf32>)
%r = glow.convolution %x, %w, %b stride [2] : (tensor<1x3x8xf32>, tensor<4x3x3xf32>, tensor<4xf32>) -> tensor<1x4x3xf32>

// -----

// CHECK: glow.reduce_sum has no property zzz; it has axes, keep_dims
%x = "test.op"() : () -> tensor<2x3xf32>
%r = glow.reduce_sum %x axes [0] zzz true : (tensor<2x3xf32>) -> tensor<3xf32>

// -----

// CHECK: glow.relu has no property axis; it has none
%x = "test.op"() : () -> tensor<2x3xf32>
%r = glow.relu %x axis 1 : (tensor<2x3xf32>) -> tensor<2x3xf32>

// -----

// CHECK: glow.softmax lacks the property axis
%x = "test.op"() : () -> tensor<2x3xf32>
%r = glow.softmax %x : (tensor<2x3xf32>) -> tensor<2x3xf32>

// -----

// CHECK: axis is given twice
%x = "test.op"() : () -> tensor<2x3xf32>
%r = glow.softmax %x axis 1 axis 0 : (tensor<2x3xf32>) -> tensor<2x3xf32>

// -----

// CHECK: axis is given twice
%x = "test.op"() : () -> tensor<2x3xf32>
%r = glow.softmax %x axis 1 {axis = 0 : i64} : (tensor<2x3xf32>) -> tensor<2x3xf32>

// -----

// CHECK: expected an integer for the property axis
%x = "test.op"() : () -> tensor<2x3xf32>
%r = glow.softmax %x axis [1] : (tensor<2x3xf32>) -> tensor<2x3xf32>

// -----

// CHECK: expected a float for the property alpha
%x = "test.op"() : () -> tensor<2x3xf32>
%r = glow.leaky_relu %x alpha 1 : (tensor<2x3xf32>) -> tensor<2x3xf32>

// -----

// CHECK: expected true or false for the property keep_dims
%x = "test.op"() : () -> tensor<2x3xf32>
%r = glow.reduce_sum %x axes [0] keep_dims : (tensor<2x3xf32>) -> tensor<3xf32>

// -----

// CHECK: Expected integer literal in axes
%x = "test.op"() : () -> tensor<2x3xf32>
%r = glow.reduce_sum %x axes [0.5] : (tensor<2x3xf32>) -> tensor<3xf32>

// -----

// CHECK: expected integers of 64 bits for axis, found 9223372036854775808
%x = "test.op"() : () -> tensor<2x3xf32>
%r = glow.softmax %x axis 9223372036854775808 : (tensor<2x3xf32>) -> tensor<2x3xf32>

// -----

// CHECK: expected a range of symbol seq from 0 or more, found 9 to 2
%x = "test.op"() : () -> tensor<?xf32, #glow.dims<seq where seq from 9 to 2>>

// -----

// CHECK: expected a positive divisor, found 0
%x = "test.op"() : () -> tensor<?xf32, #glow.dims<seq floordiv 0>>

// -----

// CHECK: Expected integer literal in sizes
%x = "test.op"() : () -> tensor<?xf32, #glow.dims<seq>>
%r = glow.slice %x starts [0] sizes [seq + ] : (tensor<?xf32, #glow.dims<seq>>) -> tensor<?xf32, #glow.dims<seq>>

// -----

%c = glow.constant 2 : i64
// CHECK: :20: error: expected dense elements, found 2 : i64

// -----

%c = glow.constant dense<99999999999999999999> : tensor<2xi8>
// CHECK: Integer value 99999999999999999999 is out of range for type i8

// -----

%c = glow.constant dense<1> : tensor<2xi1000000>
// CHECK: Format not implemented for i1000000
