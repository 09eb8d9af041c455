"""Operators of onnxruntime's domain on shapes and images, with its numbers in float."""

from __future__ import annotations

from typing import Any

import glow
import numpy as np
import pytest
from glow.errors import ModelError, UnsupportedError

from .onnxruntime_cases import Case, check_known, floats

# shapes


@pytest.mark.parametrize("axis", [0, 1, 2, -1, -3])
def test_expand_dims(axis: int, rng: np.random.Generator) -> None:
    place = {"a": np.array(axis, np.int32)}
    check_known(Case("ExpandDims", {"x": floats(rng, 3, 5)}, place))


@pytest.mark.parametrize(
    "attributes",
    [{"size": 3}, {"size": 2, "step": 3, "dim": 1}, {"size": 3, "step": 5, "dim": 0}],
    ids=str,
)
def test_unfold(attributes: dict[str, int], rng: np.random.Generator) -> None:
    check_known(
        Case("UnfoldTensor", {"x": floats(rng, 3, 11, 5)}, attributes=attributes),
        Case("UnfoldTensor", {"x": rng.integers(0, 99, (3, 8, 7))}, attributes=attributes),
    )


# images


def _crops(rng: np.random.Generator, height: int, width: int, **attributes: Any) -> Case:
    """Returns crops of two images, some of whose boxes are outside or upside down."""
    boxes = np.array(
        [[0.1, 0.2, 0.8, 0.9], [-0.3, 0.1, 1.2, 0.6], [0.9, 0.7, 0.2, 0.1], [0, 0, 1, 1]],
        np.float32,
    )
    inputs = {"x": floats(rng, 2, 3, 7, 5), "b": boxes, "i": np.array([1, 0, 0, 1], np.int32)}
    sizes = {"s": np.array([height, width], np.int32)}
    return Case("CropAndResize", inputs, sizes, attributes=attributes)


@pytest.mark.parametrize("mode", ["bilinear", "nearest"])
@pytest.mark.parametrize(("height", "width"), [(4, 3), (1, 6), (9, 1), (1, 1)])
def test_crops(mode: str, height: int, width: int, rng: np.random.Generator) -> None:
    check_known(_crops(rng, height, width, mode=mode, extrapolation_value=-0.7))


@pytest.mark.parametrize(
    ("height", "mode", "error", "message"),
    [
        (0, "bilinear", ModelError, "2 sizes from 1 in crop_size, found"),
        (3, "cubic", UnsupportedError, "mode='cubic'"),
    ],
)
def test_crops_that_are_refused(
    height: int, mode: str, error: type[Exception], message: str, rng: np.random.Generator
) -> None:
    with pytest.raises(error, match=message):
        glow.compile(_crops(rng, height, 3, mode=mode).model(), backend="interpreter")


@pytest.mark.parametrize("bias", [False, True])
def test_transposed_convolution_with_pads(bias: bool, rng: np.random.Generator) -> None:
    given = {"strides": [2, 3], "dilations": [1, 2], "output_padding": [1, 0], "group": 2}
    weights = {"w": floats(rng, 4, 3, 3, 2), "p": np.array([1, 0, 2, 1])}
    if bias:
        weights["b"] = floats(rng, 6)
    x = floats(rng, 2, 4, 5, 3)
    check_known(Case("ConvTransposeWithDynamicPads", {"x": x}, weights, attributes=given))


def test_pads_that_do_not_fit(rng: np.random.Generator) -> None:
    weights = {"w": floats(rng, 4, 3, 3, 2), "p": np.array([1, 0, -2, 1])}
    case = Case("ConvTransposeWithDynamicPads", {"x": floats(rng, 2, 4, 5, 3)}, weights)
    with pytest.raises(ModelError, match="4 values from 0 in pads"):
        glow.compile(case.model(), backend="interpreter")


# embeddings


@pytest.mark.parametrize("dtype", [np.uint8, np.int8])
@pytest.mark.parametrize("options", ["", "sm"])
def test_quantized_embedding(options: str, dtype: type, rng: np.random.Generator) -> None:
    """Compares embeddings of words and positions alone, and of segments with a mask (s, m)."""
    sizes = {"word": (11, 6), "position": (9, 6), "segment": (2, 6), "gamma": (6,), "beta": (6,)}
    if "s" not in options:
        del sizes["segment"]
    limits = np.iinfo(dtype)
    weights: dict[str, np.ndarray] = {}
    for name, size in sizes.items():
        weights[name] = rng.integers(limits.min, limits.max + 1, size).astype(dtype)
        weights[f"{name}_scale"] = np.array(rng.random() / 64 + 0.01, np.float32)
        weights[f"{name}_zero"] = np.array(rng.integers(3, 90), dtype)
    inputs = {"ids": rng.integers(0, 11, (2, 5)).astype(np.int32)}
    if "s" in options:
        inputs["segments"] = rng.integers(0, 2, (2, 5)).astype(np.int32)
    if "m" in options:
        inputs["mask"] = (np.arange(5) < [[3], [5]]).astype(np.int32)
    tables = ("word", "position", "segment", "gamma", "beta")
    kinds = [f"{name}_{kind}" for kind in ("scale", "zero") for name in tables]
    order = ["ids", "segments", *tables, "mask", *kinds]
    order = [name if name in {**inputs, **weights} else "" for name in order]
    outputs, given = ("y", "n"), {"epsilon": 1e-5}
    operator = "QEmbedLayerNormalization"
    check_known(Case(operator, inputs, weights, order, outputs, attributes=given))


# matrices


@pytest.mark.parametrize("shape", [(1, 1), (3, 3), (2, 5, 7, 7), (2, 20, 20), (0, 3, 3)], ids=str)
def test_inverse(shape: tuple[int, ...], rng: np.random.Generator) -> None:
    x = floats(rng, *shape)
    if shape[-1] > 1:
        x[..., 0, 0] = 0  # the first pivot is in another row
    (found,) = glow.compile(Case("Inverse", {"x": x}).model()).run(None, {"x": x})
    assert found.dtype == x.dtype
    wanted = np.linalg.inv(x.astype(np.float64))
    np.testing.assert_allclose(found, wanted, rtol=0, atol=1e-4 * np.abs(wanted).max(initial=1))


@pytest.mark.parametrize(
    ("shape", "error", "message"),
    [
        ((3, 4), ModelError, "expected square matrices, found"),
        ((3,), ModelError, "expected square matrices, found"),
        ((33, 33), UnsupportedError, "matrices of more than 32 rows"),
    ],
)
def test_wrong_inverse(
    shape: tuple[int, ...], error: type[Exception], message: str, rng: np.random.Generator
) -> None:
    with pytest.raises(error, match=message):
        glow.compile(Case("Inverse", {"x": floats(rng, *shape)}).model())
