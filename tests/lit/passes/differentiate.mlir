// RUN: glow-opt %s --differentiate --split-input-file | filecheck %s
// RUN: glow-opt %s --differentiate="mode=jvp" --split-input-file | filecheck %s --check-prefix=JVP

// A value that two nodes use gets the sum of their adjoints; the adjoint of a product has the other factor.
func.func @shared(%x: tensor<3xf32> {glow.name = "x"}, %w: tensor<3xf32> {glow.name = "w"}) -> (tensor<f32> {glow.name = "y"}) {
  %0 = glow.mul %x, %w : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
  %1 = glow.add %0, %x : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
  %y = glow.reduce_sum %1 axes [0] : (tensor<3xf32>) -> tensor<f32>
  func.return %y : tensor<f32>
}

// CHECK-LABEL: @shared(
// CHECK-SAME:  {glow.name = "grad.x"}, tensor<3xf32> {glow.name = "grad.w"})
// CHECK:       [[ONE:%\S+]] = glow.splat value 1.0 : tensor<f32>
// CHECK-NEXT:  [[D:%\S+]] = glow.generic [[ONE]] formula "y[i0] = s0[] for i0 < 3"
// CHECK-NEXT:  [[W:%\S+]] = glow.mul [[D]], %x
// CHECK-NEXT:  [[P:%\S+]] = glow.mul [[D]], %w
// CHECK-NEXT:  [[X:%\S+]] = glow.add [[D]], [[P]]
// CHECK-NEXT:  func.return %y, [[X]], [[W]]

// JVP-LABEL: @shared(
// JVP-SAME:  [[TX:%\S+]]: tensor<3xf32> {glow.name = "tangent.x"}, [[TW:%\S+]]: tensor<3xf32> {glow.name = "tangent.w"})
// JVP-SAME:  tensor<f32> {glow.name = "tangent.y"})
// JVP:       func.return %y, {{%\S+}} : tensor<f32>, tensor<f32>

// -----

// The adjoint of a strided window is read at the places that it came from; one that reads computed indices is scattered.
func.func @reads(%x: tensor<9xf32> {glow.name = "x"}, %n: tensor<2xi64> {glow.name = "n"}) -> (tensor<f32> {glow.name = "y"}) {
  %0 = glow.generic %x formula "y[i] = x[2 * i + 1]" : (tensor<9xf32>) -> tensor<4xf32>
  %1 = glow.gather %0, %n axis 0 : (tensor<4xf32>, tensor<2xi64>) -> tensor<2xf32>
  %y = glow.reduce_sum %1 axes [0] : (tensor<2xf32>) -> tensor<f32>
  func.return %y : tensor<f32>
}

// CHECK-LABEL: @reads(
// CHECK:       glow.scatter {{.*}} reduction "add"
// CHECK:       formula "y[i0] = s{{[0-9]+}}[(i0 - 1) // 2 | outside: 0.0] if (i0 - 1) % 2 == 0 else 0.0 for i0 < 9"

// -----

// Nothing goes through comparisons and integers; what the result does not depend on has the derivative 0.
func.func @stops(%x: tensor<2xf32> {glow.name = "x"}, %z: tensor<2xf32> {glow.name = "z"}) -> (tensor<f32> {glow.name = "y"}) {
  %c = glow.less %z, %x : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xi1>
  %f = glow.cast %c : (tensor<2xi1>) -> tensor<2xf32>
  %0 = glow.mul %f, %x : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  %y = glow.reduce_sum %0 axes [0] : (tensor<2xf32>) -> tensor<f32>
  func.return %y : tensor<f32>
}

// CHECK-LABEL: @stops(
// CHECK:       [[X:%\S+]] = glow.mul {{%\S+}}, %f
// CHECK-NEXT:  [[Z:%\S+]] = glow.splat value 0.0 : tensor<2xf32>
// CHECK-NEXT:  func.return %y, [[X]], [[Z]]

// -----

// Attention goes back through products of matrices; no other index is summed.
func.func @heads(%q: tensor<1x3x2x4xf32> {glow.name = "q"}, %k: tensor<1x5x2x4xf32> {glow.name = "k"}, %v: tensor<1x5x2x4xf32> {glow.name = "v"}) -> (tensor<f32> {glow.name = "y"}) {
  %0 = glow.attention %q, %k, %v scale 0.5 : (tensor<1x3x2x4xf32>, tensor<1x5x2x4xf32>, tensor<1x5x2x4xf32>) -> tensor<1x3x2x4xf32>
  %y = glow.reduce_sum %0 axes [0, 1, 2, 3] : (tensor<1x3x2x4xf32>) -> tensor<f32>
  func.return %y : tensor<f32>
}

// CHECK-LABEL:    @heads(
// CHECK-COUNT-5:  glow.matmul
// CHECK-NOT:      sum(
// CHECK:          func.return

// -----

// The adjoint of a loop goes through the steps backwards, and reads what the loop keeps of each: here its carried value.
func.func @loop(%x: tensor<3xf32> {glow.name = "x"}, %w: tensor<3xf32> {glow.name = "w"}) -> (tensor<f32> {glow.name = "y"}) {
  %last, %count = glow.loop carries(%x) reads(%w) steps 4 : (tensor<3xf32>, tensor<3xf32>) -> (tensor<3xf32>, tensor<i32>) {
  ^bb0(%i: tensor<i64>, %0: tensor<3xf32>, %1: tensor<3xf32>):
    %2 = glow.mul %0, %1 : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
    glow.yield %2 : tensor<3xf32>
  }
  %y = glow.reduce_sum %last axes [0] : (tensor<3xf32>) -> tensor<f32>
  func.return %y : tensor<f32>
}

