// RUN: glow-opt %s --convert-to="element=f16" --split-input-file 2>/dev/null | filecheck %s
// RUN: glow-opt %s --convert-to="element=bf16 keep=exp" --split-input-file 2>/dev/null | filecheck %s --check-prefix=BF16
// RUN: not glow-opt %s --convert-to="overflow=refuse" --split-input-file 2>&1 | filecheck %s --check-prefix=REFUSE
// RUN: not glow-opt %s --convert-to="element=f8" --split-input-file 2>&1 | filecheck %s --check-prefix=ELEMENT
// RUN: not glow-opt %s --convert-to="keep=nothing" --split-input-file 2>&1 | filecheck %s --check-prefix=KEEP

// ELEMENT: expected an element of f16, bf16, found 'f8'
// KEEP: cannot keep nothing in f32: no value and no operator of the network is called so

// Casts at the borders only; the signature stays.

func.func @main(%x: tensor<2x3xf32> {glow.name = "x"}) -> (tensor<2x3xf32> {glow.name = "y"}) {
  %w = glow.constant dense<[[1.0, 0.1, 3.0], [4.0, 5.0, 6.0]]> : tensor<2x3xf32>
  %a = glow.add %x, %w : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  %b = glow.exp %a : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %y = glow.relu %b : (tensor<2x3xf32>) -> tensor<2x3xf32>
  func.return %y : tensor<2x3xf32>
}

// CHECK-LABEL: func.func @main(%x: tensor<2x3xf32> {glow.name = "x"}) -> (tensor<2x3xf32>
// CHECK:         [[X:%.*]] = glow.cast %x : (tensor<2x3xf32>) -> tensor<2x3xf16>
// CHECK:         [[W:%.*]] = glow.constant dense<{{.*}}> : tensor<2x3xf16>
// CHECK:         [[A:%.*]] = glow.add [[X]], [[W]] : (tensor<2x3xf16>
// CHECK-NEXT:    [[B:%.*]] = glow.exp [[A]] : (tensor<2x3xf16>
// CHECK-NEXT:    [[C:%.*]] = glow.relu [[B]] : (tensor<2x3xf16>
// CHECK-NEXT:    [[Y:%.*]] = glow.cast [[C]] : (tensor<2x3xf16>) -> tensor<2x3xf32>
// CHECK-NEXT:    func.return [[Y]]

// BF16-LABEL: func.func @main(
// BF16:         [[A:%.*]] = glow.add {{.*}} : (tensor<2x3xbf16>
// BF16:         [[B:%.*]] = glow.cast [[A]] : (tensor<2x3xbf16>) -> tensor<2x3xf32>
// BF16:         [[C:%.*]] = glow.exp [[B]] : (tensor<2x3xf32>
// BF16:         [[D:%.*]] = glow.cast [[C]] : (tensor<2x3xf32>) -> tensor<2x3xbf16>
// BF16:         glow.relu [[D]]

// -----

// Integers, and floats of another type, stay as they are.

func.func @main(%x: tensor<2xi32> {glow.name = "x"}, %d: tensor<2xf64> {glow.name = "d"}) -> (tensor<2xi32> {glow.name = "y"}, tensor<2xf64> {glow.name = "e"}) {
  %y = glow.add %x, %x : (tensor<2xi32>, tensor<2xi32>) -> tensor<2xi32>
  %e = glow.exp %d : (tensor<2xf64>) -> tensor<2xf64>
  %b = glow.exp %d : (tensor<2xf64>) -> tensor<2xf64>
  func.return %y, %e : tensor<2xi32>, tensor<2xf64>
}

// CHECK-LABEL: func.func @main(
// CHECK-NEXT:    glow.add
// CHECK-NEXT:    glow.exp
// CHECK-NEXT:    glow.exp
// CHECK-NEXT:    func.return
// BF16-LABEL: func.func @main(

// -----

// Numbers beyond the range: infinity stays.

func.func @main(%x: tensor<3xf32> {glow.name = "x"}) -> (tensor<3xf32> {glow.name = "y"}) {
  %huge = glow.constant dense<[7.0e4, -1.0e5, 0x7F800000]> : tensor<3xf32>
  %a = glow.add %x, %huge : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
  %y = glow.exp %a : (tensor<3xf32>) -> tensor<3xf32>
  func.return %y : tensor<3xf32>
}

// CHECK-LABEL: func.func @main(
// CHECK:         glow.constant dense<[6.550400e+04, -6.550400e+04, 0x7c00]> : tensor<3xf16>
// REFUSE: constants with numbers beyond the range of f16: huge (-100000); keep what reads them in f32 (keep=...), or saturate (overflow=saturate)
