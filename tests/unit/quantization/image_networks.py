"""A small network on images, and images for it."""

from __future__ import annotations

import numpy as np
from glow.context import make_context
from glow.quantization.profiling import optimized_graph
from glow.tests.support.seeds import shared_generator
from xdsl.dialects.builtin import ModuleOp
from xdsl.parser import Parser

# two convolutions, a residual of the first, a pool, and a fully connected layer
SOURCE = """
!x = tensor<{n}x3x9x7xf32>
!y = tensor<{n}x5x9x7xf32>
!p = tensor<{n}x5x4x3xf32>
func.func @main(%x: !x {{glow.name = "x"}})
    -> (tensor<{n}x4xf32> {{glow.name = "y"}}) {{
  %w1 = glow.constant dense<{w1}> : tensor<5x3x3x3xf32>
  %b1 = glow.constant dense<[0.5, -0.25, 0.125, 1.0, -1.0]> : tensor<5xf32>
  %c1 = glow.convolution %x, %w1, %b1 pads [1, 1, 1, 1]
    : (!x, tensor<5x3x3x3xf32>, tensor<5xf32>) -> !y
  %r1 = glow.relu %c1 : (!y) -> !y
  %w2 = glow.constant dense<{w2}> : tensor<5x5x1x1xf32>
  %b2 = glow.splat value 0.0 : tensor<5xf32>
  %c2 = glow.convolution %r1, %w2, %b2
    : (!y, tensor<5x5x1x1xf32>, tensor<5xf32>) -> !y
  %s = glow.add %c2, %r1 : (!y, !y) -> !y
  %m = glow.max_pool %s kernel [2, 2] strides [2, 2] : (!y) -> !p
  %f = glow.reshape %m : (!p) -> tensor<{n}x60xf32>
  %w3 = glow.constant dense<{w3}> : tensor<4x60xf32>
  %b3 = glow.constant dense<[0.5, -0.5, 0.25, 0.75]> : tensor<4xf32>
  %y = glow.fully_connected %f, %w3, %b3
    : (tensor<{n}x60xf32>, tensor<4x60xf32>, tensor<4xf32>) -> tensor<{n}x4xf32>
  func.return %y : tensor<{n}x4xf32>
}}
"""


def network(batch: int = 2, seed: int = 0) -> ModuleOp:
    # modules share what they compute of a network
    rng = shared_generator(f"image network {seed}")
    weights = {
        name: str((rng.standard_normal(shape) * 0.3).astype(np.float32).tolist())
        for name, shape in (("w1", (5, 3, 3, 3)), ("w2", (5, 5, 1, 1)), ("w3", (4, 60)))
    }
    module = Parser(make_context(), SOURCE.format(n=batch, **weights)).parse_module()
    module.verify()
    return optimized_graph(module)


def images(rng: np.random.Generator, batch: int = 2) -> np.ndarray:
    return rng.standard_normal((batch, 3, 9, 7), np.float32)
