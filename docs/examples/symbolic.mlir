// One layer of a network for any number of sequences of any length up to 512.
!tokens = tensor<?x?x6xf32, #glow.dims<batch, seq where seq from 2 to 512>>
!rows = tensor<?x6xf32, #glow.dims<batch * seq - batch where seq from 2 to 512>>
func.func @main(%x: !tokens, %w: tensor<6x4xf32>) -> tensor<?x4xf32, #glow.dims<batch * seq - batch where seq from 2 to 512>> {
  %s = glow.slice %x starts [0, 1, 0] sizes [batch, seq - 1, 6 where seq from 2 to 512] : (!tokens) -> tensor<?x?x6xf32, #glow.dims<batch, seq - 1 where seq from 2 to 512>>
  %r = glow.reshape %s : (tensor<?x?x6xf32, #glow.dims<batch, seq - 1 where seq from 2 to 512>>) -> !rows
  %y = glow.matmul %r, %w : (!rows, tensor<6x4xf32>) -> tensor<?x4xf32, #glow.dims<batch * seq - batch where seq from 2 to 512>>
  func.return %y : tensor<?x4xf32, #glow.dims<batch * seq - batch where seq from 2 to 512>>
}
