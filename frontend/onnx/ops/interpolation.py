"""
Interpolation along dimensions of images.

An interpolation is one pass along each dimension whose size changes. Where each element comes from,
and with which weights, is computed here in f32, as onnxruntime does.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import floor

import numpy as np
from xdsl.dialects.builtin import f32, f64
from xdsl.ir import SSAValue

from ....glow_dialects.glow.logic import SelectOp
from ....glow_dialects.glow.resampling import ResampleOp
from ....glow_dialects.glow.shape import GatherOp
from ..builder import GraphBuilder, element, rank, shape
from ..problems import Unsupported

ROUNDINGS = {
    "round_prefer_floor": lambda x: np.ceil(x - 0.5),
    "round_prefer_ceil": lambda x: np.floor(x + 0.5),
    "floor": np.floor,
    "ceil": np.ceil,
}
_HALF = np.float32(0.5)


@dataclass(frozen=True)
class Interpolation:
    """The rule by which elements between those of the input are computed."""

    mode: str
    """`nearest`, `linear` or `cubic`"""
    transform: str
    """Which coordinate of the input an element of the result has."""
    rounding: str = "floor"
    """Of coordinates, for `nearest`."""
    cubic: float = -0.75
    exclude_outside: bool = False
    antialias: bool = False


@dataclass(frozen=True)
class Resized:
    """One dimension."""

    size: int
    target: int
    scale: np.float32
    start: float = 0.0
    end: float = 1.0
    """The part of the input that `tf_crop_and_resize` takes, from 0 to 1."""

    def coordinates(self, transform: str) -> np.ndarray:
        """Returns the coordinate in the input of each element of the result, as f32."""
        x = np.arange(self.target, dtype=np.float32)
        scale, size = self.scale, np.float32(self.size)
        # ONNX's tests, unlike its text, take the length before it is rounded
        length = scale * size
        match transform:
            case "half_pixel":
                return (x + _HALF) / scale - _HALF
            case "half_pixel_symmetric":
                offset = size / 2 * (1 - np.float32(self.target) / length)
                return offset + (x + _HALF) / scale - _HALF
            case "pytorch_half_pixel":
                return (x + _HALF) / scale - _HALF if self.target > 1 else x
            case "align_corners":
                return x * (size - 1) / (length - 1) if self.target > 1 else x
            case "asymmetric":
                return x / scale
            case "tf_half_pixel_for_nn":
                return (x + _HALF) / scale
            case "tf_crop_and_resize":
                last, start, end = size - 1, np.float32(self.start), np.float32(self.end)
                if self.target == 1:
                    return x + _HALF * (start + end) * last
                return start * last + x * (end - start) * last / (length - 1)
        raise Unsupported(f"coordinate_transformation_mode={transform!r}")


def taps(dim: Resized, how: Interpolation) -> tuple[np.ndarray, np.ndarray]:
    """
    Returns, for each element of the result, the places [J, T] of the elements of the input that it
    is made of, and their weights [J, T] as f64.
    """
    x = dim.coordinates(how.transform).astype(np.float64)
    if how.mode == "nearest":
        places = ROUNDINGS[how.rounding](x)[:, None]
        return _clamped(places, dim.size), np.ones(places.shape)
    stretch = min(float(dim.scale), 1.0) if how.antialias else 1.0
    reach = 1 if how.mode == "linear" else 2
    first = floor(-reach / stretch) + 1
    left = np.ceil(x) - 1
    places = left[:, None] + np.arange(first, 2 - first)
    distances = np.abs(places - x[:, None]) * stretch
    weights = _linear(distances) if how.mode == "linear" else _cubic(distances, how.cubic)
    if how.exclude_outside:
        weights[(places < 0) | (places >= dim.size)] = 0
    total = weights.sum(1, keepdims=True)
    return _clamped(places, dim.size), weights / np.where(total == 0, 1, total)


def _clamped(places: np.ndarray, size: int) -> np.ndarray:
    return np.clip(places, 0, size - 1).astype(np.int32)


def _linear(distance: np.ndarray) -> np.ndarray:
    return np.clip(1 - distance, 0, None)


def _cubic(d: np.ndarray, a: float) -> np.ndarray:
    """Returns the convolution kernel of Keys 1981."""
    near = ((a + 2) * d - (a + 3)) * d * d + 1
    far = ((a * d - 5 * a) * d + 8 * a) * d - 4 * a
    return np.where(d <= 1, near, np.where(d < 2, far, 0.0))


def resized(
    build: GraphBuilder,
    x: SSAValue,
    dims: dict[int, Resized],
    how: Interpolation,
    beyond: float | None = None,
) -> SSAValue:
    """
    Returns `x` with other sizes along some dimensions. `beyond` is the value of elements whose
    coordinate is outside the input; without it, they are those at the border.
    """
    source = element(x)
    outside = _outside(dims, rank(x), how.transform) if beyond is not None else None
    if how.mode != "nearest" and source != f64:
        x = build.cast(x, f32)
    times: dict[int, int] = {}
    for axis in sorted(dims, key=lambda d: _order(d, dims[d])):
        places, weights = _reduced(*taps(dims[axis], how))
        if (found := _times(dims[axis], places, weights)) is not None:
            times[axis] = found
        else:
            x = _along(build, x, axis, places, weights)
    x = _repeated(build, x, times)
    if outside is not None and outside.any():
        mask = build.broadcast(build.constant(outside), shape(x))
        x = build.op(SelectOp, mask, build.splat_like(beyond or 0.0, x), x)
    return build.cast(x, source)


def _order(axis: int, dim: Resized) -> tuple[float, int]:
    """
    Returns the place of a dimension in the order of all: what makes the value smaller comes first,
    and the dimension along which elements lie together comes where the value is smallest.
    """
    ratio = dim.target / dim.size
    return ratio, axis if ratio < 1 else -axis


def _outside(dims: dict[int, Resized], n: int, transform: str) -> np.ndarray:
    """
    Returns whether each element of the result lies outside, with size 1 where dimensions stay.
    """
    found = np.zeros([1] * n, np.bool_)
    for axis, dim in dims.items():
        x = dim.coordinates(transform)
        found = found | np.expand_dims(
            (x < 0) | (x > dim.size - 1), [d for d in range(n) if d != axis]
        )
    return found


def _reduced(places: np.ndarray, weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Returns the same, without taps of weight 0 as far as each element has some."""
    order = np.argsort(weights == 0, axis=1, kind="stable")
    kept = max(1, int((weights != 0).sum(1).max(initial=0)))
    first = order[:, :kept]
    return np.take_along_axis(places, first, 1), np.take_along_axis(weights, first, 1)


