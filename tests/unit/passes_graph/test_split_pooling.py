"""Pools along one dimension after the other: the same results as those of whole windows."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from glow.glow_dialects.glow.base import Node
from glow.glow_dialects.glow.pooling import AvgPoolOp, MaxPoolOp
from glow.glow_dialects.operator import with_shape
from glow.runtime.interpreter import interpret
from glow.tests.support.graph_text import count, run
from glow.tests.support.operator_kernels import one_node
from xdsl.dialects.builtin import ModuleOp, f32


def module_of(operator: type[Node], x: np.ndarray, kernel: list[int], **window: Any) -> ModuleOp:
    """Returns a graph of one pool; the window moves by one element if nothing else is said."""
    n = len(kernel)
    steps = {"strides": [1] * n, "dilations": [1] * n, "pads": [0] * 2 * n, **window}
    return one_node(operator, [with_shape(f32, x.shape)], kernel=kernel, **steps)


WINDOWS = [
    ({"kernel": [5, 5], "pads": [2, 2, 2, 2]}, (11, 7)),
    ({"kernel": [3, 7], "pads": [0, 5, 2, 1], "dilations": [2, 1]}, (9, 13)),
    ({"kernel": [6, 5], "strides": [2, 3], "ceil_mode": True}, (17, 19)),
    ({"kernel": [3, 3, 3], "pads": [1, 1, 1, 1, 1, 0]}, (5, 1, 6)),
]


@pytest.mark.parametrize(("window", "sizes"), WINDOWS, ids=str)
@pytest.mark.parametrize(
    ("operator", "options"),
    [(MaxPoolOp, {}), (AvgPoolOp, {}), (AvgPoolOp, {"count_include_pad": True})],
    ids=["max", "avg", "avg with padding"],
)
def test_results_stay(
    operator: type, options: dict, window: dict, sizes: tuple, rng: np.random.Generator
):
    window = {**window, **options}
    x = rng.standard_normal((2, 3, *sizes)).astype(np.float32)
    module = module_of(operator, x, **window)
    (want,) = interpret(module, [x]).values()
    run("glow-split-pooling", module)
    assert count(module)[operator.name] == len(sizes)
    (found,) = interpret(module, [x]).values()
    np.testing.assert_allclose(found, want, rtol=0, atol=1e-6)


def test_nan_stays(rng: np.random.Generator):
    x = rng.standard_normal((1, 2, 9, 9)).astype(np.float32)
    x[0, 1, 4, 5] = np.nan
    module = module_of(MaxPoolOp, x, [3, 3])
    (want,) = interpret(module, [x]).values()
    run("glow-split-pooling", module)
    (found,) = interpret(module, [x]).values()
    assert np.isnan(found).sum() == 9
    np.testing.assert_array_equal(found, want)
