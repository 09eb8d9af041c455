"""Convolutions whose filters are not constant, as products of matrices."""

from __future__ import annotations

from dataclasses import dataclass

import glow
import numpy as np
import pytest
from glow.tests.support.graph_text import parse


@dataclass(frozen=True)
class Case:
    input: tuple[int, ...]
    filter: tuple[int, ...]
    strides: tuple[int, ...]
    dilations: tuple[int, ...]
    pads: tuple[int, ...]
    transposed: bool = False
    """Whether the input is a transposition, which the patches then undo."""

    @property
    def counts(self) -> list[int]:
        n = len(self.strides)
        return [
            (self.input[2 + d] + self.pads[d] + self.pads[n + d] - reach - 1) // stride + 1
            for d, stride in enumerate(self.strides)
            for reach in [(self.filter[2 + d] - 1) * self.dilations[d]]
        ]

    def text(self) -> str:
        outputs = self.filter[0]
        sizes = ("x".join(map(str, s)) for s in (self.input, self.filter))
        x, w = (f"tensor<{s}xf32>" for s in sizes)
        shape = "x".join(map(str, [self.input[0], outputs, *self.counts]))
        given, turn = x, ""
        if self.transposed:
            images, channels, *rest = self.input
            given = f"tensor<{'x'.join(map(str, [channels, *rest, images]))}xf32>"
            order = [len(rest) + 1, *range(len(rest) + 1)]
            turn = f"%t = glow.transpose %x permutation {order} : ({given}) -> {x}\n"
        return f"""
            func.func @main(%x: {given} {{glow.name = "x"}}, %w: {w} {{glow.name = "w"}},
                            %b: tensor<{outputs}xf32> {{glow.name = "b"}})
                -> (tensor<{shape}xf32> {{glow.name = "out"}}) {{
              {turn}%r = glow.convolution {"%t" if turn else "%x"}, %w, %b
                strides {list(self.strides)} dilations {list(self.dilations)}
                pads {list(self.pads)}
                : ({x}, {w}, tensor<{outputs}xf32>) -> tensor<{shape}xf32>
              func.return %r : tensor<{shape}xf32>
            }}"""


CASES = [
    Case((2, 3, 7, 6), (5, 3, 3, 2), (2, 1), (1, 2), (1, 0, 2, 1)),
    Case((3, 2, 5, 9), (7, 2, 1, 4), (1, 3), (1, 1), (0, 2, 0, 1), transposed=True),
    Case((1, 3, 11), (4, 3, 5), (2,), (2,), (3, 0)),
]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_products_of_patches(case: Case, rng: np.random.Generator) -> None:
    module = parse(case.text())
    expected = glow.compile(module, backend="interpreter")
    found = glow.compile(module, conv_algorithm="product")
    assert "glow.matmul" in str(found.stages["convolutions"])
    feeds = {i.name: rng.standard_normal(i.shape).astype(np.float32) for i in expected.get_inputs()}
    (want,), (out,) = expected.run(None, feeds), found.run(None, feeds)
    np.testing.assert_allclose(out, want, rtol=1e-5, atol=1e-5)