def _times(dim: Resized, places: np.ndarray, weights: np.ndarray) -> int | None:
    """Returns how many times in a row each element is taken; None if that is not so."""
    times, rest = divmod(dim.target, dim.size)
    expected = np.arange(dim.target) // max(1, times)
    plain = places.shape[1] == 1 and not rest and (weights == 1).all()
    return times if plain and times and np.array_equal(places[:, 0], expected) else None


def _along(
    build: GraphBuilder, x: SSAValue, axis: int, places: np.ndarray, weights: np.ndarray
) -> SSAValue:
    if places.shape[1] == 1 and (weights == 1).all():
        return build.op(GatherOp, x, build.constant(places[:, 0]), axis=axis)
    rounded = weights.astype(np.float64 if element(x) == f64 else np.float32)
    return build.op(ResampleOp, x, build.constant(places), build.constant(rounded), axis=axis)


def _repeated(build: GraphBuilder, x: SSAValue, times: dict[int, int]) -> SSAValue:
    """Returns the elements along each dimension several times, all dimensions at once."""
    single, spread, joined = [], [], []
    for axis, size in enumerate(shape(x)):
        count = times.get(axis, 1)
        single += [size, 1] if count > 1 else [size]
        spread += [size, count] if count > 1 else [size]
        joined.append(size * count)
    return build.reshape(build.broadcast(build.reshape(x, single), spread), joined)
