"""Images at the points of a grid."""

from __future__ import annotations

from math import prod

import numpy as np
from xdsl.dialects.builtin import f64
from xdsl.ir import SSAValue

from ....errors import ModelError
from ....wording import counted
from ..builder import GraphBuilder, element, rank, shape
from ..node import OnnxNode, converter
from ..problems import Unsupported
from .coordinates import Coordinates, Taps, cubic_weights, each_image, sampled, wide_float
from .matrix import matrix_product
from .windows import spatial_rank

_OFFSETS = {"nearest": (0,), "linear": (0, 1), "cubic": (-1, 0, 1, 2)}
"""The elements that each mode reads, counted from the one at the left of a point."""


@converter("GridSample")
def grid_sample(node: OnnxNode) -> SSAValue:
    build, x, grid = node.build, node.input(0), node.input(1)
    n = spatial_rank(rank(x))
    if rank(grid) != rank(x) or shape(grid)[-1] != n or shape(grid)[0] != shape(x)[0]:
        raise ModelError(
            f"expected a grid with {counted(n, 'coordinate')} for each point of "
            f"{counted(shape(x)[0], 'image')}, found {grid.type}"
        )
    if 0 in shape(x):
        raise ModelError(f"expected images with elements, found {x.type}")
    mode = {"bilinear": "linear", "bicubic": "cubic"}.get(node.attr("mode"), node.attr("mode"))
    padding, corners = node.attr("padding_mode", "zeros"), bool(node.attr("align_corners", 0))
    if mode not in _OFFSETS:
        raise Unsupported(f"mode={mode!r}")
    if padding not in ("zeros", "border", "reflection"):
        raise Unsupported(f"padding_mode={padding!r}")
    source, images, out = element(x), shape(x)[0], shape(grid)[1:-1]
    wide = wide_float(source, element(grid))
    points = build.reshape(build.cast(grid, wide), [images, prod(out), n])
    taps = []
    for d, size in enumerate(shape(x)[2:]):
        # the last coordinate of a point is that of the first dimension
        column = build.slice(points, [0, 0, n - 1 - d], [images, prod(out), 1])
        taps.append(_taps(build, column, size, mode, padding, corners))
    found = sampled(build, build.cast(x, wide), each_image(build, images), taps)
    return build.reshape(build.cast(found, source), [*shape(x)[:2], *out])


def _taps(
    build: GraphBuilder, x: SSAValue, size: int, mode: str, padding: str, corners: bool
) -> Taps:
    """
    Returns the elements that points with normalized coordinates `x` [R, P, 1] read along a
    dimension.
    """
    c, last = Coordinates(build), size - 1.0
    low, high = (0.0, last) if corners else (-0.5, last + 0.5)
    x = c.add(c.mul(c.add(x, 1.0), (high - low) / 2), low)
    if mode == "nearest":
        x = c.round(x)
    if padding == "border" and mode != "cubic":
        x = c.clamped(x, 0.0, last)
    elif padding == "reflection":
        x = c.reflected(x, low, high)
    # nothing is read beyond these ends
    x = c.clamped(x, -4.0, size + 4.0)
    places = c.add(c.floor(x), c.numbers(_OFFSETS[mode], x))
    distance = c.abs(c.sub(x, places))
    if mode == "nearest":
        weights = build.splat_like(1.0, places)
    elif mode == "linear":
        weights = c.add(c.mul(distance, -1.0), 1.0)
    else:
        weights = cubic_weights(build, distance)
    if padding == "reflection":
        places = c.floor(c.reflected(places, low, high))
    elif padding == "zeros":
        weights = c.chosen(c.inside(places, 0.0, last), weights, 0.0)
    return Taps(c.clamped(places, 0.0, last), weights)


@converter("AffineGrid")
def affine_grid(node: OnnxNode) -> SSAValue:
    """Returns the points of a regular grid, transformed: a product with a constant."""
    build, theta = node.build, node.input(0)
    size = node.known_ints(1) or []
    n = len(size) - 2
    if n not in (2, 3) or shape(theta) != (size[0], n, n + 1):
        raise ModelError(f"expected transforms for images of shape {size}, found {theta.type}")
    axes = [_regular(d, bool(node.attr("align_corners", 0))) for d in size[2:]]
    grids = np.meshgrid(*axes, indexing="ij")
    ones = np.ones(prod(size[2:]))
    points = np.stack([*(g.reshape(-1) for g in reversed(grids)), ones], axis=1)
    wide = wide_float(element(theta))
    regular = build.constant(points.astype(np.float64 if wide == f64 else np.float32))
    columns = build.transpose(build.cast(theta, wide), [0, 2, 1])
    moved = matrix_product(build, regular, columns)
    return build.cast(build.reshape(moved, [size[0], *size[2:], n]), element(theta))


def _regular(count: int, corners: bool) -> np.ndarray:
    """Returns normalized coordinates of `count` elements."""
    if corners:
        return np.linspace(-1, 1, count) if count > 1 else np.array([-1.0])
    return (np.arange(count) * 2 + 1) / count - 1
