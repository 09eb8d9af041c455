// The passes of the backend one by one, from a quantized graph to a program.

// RUN: glow-opt %s --fold-constants="keep-quantized=true" --legalize-quantized="integer-only=true" --canonicalize --cse --dce \
// RUN:   --prepare-for-vta --simplify-shapes --dce --irgen --eliminate-copies \
// RUN:   --stack-ops="epilogues=convolution,fully_connected,matmul" --eliminate-dead-stores --verify-memory -o %t.mlir
// RUN: filecheck --check-prefix=INST %s < %t.mlir
// RUN: glow-opt %t.mlir --form-vta-layers="inp-depth=512" --lower-to-vta --verify-vta-tokens | filecheck %s

!r = tensor<1x16x4x4xf32>
!x = tensor<1x16x4x4x!quant.uniform<i8:f32, 0.5>>
!w = tensor<16x16x1x1x!quant.uniform<i8:f32, 0.25>>
!y = tensor<1x16x4x4x!quant.uniform<i8:f32, 2.0>>
func.func @main(%image: !r {glow.name = "image"}) -> (!r {glow.name = "y"}) {
  %q = glow.quantize %image : (!r) -> !x
  %x = glow.dequantize %q : (!x) -> !r
  %s = glow.constant dense<3> : tensor<16x16x1x1xi8> : !w
  %w = glow.dequantize %s : (!w) -> tensor<16x16x1x1xf32>
  %b = glow.constant dense<1.0> : tensor<16xf32>
  %c = glow.convolution %x, %w, %b : (!r, tensor<16x16x1x1xf32>, tensor<16xf32>) -> !r
  %p = glow.relu %c : (!r) -> !r
  %h = glow.quantize %p : (!r) -> !y
  %d = glow.dequantize %h : (!y) -> !r
  %m = glow.max_pool %d kernel [3, 3] pads [1, 1, 1, 1] : (!r) -> !r
  %n = glow.quantize %m : (!r) -> !y
  %y = glow.dequantize %n : (!y) -> !r
  func.return %y : !r
}

// INST:      func.func @main(%image: memref<1x16x4x4x!quant.uniform<i8:f32, 0.5>> {{.*}}, {{.*}}: memref<1x16x4x4x!quant.uniform<i8:f32, 2.0>> {glow.name = "y", glow.qualifier = "out"})
// INST:      [[H:%.*]] = glow_inst.alloc_activation : memref<1x16x4x4x!quant.uniform<i8:f32, 2.0>>
// INST-NEXT: glow_inst.convolution @out [[H]], @in %image, {{.*}} epilogue {
// INST:        glow.rescale
// INST:        glow_inst.yield
// INST:      glow_inst.max_pool @out %{{.*}}, @in [[H]]
// INST-NEXT: glow_inst.dealloc_activation [[H]]

// CHECK:      vta.config = #vta.config<{{.*}}inp_depth = 512{{.*}}>
// CHECK:      vta.region input "image" at 0 bytes 256 as tensor<1x16x4x4xi8>
// CHECK-NEXT: vta.region output "y"
// CHECK-NEXT: %h = vta.region scratch "h"
// CHECK:      vta.store out[0] to %h[0]
// CHECK:      vta.load acc8[16] from %h[0]
// CHECK:      vta.store out[0] to %y[0]
// CHECK:      vta.finish
