"""Recurrent layers whose weights are in panels compute the same."""

from __future__ import annotations

import numpy as np
import pytest
from glow.glow_dialects.glow.recurrent import GruOp, LstmOp, Recurrent, RnnOp
from glow.glow_dialects.operator import with_shape
from glow.passes.graph.panels import packed_parts
from glow.runtime.interpreter import interpret
from glow.semantics import element_type
from glow.tests.support.operator_kernels import check, one_node, random

# steps, batch, hidden, columns of a panel
SIZES = [(3, 1, 37, 16), (1, 1, 48, 48), (4, 3, 21, 8), (2, 1, 5, 32), (17, 2, 24, 24)]


@pytest.mark.parametrize("operator", [LstmOp, GruOp, RnnOp])
@pytest.mark.parametrize("sizes", SIZES, ids=str)
def test_weights_in_panels(operator: type[Recurrent], sizes: tuple[int, int, int, int]):
    steps, batch, hidden, width = sizes
    columns = operator.gates() * hidden
    x = random(1, steps, batch, columns)
    weights = random(2, hidden, columns) / np.float32(hidden**0.5)
    others = [random(3, operator.STATES, batch, hidden)]
    if operator.ROWS:
        others.append(random(4, operator.ROWS, hidden))
    panels = packed_parts(weights, operator.columns(hidden), width)
    found, expected = (
        interpret(
            one_node(operator, [with_shape(element_type(a.dtype), a.shape) for a in given]), given
        )
        for given in ([x, panels, *others], [x, weights, *others])
    )
    for a, b in zip(found.values(), expected.values(), strict=True):
        np.testing.assert_allclose(a, b, rtol=0, atol=1e-6)
    check(operator, x, panels, *others)
