"""Winograd convolutions by filters that only the run knows: equal results, and where they pay."""

from __future__ import annotations

from typing import Any

import glow
import numpy as np
import onnx
import pytest
from glow.runtime.interpreter import interpret
from glow.tests.support.graph_text import count, parse, run
from glow.tests.support.oracle import close, run_onnx_model
from onnx import TensorProto, helper

Rng = np.random.Generator

WINDOWS: list[tuple[int, tuple[int, ...], tuple[int, ...], dict[str, Any]]] = [
    # images, filter, spatial sizes, attributes
    (2, (9, 5, 3, 3), (13, 11), {"pads": [1, 1, 1, 1]}),
    (1, (16, 16, 3, 3), (7, 7), {"pads": [1, 0, 2, 1]}),
    (3, (17, 19, 5, 5), (9, 14), {"pads": [2, 2, 2, 2]}),
    (1, (8, 8, 2, 2), (10, 9), {}),
    (2, (32, 16, 3, 3), (8, 9), {"pads": [1, 1, 1, 1], "group": 2}),
    (1, (20, 3, 3, 3), (15, 12), {"strides": [2, 2], "pads": [1, 1, 1, 1]}),
    (1, (12, 7, 3, 3), (14, 13), {"dilations": [2, 3], "pads": [2, 3, 2, 3]}),
    (2, (11, 6, 3), (29,), {"pads": [1, 1]}),
    (1, (10, 9, 2, 3, 3), (4, 8, 7), {"pads": [0, 1, 1, 1, 1, 1]}),
]


def model_of(
    images: int, filters: tuple[int, ...], sizes: tuple[int, ...], given: dict[str, Any]
) -> tuple[onnx.ModelProto, list[list[int]]]:
    """Returns a convolution of which all operands are inputs, and their shapes."""
    shapes = [[images, filters[1] * given.get("group", 1), *sizes], list(filters), [filters[0]]]
    inputs = [
        helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)
        for name, shape in zip("xwb", shapes, strict=True)
    ]
    node = helper.make_node("Conv", ["x", "w", "b"], ["y"], **given)
    graph = helper.make_graph([node], "filters", inputs, [onnx.ValueInfoProto(name="y")])
    opsets = [helper.make_opsetid("", 17)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=8), shapes


def random_arrays(rng: Rng, shapes: list[list[int]]) -> list[np.ndarray]:
    return [rng.standard_normal(shape).astype(np.float32) for shape in shapes]


@pytest.mark.parametrize("window", WINDOWS, ids=str)
@pytest.mark.parametrize("lanes", [8, 16])
def test_results_stay(rng: Rng, window: Any, lanes: int):
    images, filters, sizes, given = window
    model, shapes = model_of(images, filters, sizes, given)
    arrays = random_arrays(rng, shapes)
    compiled = glow.compile(model, backend="interpreter")
    (want,) = compiled(*arrays)
    module = parse(str(compiled.stages["imported"]))
    machine = f"glow-set-machine{{vector-bits={32 * lanes}}}"
    run(f"{machine},glow-choose-convolutions{{algorithm=winograd}}", module)
    (found,) = interpret(module, arrays).values()
    # blocks of a group are whole
    per_group = filters[0] // given.get("group", 1), filters[1]
    applies = given.get("group", 1) == 1 or all(n % lanes == 0 for n in per_group)
    assert count(module)["glow_cpu.winograd_convolution"] == applies
    close(found, want, 2e-5)


@pytest.mark.parametrize("window", WINDOWS, ids=str)
def test_compiled_networks_agree_with_onnxruntime(rng: Rng, window: Any):
    model, shapes = model_of(*window)
    arrays = random_arrays(rng, shapes)
    (want,) = run_onnx_model(model, dict(zip("xwb", arrays, strict=True)))
    (found,) = glow.compile(model, conv_algorithm="winograd")(*arrays)
    close(found, want, 2e-5)


@pytest.mark.parametrize(
    ("filters", "sizes", "is_winograd"),
    [
        ((64, 64, 3, 3), (56, 56), True),
        ((256, 256, 3, 3), (14, 14), True),
        ((256, 256, 3, 3), (3, 3), False),  # the transform takes longer than it saves
        ((64, 64, 1, 1), (56, 56), False),
        ((16, 16, 56, 56), (58, 58), False),  # a gradient of a filter
    ],
    ids=str,
)
def test_the_cost_model_chooses(
    filters: tuple[int, ...], sizes: tuple[int, ...], is_winograd: bool
):
    pads = [1] * 4 if filters[2] == 3 else [0] * 4
    model, _ = model_of(1, filters, sizes, {"pads": pads})
    compiled = glow.compile(model, backend="interpreter")
    module = parse(str(compiled.stages["imported"]))
    run("glow-set-machine{vector-bits=256},glow-choose-convolutions", module)
    assert count(module)["glow_cpu.winograd_convolution"] == is_winograd


def test_the_filter_may_be_infinite(rng: Rng):
    """Outputs of an infinite filter are infinite or NaN, and those of other filters stay."""
    model, shapes = model_of(1, (16, 16, 3, 3), (12, 12), {"pads": [1, 1, 1, 1]})
    x, w, b = random_arrays(rng, shapes)
    (want,) = glow.compile(model)(x, w, b)
    w[5, 3, 1, 1] = np.inf
    (found,) = glow.compile(model)(x, w, b)
    others = np.arange(16) != 5
    close(found[:, others], want[:, others])
    assert not np.isfinite(found[:, 5]).any()
