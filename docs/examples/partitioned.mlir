builtin.module attributes {glow.devices = [{name = "interpreter0", backend = "interpreter"}, {name = "interpreter1", backend = "interpreter"}]} {
  func.func private @partition_0(%x: tensor<1x8x!quant.uniform<i8:f32, 0.5>>) -> tensor<1x8xf32> attributes {glow.device = "interpreter0", glow.backend = "interpreter", glow.cost = 4.006400e-05 : f64, glow.weight_bytes = 0 : i64, glow.activation_bytes = 40 : i64} {
    %r = glow.dequantize %x : (tensor<1x8x!quant.uniform<i8:f32, 0.5>>) -> tensor<1x8xf32>
    %e = glow.exp %r : (tensor<1x8xf32>) -> tensor<1x8xf32>
    func.return %e : tensor<1x8xf32>
  }
  func.func private @partition_1(%x: tensor<1x8x!quant.uniform<i8:f32, 0.5>>) -> tensor<1x4xf32> attributes {glow.device = "interpreter1", glow.backend = "interpreter", glow.cost = 4.003400e-05 : f64, glow.weight_bytes = 16 : i64, glow.activation_bytes = 28 : i64} {
    %r = glow.dequantize %x : (tensor<1x8x!quant.uniform<i8:f32, 0.5>>) -> tensor<1x8xf32>
    %k = glow.splat value 3 : tensor<4x8x!quant.uniform<i8:f32, 0.25>>
    %w = glow.dequantize %k : (tensor<4x8x!quant.uniform<i8:f32, 0.25>>) -> tensor<4x8xf32>
    %b = glow.constant dense<[1.000000e+00, -5.000000e-01, 0.000000e+00, 2.000000e+00]> : tensor<4xf32>
    %c = glow.fully_connected %r, %w, %b : (tensor<1x8xf32>, tensor<4x8xf32>, tensor<4xf32>) -> tensor<1x4xf32>
    %q = glow.quantize %c : (tensor<1x4xf32>) -> tensor<1x4x!quant.uniform<i8:f32, 0.5>>
    %y = glow.dequantize %q : (tensor<1x4x!quant.uniform<i8:f32, 0.5>>) -> tensor<1x4xf32>
    func.return %y : tensor<1x4xf32>
  }
  func.func @main(%x: tensor<1x8x!quant.uniform<i8:f32, 0.5>>) -> (tensor<1x4xf32>, tensor<1x8xf32>) {
    %e = func.call @partition_0(%x) : (tensor<1x8x!quant.uniform<i8:f32, 0.5>>) -> tensor<1x8xf32>
    %y = func.call @partition_1(%x) : (tensor<1x8x!quant.uniform<i8:f32, 0.5>>) -> tensor<1x4xf32>
    func.return %y, %e : tensor<1x4xf32>, tensor<1x8xf32>
  }
}

