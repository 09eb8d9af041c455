// Constants go to a file, equal ones once; small ones stay in the text.
// RUN: glow-opt %s --weights-out %t.safetensors | filecheck %s
// RUN: glow-opt %s --weights-out %t.safetensors | glow-opt --cse --weights-out %t.again.safetensors | filecheck %s --check-prefix=AGAIN
// RUN: not glow-opt %s --weights-out no-such-folder/w.safetensors 2>&1 | filecheck %s --check-prefix=FOLDER

// CHECK-NOT:  dense<[1,
// CHECK:      %wide = glow.constant #glow.blob<"[[FILE:.*safetensors]]", [[A:[0-9]+]], 160> : tensor<20xf64>
// CHECK-NEXT: %large = glow.constant #glow.blob<"[[FILE]]", [[B:[0-9]+]], 20> : tensor<20xi8>
// CHECK-NEXT: %equal = glow.constant #glow.blob<"[[FILE]]", [[B]], 20> : tensor<20xi8>
// CHECK-NEXT: %small = glow.constant dense<[1, 2]> : tensor<2xi32>

// AGAIN:      %wide = glow.constant #glow.blob<"{{.*}}again.safetensors"
// AGAIN-NOT:  %equal

// FOLDER: no-such-folder/w.safetensors: error: its directory does not exist

func.func @main() -> (tensor<20xf64>, tensor<20xi8>, tensor<20xi8>, tensor<2xi32>) {
  %wide = glow.constant dense<[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0, 10.0, 11.0, 12.0, 13.0, 14.0, 15.0, 16.0, 17.0, 18.0, 19.0, 20.0]> : tensor<20xf64>
  %large = glow.constant dense<[1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20]> : tensor<20xi8>
  %equal = glow.constant dense<[1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20]> : tensor<20xi8>
  %small = glow.constant dense<[1, 2]> : tensor<2xi32>
  func.return %wide, %large, %equal, %small : tensor<20xf64>, tensor<20xi8>, tensor<20xi8>, tensor<2xi32>
}
