"""Pooling as part of Winograd convolutions: the same results as one after the other."""

from __future__ import annotations

import numpy as np
import pytest
from glow.runtime.interpreter import interpret
from glow.tests.support.graph_text import count, parse, run

TEXT = """
func.func @main(%x: tensor<2x1x{rows}x{columns}x8xf32>, %u: tensor<{planes}x2x8x8xf32>,
    %b: tensor<2x8xf32>) -> tensor<2x2x{r}x{c}x8xf32> {{
  %0 = glow_cpu.winograd_convolution %x, %u, %b tile {tile}
      : (tensor<2x1x{rows}x{columns}x8xf32>, tensor<{planes}x2x8x8xf32>, tensor<2x8xf32>)
      -> tensor<2x2x{h}x{w}x8xf32>
  %1 = glow.{step} %0 {options} : (tensor<2x2x{h}x{w}x8xf32>) -> tensor<2x2x{h}x{w}x8xf32>
  %2 = glow_cpu.blocked_max_pool %1 strides [2, 2] kernel [2, 2]
      : (tensor<2x2x{h}x{w}x8xf32>) -> tensor<2x2x{r}x{c}x8xf32>
  func.return %2 : tensor<2x2x{r}x{c}x8xf32>
}}
"""


@pytest.mark.parametrize("step", ["relu", "clip"])
@pytest.mark.parametrize("tile", [2, 4])
@pytest.mark.parametrize(("h", "w"), [(2, 2), (7, 12), (9, 5)])
def test_results_stay(step: str, tile: int, h: int, w: int, rng: np.random.Generator):
    options = "min -0.5 max 0.7" if step == "clip" else ""
    sizes = {"rows": h + 2, "columns": w + 2, "h": h, "w": w, "r": h // 2, "c": w // 2}
    planes = (tile + 2) ** 2
    module = parse(TEXT.format(tile=tile, planes=planes, step=step, options=options, **sizes))
    shapes = ((2, 1, h + 2, w + 2, 8), (planes, 2, 8, 8), (2, 8))
    arrays = [rng.standard_normal(shape).astype(np.float32) for shape in shapes]
    (want,) = interpret(module, arrays).values()
    run("glow-fuse-pooling", module)
    assert count(module)["glow_cpu.blocked_max_pool"] == 0
    (found,) = interpret(module, arrays).values()
    np.testing.assert_array_equal(found, want)
