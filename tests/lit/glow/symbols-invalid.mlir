// RUN: glow-opt %s --split-input-file --verify-diagnostics | filecheck %s

// CHECK: 'glow.exp' op (%y): expected symbols that are the size of a dimension of an argument (batch), found bach; did you mean batch?
func.func @main(%x: tensor<?xf32, #glow.dims<batch>>, %z: tensor<?xf32, #glow.dims<2 * bach>>) {
  %y = glow.exp %z : (tensor<?xf32, #glow.dims<2 * bach>>) -> tensor<?xf32, #glow.dims<2 * bach>>
  func.return
}
// -----
// CHECK: 'glow.exp' op (%y): expected 1 symbolic size for 2x?, one for each ?, found 2: batch, seq
func.func @main(%x: tensor<2x?xf32, #glow.dims<batch, seq>>) {
  %y = glow.exp %x : (tensor<2x?xf32, #glow.dims<batch, seq>>) -> tensor<2x?xf32, #glow.dims<batch, seq>>
  func.return
}
// -----
// CHECK: 'glow.exp' op (%y): expected sizes from 0, found seq - 3, which may be -2: seq is from 1 to 9
func.func @main(%x: tensor<?xf32, #glow.dims<seq - 3 where seq from 1 to 9>>) {
  %y = glow.exp %x : (tensor<?xf32, #glow.dims<seq - 3 where seq from 1 to 9>>) -> tensor<?xf32, #glow.dims<seq - 3 where seq from 1 to 9>>
  func.return
}
// -----
// CHECK: expected one range of symbol seq, found from 1 to 9 and from 2
func.func @main(%x: tensor<?xf32, #glow.dims<seq where seq from 1 to 9>>, %z: tensor<?xf32, #glow.dims<seq where seq from 2>>) {
  %y = glow.exp %x : (tensor<?xf32, #glow.dims<seq where seq from 1 to 9>>) -> tensor<?xf32, #glow.dims<seq where seq from 1 to 9>>
  func.return
}
// -----
// CHECK: 'glow.add' op (%y): expected operand 1 of shape (seq,), found tensor<?xf32, #glow.dims<seq + 1>>
func.func @main(%x: tensor<?xf32, #glow.dims<seq>>, %z: tensor<?xf32, #glow.dims<seq + 1>>) {
  %y = glow.add %x, %z : (tensor<?xf32, #glow.dims<seq>>, tensor<?xf32, #glow.dims<seq + 1>>) -> tensor<?xf32, #glow.dims<seq>>
  func.return
}
// -----
// CHECK: 'glow.reshape' op (%y): expected a result with 4 * seq elements, found tensor<?x3xf32, #glow.dims<seq>>
func.func @main(%x: tensor<?x4xf32, #glow.dims<seq>>) {
  %y = glow.reshape %x : (tensor<?x4xf32, #glow.dims<seq>>) -> tensor<?x3xf32, #glow.dims<seq>>
  func.return
}
// -----
// CHECK: 'glow.max_pool' op (%y): cannot tell whether height - 2 is negative: height is from 1; give a narrower range, or bind the symbols
func.func @main(%x: tensor<1x1x?xf32, #glow.dims<height>>) {
  %y = glow.max_pool %x kernel [3] : (tensor<1x1x?xf32, #glow.dims<height>>) -> tensor<1x1x?xf32, #glow.dims<height - 2>>
  func.return
}
