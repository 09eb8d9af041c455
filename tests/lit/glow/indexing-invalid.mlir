// RUN: glow-opt %s --split-input-file --verify-diagnostics | filecheck %s

// What nodes with indices refuse.

// CHECK: 'glow.gather_elements' op (%r): expected indices of i32 or i64, found tensor<2xf32>
%x, %i = "test.op"() : () -> (tensor<4xf32>, tensor<2xf32>)
%r = glow.gather_elements %x, %i axis 0 : (tensor<4xf32>, tensor<2xf32>) -> tensor<2xf32>

// -----

// CHECK: 'glow.gather_elements' op (%r): expected data with elements in dimension 0, found tensor<0xf32>
%x, %i = "test.op"() : () -> (tensor<0xf32>, tensor<2xi64>)
%r = glow.gather_elements %x, %i axis 0 : (tensor<0xf32>, tensor<2xi64>) -> tensor<2xf32>

// -----

// CHECK: 'glow.arg_max' op (%r): expected elements in dimension 1, found tensor<3x0xf32>
%x = "test.op"() : () -> tensor<3x0xf32>
%r = glow.arg_max %x axis 1 : (tensor<3x0xf32>) -> tensor<3xi64>

// -----

// CHECK: 'glow.top_indices' op (%r): expected k in 0 to 4, found 5
%x = "test.op"() : () -> tensor<4xf32>
%r = glow.top_indices %x axis 0 k 5 : (tensor<4xf32>) -> tensor<5xi64>

// -----

// CHECK: 'glow.scatter' op (%r): expected data with rows, found tensor<0x5xf32>
%x, %i, %u = "test.op"() : () -> (tensor<0x5xf32>, tensor<3xi64>, tensor<3x5xf32>)
%r = glow.scatter %x, %i, %u : (tensor<0x5xf32>, tensor<3xi64>, tensor<3x5xf32>) -> tensor<0x5xf32>

// -----

// CHECK: 'glow.scatter' op (%r): expected as updates a row of tensor<2x5xf32> for each of tensor<3xi64>, found tensor<2x5xf32>
%x, %i = "test.op"() : () -> (tensor<2x5xf32>, tensor<3xi64>)
%r = glow.scatter %x, %i, %x : (tensor<2x5xf32>, tensor<3xi64>, tensor<2x5xf32>) -> tensor<2x5xf32>

// -----

// CHECK: 'glow.scatter' op (%r): expected as reduction one of none, add, mul, max, min, found 'mean'
%x, %i, %u = "test.op"() : () -> (tensor<2x5xf32>, tensor<3xi64>, tensor<3x5xf32>)
%r = glow.scatter %x, %i, %u reduction "mean" : (tensor<2x5xf32>, tensor<3xi64>, tensor<3x5xf32>) -> tensor<2x5xf32>

// -----

// CHECK: 'glow.int_lookup_table' op (%r): expected an input with elements of 8 bits, found tensor<3xi16>
%x, %t = "test.op"() : () -> (tensor<3xi16>, tensor<256xi8>)
%r = glow.int_lookup_table %x, %t : (tensor<3xi16>, tensor<256xi8>) -> tensor<3xi8>

// -----

// CHECK: 'glow.int_lookup_table' op (%r): expected mapping of shape (256,), found tensor<16xi8>
%x, %t = "test.op"() : () -> (tensor<3xui8>, tensor<16xi8>)
%r = glow.int_lookup_table %x, %t : (tensor<3xui8>, tensor<16xi8>) -> tensor<3xi8>

// -----

// CHECK: 'glow.int_lookup_table' op (%r): expected result 0 of type tensor<3xi8>, found tensor<3xui8>
%x, %t = "test.op"() : () -> (tensor<3xui8>, tensor<256xi8>)
%r = glow.int_lookup_table %x, %t : (tensor<3xui8>, tensor<256xi8>) -> tensor<3xui8>
