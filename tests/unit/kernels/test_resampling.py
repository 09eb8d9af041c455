"""Samples of images whose channels are put together first, with numpy as their oracle."""

from __future__ import annotations

from typing import Any

import glow
import numpy as np
import pytest
from glow.glow_dialects.glow.resampling import SampleOp
from glow.tests.support.native import parse
from glow.tests.support.operator_kernels import check
from glow.tests.support.oracle import run_node

SHAPES = [
    # images, channels, elements, regions, points, taps
    (1, 16, 35, 1, 67, 4),
    (3, 37, 29, 5, 11, 1),
    (2, 131, 13, 3, 71, 3),
    (2, 64, 301, 3, 1, 2),
]


def _given(rng: np.random.Generator, shape: tuple, x: Any, index: Any) -> list[np.ndarray]:
    """Returns the operands; some images and places lie beyond both ends."""
    images, channels, elements, regions, points, taps = shape
    places = (regions, points, taps)
    return [
        rng.standard_normal((images, channels, elements)).astype(x),
        rng.integers(-1, images + 1, regions).astype(index),
        rng.integers(-3, elements + 3, places).astype(index),
        rng.standard_normal(places).astype(np.float32),
    ]


@pytest.mark.parametrize("largest", [False, True])
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_samples(rng: np.random.Generator, shape: tuple, largest: bool):
    x, images, places, weights = given = _given(rng, shape, np.float32, np.int64)
    check(SampleOp, *given, largest=largest)
    rows = x[images.clip(0, len(x) - 1)]
    at = places.clip(0, x.shape[2] - 1).reshape(len(rows), 1, -1)
    read = np.take_along_axis(rows, at, 2).reshape(len(rows), -1, *places.shape[1:])
    products = read * weights[:, None]
    wanted = products.max(3) if largest else products.sum(3)
    found = run_node(SampleOp, *given, largest=largest)
    np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-5)


def test_samples_of_halves(rng: np.random.Generator):
    check(SampleOp, *_given(rng, SHAPES[1], np.float16, np.int32), tolerance=2e-3)


@pytest.mark.parametrize("points", [2, 4, 8, 16])
def test_as_many_points_as_vectors_have_lanes(rng: np.random.Generator, points: int):
    """One channel of one place for each point: each lane of a vector has an index of its own."""
    _, images, places, _ = _given(rng, (1, 1, 7, 1, points, 1), np.float64, np.int32)
    x, weights = rng.standard_normal((1, 1, 7)), rng.standard_normal(places.shape)
    check(SampleOp, x, images, places, weights)
    wanted = x[0, :, places[0, :, 0].clip(0, 6)].T * weights[..., 0]
    np.testing.assert_allclose(run_node(SampleOp, x, images, places, weights)[0], wanted)


@pytest.mark.parametrize("threads", [1, 2, 3])
@pytest.mark.parametrize("shape", [SHAPES[1], (2, 96, 35, 1, 67, 4)], ids=str)
def test_what_follows_is_computed_with_them(rng: np.random.Generator, shape: tuple, threads: int):
    """Threads without regions of their own have channels of their own."""
    images, channels, elements, regions, points, taps = shape
    given = _given(rng, shape, np.float32, np.int32)
    bias = rng.standard_normal((regions, channels, points)).astype(np.float32)
    result = f"tensor<{regions}x{channels}x{points}xf32>"
    types = [
        f"tensor<{images}x{channels}x{elements}xf32>",
        f"tensor<{regions}xi32>",
        f"tensor<{regions}x{points}x{taps}xi32>",
        f"tensor<{regions}x{points}x{taps}xf32>",
    ]
    arguments = ", ".join(f"%a{i}: {t}" for i, t in enumerate([*types, result]))
    text = f"""
    func.func @main({arguments}) -> {result} {{
      %s = glow.sample %a0, %a1, %a2, %a3 : ({", ".join(types)}) -> {result}
      %y = glow.add %s, %a4 : ({result}, {result}) -> {result}
      %z = glow.relu %y : ({result}) -> {result}
      func.return %z : {result}
    }}"""
    model = glow.compile(parse(text), threads=threads)
    divided = f"repeat %g to {threads} divided 1" in str(model.stages.get("divided"))
    assert divided == (regions == 1 and threads > 1)
    (found,) = model(*given, bias)
    wanted = np.maximum(run_node(SampleOp, *given) + bias, 0)
    np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-5)