// CHECK-LABEL: @loop(
// CHECK:       %last, [[KEPT:%\S+]], %count = glow.loop carries(%x) reads(%w) steps 4
// CHECK:         glow.yield {{%\S+}}, [[OLD:%\S+]] : tensor<3xf32>, tensor<3xf32>
// CHECK:       [[LAST:%\S+]] = glow.splat value 3 : tensor<i64>
// CHECK-NEXT:  [[X:%\S+]], [[W:%\S+]], {{%\S+}} = glow.loop carries({{.*}}) reads([[LAST]], [[KEPT]], %w) steps 4
// CHECK:         [[STEP:%\S+]] = glow.sub
// CHECK-NEXT:    [[ROW:%\S+]] = glow.gather {{%\S+}}, [[STEP]] axis 0
// CHECK-NEXT:    [[PART:%\S+]] = glow.mul [[D:%\S+]], [[ROW]]
// CHECK-NEXT:    [[NEXT:%\S+]] = glow.mul [[D]],
// CHECK-NEXT:    [[SUM:%\S+]] = glow.add {{%\S+}}, [[PART]]
// CHECK-NEXT:    glow.yield [[NEXT]], [[SUM]]
// CHECK:       func.return %y, [[X]], [[W]]

// -----

// A branch has a branch as its adjoint. A loop keeps nothing that its adjoint does not read.
func.func @branch(%c: tensor<i1> {glow.name = "c"}, %x: tensor<3xf32> {glow.name = "x"}) -> (tensor<f32> {glow.name = "y"}) {
  %z, %count = glow.loop carries(%x) steps 2 : (tensor<3xf32>) -> (tensor<3xf32>, tensor<i32>) {
  ^bb0(%i: tensor<i64>, %0: tensor<3xf32>):
    %1 = glow.neg %0 : (tensor<3xf32>) -> tensor<3xf32>
    glow.yield %1 : tensor<3xf32>
  }
  %p = glow.if %c, %z : (tensor<i1>, tensor<3xf32>) -> tensor<3xf32> then {
  ^bb1(%2: tensor<3xf32>):
    %3 = glow.exp %2 : (tensor<3xf32>) -> tensor<3xf32>
    glow.yield %3 : tensor<3xf32>
  } else {
  ^bb2(%4: tensor<3xf32>):
    glow.yield %4 : tensor<3xf32>
  }
  %y = glow.reduce_sum %p axes [0] : (tensor<3xf32>) -> tensor<f32>
  func.return %y : tensor<f32>
}

// CHECK-LABEL: @branch(
// CHECK:       %z, %count = glow.loop carries(%x) steps 2
// CHECK:       [[D:%\S+]] = glow.if %c, %z, {{%\S+}} : {{.*}} then {
// CHECK:         [[E:%\S+]] = glow.exp
// CHECK-NEXT:    [[G:%\S+]] = glow.mul {{%\S+}}, [[E]]
// CHECK-NEXT:    glow.yield [[G]]
// CHECK-NEXT:  } else {
// CHECK:         glow.yield
// CHECK:       glow.loop carries([[D]]) reads({{%\S+}}) steps 2

// -----

// A recurrent layer goes back through its steps in a loop; the products with inputs and weights are those of all steps.
func.func @recurrent(%x: tensor<5x2x3xf32> {glow.name = "x"}, %w: tensor<3x3xf32> {glow.name = "w"}, %h: tensor<1x2x3xf32> {glow.name = "h"}) -> (tensor<f32> {glow.name = "y"}) {
  %r = glow.rnn %x, %w, %h : (tensor<5x2x3xf32>, tensor<3x3xf32>, tensor<1x2x3xf32>) -> tensor<1x6x2x3xf32>
  %y = glow.reduce_sum %r axes [0, 1, 2, 3] : (tensor<1x6x2x3xf32>) -> tensor<f32>
  func.return %y : tensor<f32>
}

// CHECK-LABEL: @recurrent(
// CHECK-NOT:   glow.matmul
// CHECK:       glow.rnn %x, %w, %h keeps true
// CHECK-NOT:   glow.matmul
// CHECK:       [[H:%\S+]], [[ROWS:%\S+]], {{%\S+}} = glow.loop {{.*}} steps 5
// CHECK:         glow.matmul {{.*}} transpose_rhs true : {{.*}} -> tensor<2x3xf32>
// CHECK-NOT:     glow.matmul
// CHECK:         glow.yield
// CHECK:       glow.matmul {{.*}} transpose_lhs true : (tensor<10x3xf32>, tensor<10x3xf32>) -> tensor<3x3xf32>

// -----

// What attains the largest value of a row shares its derivative.
func.func @scatter(%x: tensor<4x2xf32> {glow.name = "x"}, %n: tensor<3xi64>, %u: tensor<3x2xf32> {glow.name = "u"}) -> (tensor<f32> {glow.name = "y"}) {
  %s = glow.scatter %x, %n, %u reduction "max" : (tensor<4x2xf32>, tensor<3xi64>, tensor<3x2xf32>) -> tensor<4x2xf32>
  %y = glow.reduce_sum %s axes [0, 1] : (tensor<4x2xf32>) -> tensor<f32>
  func.return %y : tensor<f32>
}

// CHECK-LABEL: @scatter(
// CHECK:       glow.equal %x, %s
// CHECK:       [[X:%\S+]] = glow.select
// CHECK:       [[U:%\S+]] = glow.select
// CHECK:       [[TIES:%\S+]] = glow.scatter [[X]], %n, [[U]] reduction "add"
// CHECK-NEXT:  glow.div [[X]], [[TIES]]
