// RUN: glow-opt %s --bind-symbols="symbols=batch,seq sizes=2,7" | filecheck %s
// RUN: glow-opt %s --bind-symbols="symbols=batch sizes=2" | filecheck %s --check-prefix=PART
// RUN: glow-opt %s --bind-symbols | glow-opt | filecheck %s --check-prefix=NONE
// RUN: not glow-opt %s --bind-symbols="symbols=batch,sq sizes=2,7" 2>&1 | filecheck %s --check-prefix=NAME
// RUN: not glow-opt %s --bind-symbols="symbols=batch,seq sizes=2" 2>&1 | filecheck %s --check-prefix=COUNT
// RUN: not glow-opt %s --bind-symbols="symbols=seq sizes=513" 2>&1 | filecheck %s --check-prefix=RANGE
// RUN: not glow-opt %s --bind-symbols="symbols=seq sizes=seven" 2>&1 | filecheck %s --check-prefix=NUMBER

// CHECK-LABEL: func.func @main(%x: tensor<2x7x3xf32>, %w: tensor<3x5xf32>) -> tensor<2x6x5xf32> {
// CHECK-NEXT: glow.slice %x starts [0, 1, 0] sizes [2, 6, 3] : (tensor<2x7x3xf32>) -> tensor<2x6x3xf32>
// CHECK-NEXT: glow.reshape %s : (tensor<2x6x3xf32>) -> tensor<12x3xf32>
// CHECK-NEXT: glow.matmul %r, %w : (tensor<12x3xf32>, tensor<3x5xf32>) -> tensor<12x5xf32>
// CHECK-NEXT: glow.reshape %m : (tensor<12x5xf32>) -> tensor<2x6x5xf32>
// CHECK-NEXT: func.return %y : tensor<2x6x5xf32>

// PART-LABEL: func.func @main(%x: tensor<2x?x3xf32, #glow.dims<seq where seq from 2 to 512>>, %w: tensor<3x5xf32>)
// PART-NEXT: glow.slice %x starts [0, 1, 0] sizes [2, seq - 1, 3 where seq from 2 to 512]
// PART-NEXT: -> tensor<?x3xf32, #glow.dims<2 * seq - 2 where seq from 2 to 512>>

// NONE: func.func @main(%x: tensor<?x?x3xf32, #glow.dims<batch, seq where seq from 2 to 512>>

// NAME: error: glow-bind-symbols: no symbol is called 'sq'; did you mean seq?; the symbols are batch, seq
// COUNT: error: glow-bind-symbols: expected different symbols and a size for each, found symbols batch, seq and sizes 2
// RANGE: error: glow-bind-symbols: symbol 'seq' is 513: expected a size from 2 to 512
// NUMBER: error: glow-bind-symbols: expected sizes to be whole numbers with commas between them, found seven

!x = tensor<?x?x3xf32, #glow.dims<batch, seq where seq from 2 to 512>>
!s = tensor<?x?x3xf32, #glow.dims<batch, seq - 1 where seq from 2 to 512>>
!r = tensor<?x3xf32, #glow.dims<batch * seq - batch where seq from 2 to 512>>
!m = tensor<?x5xf32, #glow.dims<batch * seq - batch where seq from 2 to 512>>
!y = tensor<?x?x5xf32, #glow.dims<batch, seq - 1 where seq from 2 to 512>>
func.func @main(%x: !x, %w: tensor<3x5xf32>) -> !y {
  %s = glow.slice %x starts [0, 1, 0] sizes [batch, seq - 1, 3 where seq from 2 to 512] : (!x) -> !s
  %r = glow.reshape %s : (!s) -> !r
  %m = glow.matmul %r, %w : (!r, tensor<3x5xf32>) -> !m
  %y = glow.reshape %m : (!m) -> !y
  func.return %y : !y
}
