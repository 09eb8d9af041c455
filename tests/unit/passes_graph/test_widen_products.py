"""Products of 16-bit floats have the kernels of f32, and the results of the interpreter."""

from __future__ import annotations

import glow
import numpy as np
import pytest
from glow.tests.support.graph_text import parse

TEXT = """
func.func @main(%x: tensor<1x5x9x11xf16> {{glow.name = "x"}}, %f: tensor<20x5x3x3xf16> {{glow.name = "f"}}, %m: tensor<{rows}x20xf16> {{glow.name = "m"}}, %w: tensor<20x33xf16> {{glow.name = "w"}}) -> (tensor<1x20x7x9xf16> {{glow.name = "y"}}, tensor<{rows}x33xf16> {{glow.name = "z"}}) {{
  %b = glow.splat value 0.5 : tensor<20xf16>
  %c = glow.convolution %x, %f, %b : (tensor<1x5x9x11xf16>, tensor<20x5x3x3xf16>, tensor<20xf16>) -> tensor<1x20x7x9xf16>
  %y = glow.relu %c : (tensor<1x20x7x9xf16>) -> tensor<1x20x7x9xf16>
  %z = glow.matmul %m, %w : (tensor<{rows}x20xf16>, tensor<20x33xf16>) -> tensor<{rows}x33xf16>
  func.return %y, %z : tensor<1x20x7x9xf16>, tensor<{rows}x33xf16>
}}
"""  # noqa: E501
UNIT = 2.0**-10
"""The relative distance of neighbours in f16, of which sums in another order are one apart."""


@pytest.mark.parametrize("rows", [1, 7])
def test_results_are_those_of_the_interpreter(rows: int, rng: np.random.Generator):
    graph = parse(TEXT.format(rows=rows))
    shapes = {"x": (1, 5, 9, 11), "f": (20, 5, 3, 3), "m": (rows, 20), "w": (20, 33)}
    # positive numbers, so that no sum is much smaller than its terms
    feed = {n: rng.uniform(0.5, 1, s).astype(np.float16) for n, s in shapes.items()}
    model = glow.compile(graph.clone(), cache=False)
    wanted = glow.compile(graph, "interpreter").run(None, feed)
    for a, b in zip(model.run(None, feed), wanted, strict=True):
        assert a.dtype == b.dtype == np.float16
        np.testing.assert_allclose(a.astype(np.float32), b.astype(np.float32), rtol=UNIT)
    optimized = str(model.stages["optimized"])
    assert f"tensor<{rows}x33xf32>" in optimized or rows == 1
    assert "glow.convolution" in optimized
    assert "tensor<1x20x7x9xf32>" in optimized
