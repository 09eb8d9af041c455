"""Operators that change the sizes of images."""

from __future__ import annotations

from collections.abc import Sequence
from math import floor

import numpy as np
from xdsl.ir import SSAValue

from ....errors import ModelError
from ....wording import counted
from ..builder import rank, shape
from ..node import OnnxNode, converter, normal_axis
from ..problems import Unsupported
from .interpolation import ROUNDINGS, Interpolation, Resized, resized

_POLICIES = {"not_larger": min, "not_smaller": max}


@converter("Upsample")
def upsample(node: OnnxNode) -> SSAValue:
    """Converts an Upsample, whose scales are an attribute, and an input since opset 9."""
    x = node.input(0)
    if node.has("height_scale"):
        scales = [1.0, 1.0, node.attr("height_scale"), node.attr("width_scale")]
    elif node.has("scales"):
        scales = [float(s) for s in node.attr("scales")]
    else:
        scales = _floats(node, 1)
    mode = node.attr("mode").replace("bilinear", "linear")
    return _by_scales(node, x, scales, list(range(rank(x))), Interpolation(mode, "asymmetric"))


@converter("Resize", since=10)
def resize_by_scales(node: OnnxNode) -> SSAValue:
    x = node.input(0)
    how = Interpolation(node.attr("mode"), "asymmetric")
    return _by_scales(node, x, _floats(node, 1), list(range(rank(x))), how)


@converter("Resize", since=11)
def resize(node: OnnxNode) -> SSAValue:
    """
    Converts a Resize: either scales or sizes are given, for all dimensions or for those of `axes`.
    """
    x, given = node.input(0), node.ints("axes")
    axes = list(range(rank(x))) if given is None else [normal_axis(a, rank(x)) for a in given]
    if len(set(axes)) != len(axes):
        raise ModelError(f"expected different axes, found {given}")
    how = Interpolation(
        node.attr("mode"),
        node.attr("coordinate_transformation_mode"),
        node.attr("nearest_mode"),
        node.attr("cubic_coeff_a"),
        bool(node.attr("exclude_outside", 0)),
        bool(node.attr("antialias", 0)),
    )
    sizes = node.known_ints(3)
    if not sizes:
        return _by_scales(node, x, _floats(node, 2), axes, how)
    _expect_each(sizes, axes, "size")
    old = [shape(x)[a] for a in axes]
    if 0 in old:
        raise ModelError(f"expected an input with elements, found {x.type}")
    scales = [_scale(new, size) for new, size in zip(sizes, old, strict=True)]
    policy = node.attr("keep_aspect_ratio_policy", "stretch")
    if policy != "stretch":
        if policy not in _POLICIES:
            raise Unsupported(f"keep_aspect_ratio_policy={policy!r}")
        scale = _POLICIES[policy](scales)
        scales = [scale] * len(axes)
        sizes = [floor(float(scale) * size + 0.5) for size in old]
    return _resized(node, x, axes, sizes, scales, how)


def _scale(new: int, old: int) -> np.float32:
    return np.float32(1) if new == old else np.float32(new) / np.float32(old)


def _floats(node: OnnxNode, index: int) -> list[float]:
    array = node.known(index)
    if array is None or not array.size:
        raise ModelError(f"expected numbers in input {node.input_name(index)!r}, found none")
    return [float(v) for v in array.reshape(-1)]


def _expect_each(values: Sequence[float], axes: Sequence[int], what: str) -> None:
    if len(values) != len(axes) or any(v <= 0 for v in values):
        raise ModelError(f"expected {counted(len(axes), what)} above 0, found {list(values)}")


def _by_scales(
    node: OnnxNode, x: SSAValue, scales: Sequence[float], axes: Sequence[int], how: Interpolation
) -> SSAValue:
    _expect_each(scales, axes, "scale")
    narrow = [np.float32(s) for s in scales]
    sizes = [floor(np.float32(shape(x)[a]) * s) for a, s in zip(axes, narrow, strict=True)]
    return _resized(node, x, axes, sizes, narrow, how)


def _resized(
    node: OnnxNode,
    x: SSAValue,
    axes: Sequence[int],
    sizes: Sequence[int],
    scales: Sequence[np.float32],
    how: Interpolation,
) -> SSAValue:
    if how.mode not in ("nearest", "linear", "cubic"):
        raise Unsupported(f"mode={how.mode!r}")
    if how.rounding not in ROUNDINGS:
        raise Unsupported(f"nearest_mode={how.rounding!r}")
    crops = how.transform == "tf_crop_and_resize"
    starts, ends = _region(node, len(axes)) if crops else ([0.0] * len(axes), [1.0] * len(axes))
    dims = {
        a: Resized(shape(x)[a], size, scale, start, end)
        for a, size, scale, start, end in zip(axes, sizes, scales, starts, ends, strict=True)
    }
    beyond = float(node.attr("extrapolation_value", 0.0)) if crops else None
    return resized(node.build, x, dims, how, beyond)


def _region(node: OnnxNode, n: int) -> tuple[list[float], list[float]]:
    """Returns the start and end of the part of the input that is resized, along each dimension."""
    region = _floats(node, 1)
    if len(region) != 2 * n:
        raise ModelError(f"expected {counted(2 * n, 'number')} in roi, found {region}")
    return region[:n], region[n:]
