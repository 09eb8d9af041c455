// RUN: glow-opt %s -t onnx -o %t.onnx
// RUN: glow-opt %t.onnx | filecheck %s
// RUN: glow-opt %t.onnx -t glow-onnx -o %t2.onnx
// RUN: glow-opt %t2.onnx | filecheck %s

// What comes out can be read again.
func.func @main(%x: tensor<2x3xf32> {glow.name = "x"}) -> (tensor<2x3x!quant.uniform<i8:f32, 0.5:3>> {glow.name = "y"}) {
  %a = glow.relu %x : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %q = glow.quantize %a : (tensor<2x3xf32>) -> tensor<2x3x!quant.uniform<i8:f32, 0.5:3>>
  func.return %q : tensor<2x3x!quant.uniform<i8:f32, 0.5:3>>
}

// CHECK:       func.func @main(%x: tensor<2x3xf32> {glow.name = "x"}) -> (tensor<2x3xi8> {glow.name = "y"})
// CHECK-NEXT:    %a = glow.relu %x
// CHECK-NEXT:    [[Q:%.*]] = glow.quantize %a : (tensor<2x3xf32>) -> tensor<2x3x!quant.uniform<i8:f32, 0.5:3>>
// CHECK-NEXT:    [[S:%.*]] = glow.storage_cast [[Q]]
// CHECK-NEXT:    func.return [[S]]
