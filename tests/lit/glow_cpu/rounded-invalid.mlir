// RUN: glow-opt %s --split-input-file --verify-diagnostics | filecheck %s

// CHECK: expected operand 1 with f32, found tensor<7x5xbf16>
%x, %w = "test.op"() : () -> (tensor<3x7xf32>, tensor<7x5xbf16>)
%y = glow_cpu.rounded_matmul %x, %w : (tensor<3x7xf32>, tensor<7x5xbf16>) -> tensor<3x5xf32>

// -----

// CHECK: index t runs over 7 values, but dimension 0 of rhs has 6
%x, %w = "test.op"() : () -> (tensor<3x7xf32>, tensor<6x5xf32>)
%y = glow_cpu.rounded_matmul %x, %w : (tensor<3x7xf32>, tensor<6x5xf32>) -> tensor<3x5xf32>

// -----

// CHECK: expected result 0 of type tensor<3x5xf32>, found tensor<3x5xbf16>
%x, %w = "test.op"() : () -> (tensor<3x7xf32>, tensor<7x5xf32>)
%y = glow_cpu.rounded_matmul %x, %w : (tensor<3x7xf32>, tensor<7x5xf32>) -> tensor<3x5xbf16>
