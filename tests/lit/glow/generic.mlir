// RUN: glow-opt %s | glow-opt | filecheck %s
// RUN: glow-opt %s --print-op-generic | glow-opt | filecheck %s

func.func @operators(%x: tensor<3x4xf32>, %w: tensor<5x4xf32>, %n: tensor<7xi64>) {
  %a = glow.generic %x, %w formula "y[b, i] = sum(k) x[b, k] * w[i, k]" : (tensor<3x4xf32>, tensor<5x4xf32>) -> tensor<3x5xf32>
  %b = glow.generic %x, %n formula "y[t, d] = x[clamp(n[t], 0, size(x, 0) - 1), d]" : (tensor<3x4xf32>, tensor<7xi64>) -> tensor<7x4xf32>
  %c = glow.generic %x formula "y[i, c] = sum(t < 2 * radius + 1) x[i + t - radius, c | outside: 0] * weights[1] for i < size(x, 0)"
      {constants = {radius = 1 : i64, weights = array<f64: 0.25, 0.5, 0.25>}} : (tensor<3x4xf32>) -> tensor<3x4xf32>
  %d = glow.generic formula "y[i] = f32(i)" : () -> tensor<4xf32>
  func.return
}

// CHECK:      glow.generic %x, %w formula "y[b, i] = sum(k) x[b, k] * w[i, k]" : (tensor<3x4xf32>, tensor<5x4xf32>) -> tensor<3x5xf32>
// CHECK-NEXT: glow.generic %x, %n formula "y[t, d] = x[clamp(n[t], 0, size(x, 0) - 1), d]"
// CHECK-NEXT: glow.generic %x formula "y[i, c] = sum(t < 2 * radius + 1) x[i + t - radius, c | outside: 0] * weights[1] for i < size(x, 0)" {constants = {radius = 1
// CHECK-SAME: : i64, weights = array<f64: 2.500000e-01, 5.000000e-01, 2.500000e-01>}}
// CHECK-NEXT: glow.generic formula "y[i] = f32(i)" : () -> tensor<4xf32>
