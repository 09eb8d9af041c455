"""Pools of regions of any size, and the inverse of a pool."""

from __future__ import annotations

from math import prod

import numpy as np
from xdsl.dialects.builtin import f32, i64
from xdsl.ir import SSAValue

from ....errors import ModelError
from ....glow_dialects.elements import is_float
from ....glow_dialects.glow.indexing import ScatterOp
from ....glow_dialects.glow.logic import EqualOp, SelectOp
from ..builder import element, rank, shape, size
from ..element_types import check_shape
from ..node import OnnxNode, converter
from .coordinates import Coordinates
from .indices import expect_range, whole_indices
from .windows import spatial_rank, window_lists


@converter("MaxUnpool")
def max_unpool(node: OnnxNode) -> SSAValue:
    """
    Returns elements at the places that a MaxPool took them from, zeros elsewhere. A larger
    `output_shape` has more zeros at the ends.
    """
    build, x, places = node.build, node.input(0), whole_indices(node, 1)
    n = spatial_rank(rank(x))
    if shape(places) != shape(x):
        raise ModelError(f"expected a place for each of {x.type}, found {places.type}")
    kernel, strides = window_lists(node, n, "kernel_shape", "strides")
    pads = node.ints("pads") or [0] * (2 * n)
    target = list(shape(x)[:2])
    for d, count in enumerate(shape(x)[2:]):
        target.append((count - 1) * strides[d] + kernel[d] - pads[d] - pads[n + d])
    check_shape(target, "result", build.max_elements)
    count = prod(target)
    if not size(x) or not count:
        found = build.splat(0, element(x), target)
    else:
        expect_range(node, 1, [0], [count - 1])
        rows = build.splat(0, element(x), [count, 1])
        flat = build.reshape(places, [size(x)]), build.reshape(x, [size(x), 1])
        found = build.reshape(build.op(ScatterOp, rows, *flat), target)
    wanted = node.known_ints(2)
    if wanted is None:
        return found
    if len(wanted) != len(target) or any(w < t for w, t in zip(wanted, target, strict=True)):
        raise ModelError(f"expected an output_shape of at least {target}, found {wanted}")
    for axis, (w, t) in enumerate(zip(wanted, target, strict=True)):
        if w > t:
            rest = [w - t if d == axis else s for d, s in enumerate(shape(found))]
            found = build.concat([found, build.splat(0, element(x), rest)], axis)
    return found


@converter("MaxRoiPool")
def max_roi_pool(node: OnnxNode) -> SSAValue:
    """
    Returns the largest element in each bin of a region (Girshick 2015); of an empty bin, 0.

    Channels come last, so that all of them are compared at once, along one dimension of a bin
    after the other.
    """
    build, x, rois = node.build, node.input(0), node.input(1)
    bins = node.ints("pooled_shape") or []
    if rank(x) != 4 or 0 in shape(x) or rank(rois) != 2 or shape(rois)[1] != 5 or len(bins) != 2:
        raise ModelError(
            f"expected images, regions of 5 numbers and a pooled_shape of 2, found {x.type}, "
            f"{rois.type}, {bins}"
        )
    if not is_float(element(x)) or min(bins) < 1:
        raise ModelError(f"expected images of floats and bins, found {x.type} and {bins}")
    c, count = Coordinates(build), shape(rois)[0]
    regions = build.cast(rois, f32)
    images = build.cast(build.reshape(build.slice(regions, [0, 0], [count, 1]), [count]), i64)
    scaled = c.mul(regions, float(node.attr("spatial_scale")))
    corners = c.floor(c.add(scaled, 0.5))
    found, size_of_bin = build.transpose(x, [0, 2, 3, 1]), [count, 1]
    for d, formula in enumerate((_ALONG_HEIGHT, _ALONG_WIDTH)):
        start, end = (build.slice(corners, [0, 2 - d + k], size_of_bin) for k in (0, 2))
        step = c.div(c.at_least(c.add(c.sub(end, start), 1.0), 1.0), float(bins[d]))
        places = np.arange(bins[d])[None]
        bounds = [
            build.cast(c.add(start, side(c.mul(step, c.numbers(places + k, step)))), i64)
            for k, side in ((0, c.floor), (1, c.ceil))
        ]
        operands = [found, *bounds] if d else [found, images, *bounds]
        columns = bins[1] if d else shape(x)[3]
        sizes = [count, bins[0], columns, shape(x)[1]]
        found = build.formula(formula, *operands, shape=sizes)
    found = build.transpose(found, [0, 3, 1, 2])
    least = build.splat_like(float("-inf"), found)
    empty = build.op(EqualOp, found, least)
    return build.op(SelectOp, empty, build.splat_like(0, found), found)


_ALONG_HEIGHT = """
    y[r, p, w, c] = max(h) (x[clamp(image[r], 0, size(x, 0) - 1), h, w, c]
                            if h >= start[r, p] and h < end[r, p] else -inf)
"""
_ALONG_WIDTH = """
    y[r, p, q, c] = max(w) (x[r, p, w, c] if w >= start[r, q] and w < end[r, q] else -inf)
"""
