"""
Interpolation at computed points: arithmetic on coordinates, and what points read.

Coordinates, places and weights are elementwise nodes; `glow.sample` reads the elements.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

import numpy as np
from xdsl.dialects.builtin import f32, f64, i32
from xdsl.ir import Attribute, SSAValue

from ....glow_dialects.glow.arithmetic import (
    AbsOp,
    AddOp,
    CeilOp,
    DivOp,
    FloorOp,
    MaximumOp,
    MinimumOp,
    MulOp,
    RoundEvenOp,
    SubOp,
)
from ....glow_dialects.glow.base import Node
from ....glow_dialects.glow.logic import AndOp, LessEqualOp, SelectOp
from ....glow_dialects.glow.resampling import SampleOp
from ..builder import GraphBuilder, element, shape

_KEYS = -0.75
"""The parameter of the cubic kernel, which ONNX fixes for sampling."""
_FAR = 2.0**20
"""Coordinates beyond are moved there before they are reflected."""


def wide_float(*elements: Attribute) -> Attribute:
    """Returns the type in which coordinates compute: f64 if one of the elements is, else f32."""
    return f64 if f64 in elements else f32


class Coordinates:
    """Arithmetic on coordinates, which broadcast."""

    def __init__(self, build: GraphBuilder):
        self._build = build

    def _value(self, v: SSAValue | float, like: SSAValue) -> SSAValue:
        return v if isinstance(v, SSAValue) else self._build.splat(v, element(like), [])

    def _both(self, operator: type[Node], a: SSAValue, b: SSAValue | float) -> SSAValue:
        return self._build.elementwise(operator, a, self._value(b, a))

    def add(self, a: SSAValue, b: SSAValue | float) -> SSAValue:
        return self._both(AddOp, a, b)

    def sub(self, a: SSAValue, b: SSAValue | float) -> SSAValue:
        return self._both(SubOp, a, b)

    def mul(self, a: SSAValue, b: SSAValue | float) -> SSAValue:
        return self._both(MulOp, a, b)

    def div(self, a: SSAValue, b: SSAValue | float) -> SSAValue:
        return self._both(DivOp, a, b)

    def abs(self, x: SSAValue) -> SSAValue:
        return self._build.op(AbsOp, x)

    def floor(self, x: SSAValue) -> SSAValue:
        return self._build.op(FloorOp, x)

    def ceil(self, x: SSAValue) -> SSAValue:
        return self._build.op(CeilOp, x)

    def round(self, x: SSAValue) -> SSAValue:
        return self._build.op(RoundEvenOp, x)

    def at_least(self, x: SSAValue, low: float) -> SSAValue:
        return self._both(MaximumOp, x, low)

    def inside(self, x: SSAValue, low: float, high: float) -> SSAValue:
        """Returns whether `low <= x <= high`, which a NaN is not."""
        least, most = self._value(low, x), self._value(high, x)
        above = self._build.elementwise(LessEqualOp, least, x)
        return self._build.op(AndOp, above, self._build.elementwise(LessEqualOp, x, most))

    def chosen(self, condition: SSAValue, then: SSAValue, otherwise: SSAValue | float) -> SSAValue:
        return self._build.elementwise(SelectOp, condition, then, self._value(otherwise, then))

    def clamped(self, x: SSAValue, low: float, high: float) -> SSAValue:
        """
        Returns `x` from `low` to `high`; a NaN becomes `low`, and so a place within the image.
        """
        above = self._build.elementwise(LessEqualOp, self._value(low, x), x)
        return self._both(MinimumOp, self.chosen(above, x, low), high)

    def reflected(self, x: SSAValue, low: float, high: float) -> SSAValue:
        """Returns `x` reflected at both ends until it lies between them."""
        width = high - low
        if width <= 0:
            return self._build.splat_like(low, x)
        distance = self.abs(self.sub(self.clamped(x, -_FAR, _FAR), low))
        periods = self.floor(self.div(distance, 2 * width))
        # there and back again: from 0 to twice the width
        rest = self.sub(distance, self.mul(periods, 2 * width))
        return self.add(self.mul(self.abs(self.sub(rest, width)), -1.0), high)

    def numbers(self, values: Sequence[float] | np.ndarray, like: SSAValue) -> SSAValue:
        dtype = np.float64 if element(like) == f64 else np.float32
        return self._build.constant(np.array(values, dtype))


@dataclass(frozen=True)
class Taps:
    """Elements that points read along one dimension: [R, P, T]."""

    places: SSAValue
    """Within the image, as whole numbers in the type of coordinates."""
    weights: SSAValue


def linear_taps(build: GraphBuilder, x: SSAValue, size: int) -> Taps:
    """
    Returns the neighbours of coordinates `x` [R, P, 1]; what is outside the image counts as 0.
    """
    c = Coordinates(build)
    x = c.clamped(x, -4.0, size + 4.0)
    places = c.add(c.floor(x), c.numbers([0, 1], x))
    weights = c.add(c.mul(c.abs(c.sub(x, places)), -1.0), 1.0)
    weights = c.chosen(c.inside(places, 0.0, size - 1.0), weights, 0.0)
    return Taps(c.clamped(places, 0.0, size - 1.0), weights)


def cubic_weights(build: GraphBuilder, d: SSAValue) -> SSAValue:
    """Returns the convolution kernel of Keys 1981 for distances up to 2."""
    c, a = Coordinates(build), _KEYS
    near = c.add(c.mul(c.mul(c.add(c.mul(d, a + 2), -(a + 3)), d), d), 1.0)
    far = c.add(c.mul(c.add(c.mul(c.add(c.mul(d, a), -5 * a), d), 8 * a), d), -4 * a)
    return c.chosen(c.inside(d, 0.0, 1.0), near, far)


def sampled(
    build: GraphBuilder,
    x: SSAValue,
    images: SSAValue,
    taps: Sequence[Taps],
    largest: bool = False,
) -> SSAValue:
    """
    Images `x` [N, C, D1, ...] at points that read all combinations of their taps along the spatial
    dimensions: [R, C, P]. Point p of result r is in image `images[r]`.
    """
    sizes = shape(x)[2:]
    places, weights = build.cast(taps[0].places, i32), taps[0].weights
    for tap, size in zip(taps[1:], sizes[1:], strict=True):
        rows = build.with_number(MulOp, places, size)
        places = _combined(build, AddOp, rows, build.cast(tap.places, i32))
        weights = _combined(build, MulOp, weights, tap.weights)
    flat = build.reshape(x, [*shape(x)[:2], prod(sizes)])
    return build.op(SampleOp, flat, images, places, weights, largest=largest)


def _combined(build: GraphBuilder, operator: type[Node], a: SSAValue, b: SSAValue) -> SSAValue:
    """Returns `operator` of each tap in `a` with each in `b`."""
    (r, p, first), (_, _, second) = shape(a), shape(b)
    left, right = build.reshape(a, [r, p, first, 1]), build.reshape(b, [r, p, 1, second])
    return build.reshape(build.elementwise(operator, left, right), [r, p, first * second])


def each_image(build: GraphBuilder, count: int) -> SSAValue:
    return build.constant(np.arange(count, dtype=np.int32))
