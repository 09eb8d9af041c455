"""Normalisation operators of ONNX: against onnxruntime, and each is one node."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pytest
from glow.frontend.onnx import import_onnx
from glow.runtime.interpreter import interpret
from glow.tests.support.graph_text import count
from glow.tests.support.seeds import numbered
from glow.tests.unit.frontend.against_onnxruntime import SEEDS, SETTINGS, SIZES, check, floats
from hypothesis import given
from hypothesis import strategies as st

from .models import model, node, value


@SETTINGS
@given(st.lists(SIZES, min_size=1, max_size=4), st.data())
def test_layer_normalization(shape: list[int], data: st.DataObject) -> None:
    axis = data.draw(st.integers(-len(shape), len(shape) - 1))
    seed = data.draw(SEEDS)
    row = shape[axis:]
    weights = {n: floats(seed + i, *row) for i, n in enumerate("sb")}
    if data.draw(st.booleans()):
        del weights["b"]
    made = node("LayerNormalization", ["x", *weights], ["y"], axis=axis, epsilon=1e-2)
    check(made, {"x": floats(seed + 2, *shape)}, weights, tolerance=1e-4)


@SETTINGS
@given(st.lists(SIZES, min_size=2, max_size=4), SEEDS)
def test_statistics_of_layer_normalization(shape: list[int], seed: int) -> None:
    weights = {n: floats(seed + i, shape[-1]) for i, n in enumerate("sb")}
    made = node("LayerNormalization", ["x", "s", "b"], ["y", "m", "d"], epsilon=1e-2)
    x = {"x": floats(seed + 2, *shape)}
    check(made, x, weights, ["y", "m", "d"], tolerance=1e-4)


@SETTINGS
@given(SIZES, st.integers(1, 3), st.integers(1, 3), st.lists(SIZES, max_size=2), st.data())
def test_group_normalization(
    n: int, groups: int, size: int, spatial: list[int], data: st.DataObject
) -> None:
    """In onnxruntime it is ONNX's own definition by other operators."""
    seed = data.draw(SEEDS)
    channels = groups * size
    weights = {n: floats(seed + i, channels) for i, n in enumerate("sb")}
    made = node("GroupNormalization", ["x", "s", "b"], ["y"], num_groups=groups, epsilon=1e-2)
    # a single number in a group has no deviation, and what is left of it is noise
    x = floats(seed + 2, n, channels, 3, *spatial)
    check(made, {"x": x}, weights, opset=21, tolerance=1e-4)


@pytest.mark.parametrize(
    ("shapes", "axis", "nodes"),
    [
        ({"x": (2, 3, 5), "s": (5,)}, -1, {"glow.rms_norm": 1}),
        ({"x": (2, 3, 5), "s": (3, 5)}, 1, {"glow.rms_norm": 1}),
        ({"x": (2, 3, 5), "s": (3, 1)}, 1, {"glow.rms_norm": 1}),
        ({"x": (2, 3, 5), "s": (3, 1)}, 2, {"glow.rms_norm": 1, "glow.mul": 1}),
    ],
    ids=str,
)
def test_rms_normalization(
    shapes: Mapping[str, tuple[int, ...]], axis: int, nodes: Mapping[str, int]
) -> None:
    rng = numbered(0)
    arrays = {n: rng.standard_normal(s).astype(np.float32) for n, s in shapes.items()}
    made = model(
        [node("RMSNormalization", ["x", "s"], ["y"], axis=axis, epsilon=0.1)],
        [value(n, s) for n, s in shapes.items()],
        ["y"],
        {},
        23,
    )
    module = import_onnx(made)
    assert count(module).items() >= nodes.items()
    x = arrays["x"]
    axes = tuple(range(axis % x.ndim, x.ndim))
    want = x / np.sqrt(np.square(x).mean(axes, keepdims=True) + 0.1) * arrays["s"]
    np.testing.assert_allclose(interpret(module, arrays)["y"], want, rtol=1e-5, atol=1e-6)
