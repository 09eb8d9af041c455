%x, %n = "test.op"() : () -> (tensor<3x4xf32>, tensor<7xi64>)
%a = glow.generic %x formula "y[b] = sum(k) x[b, k + 1] for k < 4" : (tensor<3x4xf32>) -> tensor<3xf32>
// -----
%x, %n = "test.op"() : () -> (tensor<3x4xf32>, tensor<7xi64>)
%b = glow.generic %x, %n formula "y[t, d] = x[n[t], d]" : (tensor<3x4xf32>, tensor<7xi64>) -> tensor<7x4xf32>
// -----
%x, %n = "test.op"() : () -> (tensor<3x4xf32>, tensor<7xi64>)
%c = glow.generic %x formula "y[b] = mean(k) x[b, k]" : (tensor<3x4xf32>) -> tensor<3xf32>
