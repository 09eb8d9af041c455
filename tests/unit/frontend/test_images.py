"""Operators that interpolate or fold images, against onnxruntime and onnx's reference."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import onnx
import pytest
from glow.errors import GlowError
from glow.frontend.onnx import import_onnx
from glow.frontend.onnx.ops.interpolation import Interpolation, Resized, taps
from glow.runtime.interpreter import interpret
from glow.tests.unit.frontend.against_onnxruntime import SEEDS, check, floats, ints
from hypothesis import given, settings
from hypothesis import strategies as st
from onnx.reference import ReferenceEvaluator

from .models import model, node, value

FEW = settings(max_examples=12, deadline=None)
MODES = st.sampled_from(["nearest", "linear", "cubic"])
TRANSFORMS = st.sampled_from(["half_pixel", "pytorch_half_pixel", "asymmetric"])
SIZES = st.lists(st.integers(1, 9), min_size=2, max_size=2)


@FEW
@given(MODES, TRANSFORMS, SIZES, SIZES, SEEDS)
def test_resize_to_sizes(
    mode: str, transform: str, old: list[int], new: list[int], seed: int
) -> None:
    x = floats(seed, 2, 3, *old)
    attributes: dict[str, Any] = {"mode": mode, "coordinate_transformation_mode": transform}
    resize = node("Resize", ["x", "", "", "sizes"], ["y"], **attributes)
    check(resize, {"x": x}, {"sizes": ints(2, 3, *new)}, opset=13, tolerance=1e-4)


@FEW
@given(st.sampled_from(["linear", "cubic"]), st.booleans(), SIZES, SEEDS)
def test_antialiased_resize(mode: str, exclude: bool, new: list[int], seed: int) -> None:
    x, sizes = floats(seed, 1, 2, 11, 7), ints(1, 2, *new)
    resize = node(
        "Resize", ["x", "", "", "s"], ["y"], mode=mode, antialias=1, exclude_outside=int(exclude)
    )
    made = model([resize], [value("x", x.shape)], ["y"], {"s": sizes}, 19)
    compare(made, {"x": x})


def compare(made: onnx.ModelProto, inputs: Mapping[str, np.ndarray]) -> None:
    """Compares the model with onnx's reference, which is slow."""
    wanted = ReferenceEvaluator(made).run(None, dict(inputs))
    found = interpret(import_onnx(made), inputs)
    for name, want in zip([o.name for o in made.graph.output], wanted, strict=True):
        np.testing.assert_allclose(found[name], np.asarray(want), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("rounding", ["round_prefer_floor", "round_prefer_ceil", "floor", "ceil"])
def test_roundings_of_nearest(rounding: str, rng: np.random.Generator) -> None:
    dim = Resized(5, 8, np.float32(8 / 5))
    x = (np.arange(8, dtype=np.float32) + np.float32(0.5)) / dim.scale - np.float32(0.5)
    places, weights = taps(dim, Interpolation("nearest", "half_pixel", rounding))
    assert (weights == 1).all()
    assert (np.abs(places[:, 0] - np.clip(x, 0, 4)) <= 1).all()
    assert places.min() == 0
    assert places.max() == 4


@settings(max_examples=6, deadline=None)
@given(
    st.sampled_from(["nearest", "linear", "cubic"]),
    st.sampled_from(["zeros", "border", "reflection"]),
    st.booleans(),
    SEEDS,
)
def test_grid_sample(mode: str, padding: str, corners: bool, seed: int) -> None:
    x, grid = floats(seed, 2, 3, 5, 7), floats(seed + 1, 2, 3, 4, 2, low=-1.6, high=1.6)
    attributes: dict[str, Any] = {"padding_mode": padding, "align_corners": int(corners)}
    sample = node("GridSample", ["x", "grid"], ["y"], mode=mode, **attributes)
    check(sample, {"x": x, "grid": grid}, opset=20, tolerance=1e-4)


def test_points_far_away_and_nan_read_within_the_image(rng: np.random.Generator) -> None:
    x = rng.random((1, 1, 3, 3)).astype(np.float32)
    numbers = [np.nan, np.inf, -np.inf, 1e30, -1e30, 2.0**31]
    grid = np.array([[[[a, b] for a in numbers] for b in numbers]], np.float32)
    for padding in ("zeros", "border", "reflection"):
        sample = node("GridSample", ["x", "grid"], ["y"], padding_mode=padding)
        made = model([sample], [value("x", x.shape), value("grid", grid.shape)], ["y"], {}, 20)
        found = interpret(import_onnx(made), {"x": x, "grid": grid})["y"]
        assert found.shape == (1, 1, 6, 6)


@pytest.mark.parametrize("mode", ["avg", "max"])
@pytest.mark.parametrize("ratio", [0, 2])
def test_roi_align(mode: str, ratio: int, rng: np.random.Generator) -> None:
    x = rng.random((2, 3, 9, 11)).astype(np.float32)
    rois = np.array([[0, 0, 7, 5], [-3, 1, 4, 20], [2, 2, 2.5, 2.25]], np.float32)
    align = node(
        "RoiAlign", ["x", "rois", "n"], ["y"], mode=mode, sampling_ratio=ratio,
        output_height=3, output_width=2, spatial_scale=0.75,
    )  # fmt: skip
    made = model([align], [value("x", x.shape)], ["y"], {"rois": rois, "n": ints(1, 0, 1)}, 16)
    compare(made, {"x": x})


@FEW
@given(
    st.sampled_from(["reflect", "edge", "wrap"]),
    st.lists(st.integers(-1, 2), min_size=6, max_size=6),
    SEEDS,
)
def test_pads_that_repeat_elements(mode: str, pads: list[int], seed: int) -> None:
    x = floats(seed, 4, 5, 6)
    cut = x[tuple(slice(max(0, -a), d - max(0, -b))
                  for a, b, d in zip(pads[:3], pads[3:], x.shape, strict=True))]  # fmt: skip
    wanted = np.pad(cut, [(max(0, a), max(0, b)) for a, b in zip(pads[:3], pads[3:], strict=True)],
                    mode)  # pyright: ignore # fmt: skip
    made = model(
        [node("Pad", ["x", "p"], ["y"], mode=mode)], [value("x", x.shape)], ["y"],
        {"p": ints(*pads)}, 19,
    )  # fmt: skip
    np.testing.assert_array_equal(interpret(import_onnx(made), {"x": x})["y"], wanted)


def test_pad_with_a_computed_value(rng: np.random.Generator) -> None:
    x, filler = rng.random((2, 3)).astype(np.float32), np.array(7, np.float32)
    pad = node("Pad", ["x", "p", "v"], ["y"])
    check(pad, {"x": x, "v": filler}, {"p": ints(1, 0, 0, 2)}, opset=13)


@pytest.mark.parametrize("order", [0, 1])
def test_places_of_a_pool(order: int, rng: np.random.Generator) -> None:
    x = rng.random((2, 3, 7, 6)).astype(np.float32)
    pool = node("MaxPool", ["x"], ["y", "i"], kernel_shape=[3, 2], strides=[2, 2],
                pads=[1, 0, 0, 1], storage_order=order)  # fmt: skip
    check(pool, {"x": x}, outputs=["y", "i"])


@FEW
@given(st.integers(1, 4), st.integers(1, 3), SEEDS)
def test_lp_pool(p: int, kernel: int, seed: int) -> None:
    x = floats(seed, 1, 2, 7, 5)
    pool = node("LpPool", ["x"], ["y"], kernel_shape=[kernel, 2], strides=[2, 1], p=p)
    check(pool, {"x": x}, opset=11, tolerance=1e-4)
    check(node("GlobalLpPool", ["x"], ["y"], p=p), {"x": x}, tolerance=1e-4)


@pytest.mark.parametrize(
    ("attributes", "message"),
    [
        ({"mode": "quintic"}, "mode='quintic'"),
        ({"coordinate_transformation_mode": "tf"}, "coordinate_transformation_mode='tf'"),
        ({"axes": [1, 1]}, "expected different axes"),
        ({"axes": [5]}, "expected an axis in -4 to 3, found 5"),
    ],
)
def test_wrong_resizes_are_refused(attributes: dict[str, Any], message: str) -> None:
    resize = node("Resize", ["x", "", "s"], ["y"], **attributes)
    count = len(attributes.get("axes", [0] * 4))
    made = model([resize], [value("x", (1, 1, 2, 2))], ["y"], {"s": np.ones(count, np.float32)}, 19)
    with pytest.raises(GlowError, match=message):
        import_onnx(made)
