// RUN: glow-opt %s | glow-opt | filecheck %s

// Sizes of dimensions may depend on symbols; formulas give the shapes of results.

// CHECK-LABEL: func.func @encoder(%x: tensor<?x?x6xf32, #glow.dims<batch, seq>>
func.func @encoder(%x: tensor<?x?x6xf32, #glow.dims<batch, seq>>, %w: tensor<6x4xf32>) -> tensor<?x?xf32, #glow.dims<seq, seq>> {
  // CHECK-NEXT: glow.reshape {{.*}} -> tensor<?x6xf32, #glow.dims<batch * seq>>
  %r = glow.reshape %x : (tensor<?x?x6xf32, #glow.dims<batch, seq>>) -> tensor<?x6xf32, #glow.dims<seq * batch>>
  // CHECK-NEXT: glow.matmul
  %m = glow.matmul %r, %w : (tensor<?x6xf32, #glow.dims<batch * seq>>, tensor<6x4xf32>) -> tensor<?x4xf32, #glow.dims<batch * seq>>
  %s = glow.softmax %m axis 1 : (tensor<?x4xf32, #glow.dims<batch * seq>>) -> tensor<?x4xf32, #glow.dims<batch * seq>>
  %t = glow.reshape %s : (tensor<?x4xf32, #glow.dims<batch * seq>>) -> tensor<?x?x4xf32, #glow.dims<batch, seq>>
  %u = glow.transpose %t permutation [1, 0, 2] : (tensor<?x?x4xf32, #glow.dims<batch, seq>>) -> tensor<?x?x4xf32, #glow.dims<seq, batch>>
  // CHECK: glow.concat {{.*}} -> tensor<?x?x8xf32, #glow.dims<seq, batch>>
  %c = glow.concat %u, %u axis 2 : (tensor<?x?x4xf32, #glow.dims<seq, batch>>, tensor<?x?x4xf32, #glow.dims<seq, batch>>) -> tensor<?x?x8xf32, #glow.dims<seq, batch>>
  %d = glow.reduce_mean %c axes [1, 2] : (tensor<?x?x8xf32, #glow.dims<seq, batch>>) -> tensor<?xf32, #glow.dims<seq>>
  %e = glow.reshape %d : (tensor<?xf32, #glow.dims<seq>>) -> tensor<1x?xf32, #glow.dims<seq>>
  // CHECK: glow.broadcast {{.*}} -> tensor<?x?xf32, #glow.dims<seq, seq>>
  %y = glow.broadcast %e : (tensor<1x?xf32, #glow.dims<seq>>) -> tensor<?x?xf32, #glow.dims<seq, seq>>
  func.return %y : tensor<?x?xf32, #glow.dims<seq, seq>>
}

// CHECK-LABEL: func.func @image
func.func @image(%x: tensor<1x3x?x?xf32, #glow.dims<height, "image width" where "image width" from 7>>)
    -> tensor<1x4x?x?xf32, #glow.dims<(height - 1) floordiv 2 + 1, "image width" - 6 where "image width" from 7>> {
  // CHECK: glow.constant
  %w = glow.constant dense<0.5> : tensor<4x3x3x7xf32>
  %b = glow.constant dense<0.5> : tensor<4xf32>
  // CHECK: -> tensor<1x4x?x?xf32, #glow.dims<(height + 1) floordiv 2, "image width" - 6 where "image width" from 7>>
  %y = glow.convolution %x, %w, %b strides [2, 1] pads [1, 0, 1, 0]
      : (tensor<1x3x?x?xf32, #glow.dims<height, "image width" where "image width" from 7>>, tensor<4x3x3x7xf32>, tensor<4xf32>)
      -> tensor<1x4x?x?xf32, #glow.dims<(height + 1) floordiv 2, "image width" - 6 where "image width" from 7>>
  func.return %y : tensor<1x4x?x?xf32, #glow.dims<(height + 1) floordiv 2, "image width" - 6 where "image width" from 7>>
}

// CHECK-LABEL: func.func @cache
func.func @cache(%past: tensor<?x8xf32, #glow.dims<past where past from 0>>, %new: tensor<?x8xf32, #glow.dims<new>>) -> tensor<?x8xf32, #glow.dims<new>> {
  // CHECK: -> tensor<?x8xf32, #glow.dims<new + past where past from 0>>
  %all = glow.concat %past, %new axis 0 : (tensor<?x8xf32, #glow.dims<past where past from 0>>, tensor<?x8xf32, #glow.dims<new>>) -> tensor<?x8xf32, #glow.dims<past + new where past from 0>>
  // CHECK: glow.slice %all starts [past, 0 where past from 0] sizes [new, 8]
  %y = glow.slice %all starts [past, 0 where past from 0] sizes [new, 8] : (tensor<?x8xf32, #glow.dims<new + past where past from 0>>) -> tensor<?x8xf32, #glow.dims<new>>
  func.return %y : tensor<?x8xf32, #glow.dims<new>>
}
