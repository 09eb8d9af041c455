// RUN: glow-opt %s | glow-opt | filecheck %s
// RUN: glow-opt %s --print-op-generic | glow-opt | filecheck %s

// Nodes that look for elements, and that indices tell what to pick or replace.

func.func @indexing(%x: tensor<2x5xf32>, %i: tensor<2x3xi64>, %r: tensor<3xi32>, %u: tensor<3x5xf32>, %b: tensor<2x5xui8>, %s: tensor<7x!quant.uniform<i8:f32, 0.5:3>>, %t: tensor<256x!quant.uniform<u8:f32, 0.25>>) {
  %g = glow.gather_elements %x, %i axis 1 : (tensor<2x5xf32>, tensor<2x3xi64>) -> tensor<2x3xf32>
  %max = glow.arg_max %x axis 1 : (tensor<2x5xf32>) -> tensor<2xi64>
  %min = glow.arg_min %x axis 0 last true : (tensor<2x5xf32>) -> tensor<5xi64>
  %top = glow.top_indices %x axis 1 k 2 : (tensor<2x5xf32>) -> tensor<2x2xi64>
  %low = glow.top_indices %x axis 1 k 0 smallest true : (tensor<2x5xf32>) -> tensor<2x0xi64>
  %sum = glow.cum_sum %x axis 1 exclusive true : (tensor<2x5xf32>) -> tensor<2x5xf32>
  %prod = glow.cum_prod %x axis 0 reverse true : (tensor<2x5xf32>) -> tensor<2x5xf32>
  %set = glow.scatter %x, %r, %u : (tensor<2x5xf32>, tensor<3xi32>, tensor<3x5xf32>) -> tensor<2x5xf32>
  %add = glow.scatter %x, %r, %u reduction "add" : (tensor<2x5xf32>, tensor<3xi32>, tensor<3x5xf32>) -> tensor<2x5xf32>
  %lut = glow.int_lookup_table %b, %t : (tensor<2x5xui8>, tensor<256x!quant.uniform<u8:f32, 0.25>>) -> tensor<2x5x!quant.uniform<u8:f32, 0.25>>
  %signed = glow.int_lookup_table %s, %t : (tensor<7x!quant.uniform<i8:f32, 0.5:3>>, tensor<256x!quant.uniform<u8:f32, 0.25>>) -> tensor<7x!quant.uniform<u8:f32, 0.25>>
  func.return
}

// CHECK:      %g = glow.gather_elements %x, %i axis 1 : (tensor<2x5xf32>, tensor<2x3xi64>) -> tensor<2x3xf32>
// CHECK-NEXT: %max = glow.arg_max %x axis 1 : (tensor<2x5xf32>) -> tensor<2xi64>
// CHECK-NEXT: %min = glow.arg_min %x axis 0 last true : (tensor<2x5xf32>) -> tensor<5xi64>
// CHECK-NEXT: %top = glow.top_indices %x axis 1 k 2 : (tensor<2x5xf32>) -> tensor<2x2xi64>
// CHECK-NEXT: %low = glow.top_indices %x axis 1 k 0 smallest true : (tensor<2x5xf32>) -> tensor<2x0xi64>
// CHECK-NEXT: %sum = glow.cum_sum %x axis 1 exclusive true : (tensor<2x5xf32>) -> tensor<2x5xf32>
// CHECK-NEXT: %prod = glow.cum_prod %x axis 0 reverse true : (tensor<2x5xf32>) -> tensor<2x5xf32>
// CHECK-NEXT: %set = glow.scatter %x, %r, %u : (tensor<2x5xf32>, tensor<3xi32>, tensor<3x5xf32>) -> tensor<2x5xf32>
// CHECK-NEXT: %add = glow.scatter %x, %r, %u reduction "add" : (tensor<2x5xf32>, tensor<3xi32>, tensor<3x5xf32>) -> tensor<2x5xf32>
// CHECK-NEXT: %lut = glow.int_lookup_table %b, %t : (tensor<2x5xui8>, tensor<256x!quant.uniform<u8:f32, 0.25>>) -> tensor<2x5x!quant.uniform<u8:f32, 0.25>>
// CHECK-NEXT: %signed = glow.int_lookup_table %s, %t : (tensor<7x!quant.uniform<i8:f32, 0.5:3>>, tensor<256x!quant.uniform<u8:f32, 0.25>>) -> tensor<7x!quant.uniform<u8:f32, 0.25>>
