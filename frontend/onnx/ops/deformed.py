"""Convolutions whose windows have computed places."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from math import prod

import numpy as np
from xdsl.ir import SSAValue

from ....errors import ModelError
from ....glow_dialects.glow.arithmetic import AddOp
from ....glow_dialects.glow.convolution import window_extent
from ..builder import GraphBuilder, element, rank, shape
from ..node import OnnxNode, converter
from .convolution import convolution_window
from .coordinates import Coordinates, Taps, each_image, linear_taps, sampled, wide_float
from .matrix import matrix_product


@converter("DeformConv", since=19)
def deform_conv(node: OnnxNode) -> SSAValue:
    """Multiplies interpolated elements, one for each place of each window, by the filter."""
    build, x, w = node.build, node.input(0), node.input(1)
    window = convolution_window(node, x, w)
    n, group, offsets = rank(x) - 2, window["group"], node.attr("offset_group", 1)
    batch, channels, kernel = shape(x)[0], shape(x)[1], shape(w)[2:]
    out = _places(window, shape(x)[2:], kernel)
    moves, mask = offsets * prod(kernel), node.optional(4)
    _expect_shape("offsets", node.input(2), (batch, moves * n, *out))
    if mask is not None:
        _expect_shape("a mask", mask, (batch, moves, *out))
    if channels % offsets or channels != shape(w)[1] * group or shape(w)[0] % group:
        raise ModelError(f"expected channels in {group} and {offsets} groups, found {x.type}")
    wide, images = wide_float(element(x)), batch * offsets
    taps = _taps(node, window, kernel, out, images)
    split = build.reshape(build.cast(x, wide), [images, channels // offsets, *shape(x)[2:]])
    read = sampled(build, split, each_image(build, images), taps)
    rows = shape(w)[1] * prod(kernel)
    columns = build.reshape(read, [batch, group, rows, prod(out)])
    filters = build.reshape(build.cast(w, wide), [1, group, shape(w)[0] // group, rows])
    product = matrix_product(build, filters, columns)
    result = build.reshape(build.cast(product, element(x)), [batch, shape(w)[0], *out])
    bias = node.optional(3)
    if bias is None:
        return result
    channel = build.reshape(bias, [1, shape(w)[0], *[1] * n])
    return build.elementwise(AddOp, result, channel)


def _places(window: dict, sizes: Sequence[int], kernel: Sequence[int]) -> tuple[int, ...]:
    """Returns how many windows there are along each spatial dimension."""
    n, pads = len(kernel), window["pads"]
    facts = zip(
        sizes, pads[:n], pads[n:], kernel, window["strides"], window["dilations"], strict=True
    )
    return tuple(itertools.starmap(window_extent, facts))


def _expect_shape(what: str, found: SSAValue, wanted: tuple[int, ...]) -> None:
    if shape(found) != wanted:
        raise ModelError(f"expected {what} of shape {wanted}, found {found.type}")


def _taps(
    node: OnnxNode, window: dict, kernel: Sequence[int], out: Sequence[int], images: int
) -> list[Taps]:
    """
    Returns the elements that each place of each window reads, [images, kernel and windows, taps].
    """
    build, x, n = node.build, node.input(0), len(kernel)
    c, wide = Coordinates(build), wide_float(element(x))
    points = prod(kernel) * prod(out)
    moved = build.cast(node.input(2), wide)
    moved = build.reshape(moved, [images, prod(kernel), n, prod(out)])
    taps = []
    for d, size in enumerate(shape(x)[2:]):
        offset = build.slice(moved, [0, 0, d, 0], [images, prod(kernel), 1, prod(out)])
        offset = build.reshape(offset, [images, points, 1])
        regular = _regular(window, kernel, out, d).reshape(1, points, 1)
        taps.append(linear_taps(build, c.add(offset, c.numbers(regular, offset)), size))
    return [_masked(build, node.optional(4), taps[0], images, points), *taps[1:]]


def _masked(
    build: GraphBuilder, mask: SSAValue | None, tap: Taps, images: int, points: int
) -> Taps:
    """Returns a tap whose weights are multiplied by a mask, if there is one."""
    if mask is None:
        return tap
    wide = build.cast(mask, element(tap.weights))
    factors = build.reshape(wide, [images, points, 1])
    return Taps(tap.places, Coordinates(build).mul(tap.weights, factors))


def _regular(window: dict, kernel: Sequence[int], out: Sequence[int], d: int) -> np.ndarray:
    """Returns the coordinates along `d` of all places [kernel, windows] if no offset moves them."""
    n = len(kernel)
    inside = np.arange(kernel[d]) * window["dilations"][d]
    first = np.arange(out[d]) * window["strides"][d] - window["pads"][d]
    found = np.zeros([*kernel, *out])
    found += np.expand_dims(inside, [a for a in range(2 * n) if a != d])
    found += np.expand_dims(first, [a for a in range(2 * n) if a != n + d])
    return found
