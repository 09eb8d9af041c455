"""Pools of regions of images."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from xdsl.dialects.builtin import i32
from xdsl.ir import SSAValue

from ....errors import ModelError
from ....glow_dialects.glow.logic import AndOp
from ....glow_dialects.glow.shape import GatherOp
from ..builder import GraphBuilder, element, rank, shape
from ..node import CONTRIB, OnnxNode, converter
from ..problems import Unsupported
from .coordinates import Coordinates, Taps, linear_taps, sampled, wide_float
from .indices import expect_range


@converter("RoiAlign", since=10)
def roi_align(node: OnnxNode) -> SSAValue:
    """
    Returns the mean, or the largest product with a weight, of interpolated points in each bin of a
    region.

    Without `sampling_ratio`, the size of a region says how many points its bins have, so regions
    are constant, and those with equal numbers are computed together.
    """
    x, rois, images = node.input(0), node.input(1), node.input(2)
    if rank(x) != 4 or rank(rois) != 2 or shape(rois)[1] != 4 or 0 in shape(x):
        raise ModelError(f"expected images and regions of 4 numbers, found {x.type}, {rois.type}")
    if shape(images) != shape(rois)[:1]:
        raise ModelError(f"expected an image for each region, found {images.type}")
    if node.attr("mode") not in ("avg", "max"):
        raise Unsupported(f"mode={node.attr('mode')!r}")
    ratio = node.attr("sampling_ratio", 0)
    if ratio > 0:
        return _aligned(node, rois, images, (ratio, ratio))
    groups = _groups(node)
    if len(groups) == 1:
        return _aligned(node, rois, images, next(iter(groups)))
    build, parts = node.build, []
    for counts, rows in groups.items():
        chosen = build.constant(np.array(rows, np.int32))
        part = [build.op(GatherOp, v, chosen, axis=0) for v in (rois, images)]
        parts.append(_aligned(node, part[0], part[1], counts))
    order = np.argsort([row for rows in groups.values() for row in rows]).astype(np.int32)
    return build.op(GatherOp, build.concat(parts, 0), build.constant(order), axis=0)


def _bins(node: OnnxNode) -> tuple[int, int]:
    return node.attr("output_height", 1), node.attr("output_width", 1)


def _is_half_pixel(node: OnnxNode) -> bool:
    return node.attr("coordinate_transformation_mode", "output_half_pixel") == "half_pixel"


def _groups(node: OnnxNode) -> dict[tuple[int, int], list[int]]:
    """Regions by how many points their bins have along both dimensions."""
    rois = node.known(1)
    assert rois is not None
    extents = (rois[:, 2:].astype(np.float32) - rois[:, :2]) * np.float32(
        node.attr("spatial_scale", 1.0)
    )
    if not _is_half_pixel(node):
        extents = np.maximum(extents, 1)
    found: dict[tuple[int, int], list[int]] = {}
    for row, (width, height) in enumerate(np.nan_to_num(extents)):
        h, w = (int(np.ceil(e / n)) for e, n in zip((height, width), _bins(node), strict=True))
        found.setdefault((max(0, h), max(0, w)), []).append(row)
    return found or {(1, 1): []}


def _aligned(node: OnnxNode, rois: SSAValue, images: SSAValue, counts: tuple[int, int]) -> SSAValue:
    """Regions whose bins have as many points as `counts` says along both dimensions."""
    build, x, bins = node.build, node.input(0), _bins(node)
    regions, target = shape(rois)[0], [shape(rois)[0], shape(x)[1], *bins]
    if 0 in counts:
        return build.splat(0, element(x), target)
    wide = wide_float(element(x))
    c, half, largest = Coordinates(build), _is_half_pixel(node), node.attr("mode") == "max"
    scaled = c.mul(build.cast(rois, wide), node.attr("spatial_scale", 1.0))
    corners = c.add(scaled, -0.5 if half else 0.0)
    taps = []
    for d in range(2):
        start, end = (build.slice(corners, [0, 1 - d + k], [regions, 1]) for k in (0, 2))
        extent = c.sub(end, start)
        extent = extent if half else c.at_least(extent, 1.0)
        points = bins[d] * counts[d]
        steps = c.numbers((np.arange(points) + 0.5) / points, extent)
        place = c.add(c.mul(extent, build.reshape(steps, [1, points])), start)
        taps.append(_bin_taps(build, place, shape(x)[2 + d], bins, d, counts[d], largest))
    found = sampled(build, build.cast(x, wide), build.cast(images, i32), taps, largest)
    return build.cast(build.reshape(found, target), element(x))


def _bin_taps(
    build: GraphBuilder,
    x: SSAValue,
    size: int,
    bins: Sequence[int],
    d: int,
    count: int,
    largest: bool,
) -> Taps:
    """
    Returns the elements that each bin reads along dimension `d`, for points at `x` [R, P], `count`
    in each bin.
    """
    c, regions = Coordinates(build), shape(x)[0]
    points = build.reshape(x, [regions, bins[d] * count, 1])
    counts = c.inside(points, -1.0, float(size))
    taps = linear_taps(build, c.clamped(points, 0.0, size - 1.0), size)
    weights = c.chosen(counts, build.broadcast(taps.weights, shape(taps.places)), 0.0)
    if not largest:
        weights = c.mul(weights, 1 / count)
    own = [regions, bins[0] if d == 0 else 1, bins[1] if d == 1 else 1, 2 * count]
    spread = [regions, *bins, 2 * count]
    joined = [regions, bins[0] * bins[1], 2 * count]
    values = [build.broadcast(build.reshape(v, own), spread) for v in (taps.places, weights)]
    return Taps(*(build.reshape(v, joined) for v in values))


@converter("CropAndResize", domain=CONTRIB)
def crop_and_resize(node: OnnxNode) -> SSAValue:
    """
    Converts the parts of images in boxes, each with the same number of points from edge to edge.
    What lies outside of an image has a value of its own.
    """
    build, x, boxes, images = node.build, node.input(0), node.input(1), node.input(2)
    counts, mode = node.known_ints(3), node.attr("mode", "bilinear")
    if rank(x) != 4 or rank(boxes) != 2 or shape(boxes)[1] != 4 or 0 in shape(x):
        raise ModelError(f"expected images and boxes of 4 numbers, found {x.type}, {boxes.type}")
    if counts is None or len(counts) != 2 or min(counts) < 1:
        raise ModelError(f"expected 2 sizes from 1 in crop_size, found {counts}")
    if mode not in ("bilinear", "nearest"):
        raise Unsupported(f"mode={mode!r}")
    expect_range(node, 2, [0], [shape(x)[0] - 1])
    c, regions, taps, inside = Coordinates(build), shape(boxes)[0], [], []
    for d, (size, count) in enumerate(zip(shape(x)[2:], counts, strict=True)):
        points = _from_edge_to_edge(build, boxes, d, size, count)
        own = [regions, count, 1] if d == 0 else [regions, 1, count]
        points = build.broadcast(build.reshape(points, own), [regions, *counts])
        points = build.reshape(points, [regions, counts[0] * counts[1], 1])
        inside.append(c.inside(points, 0.0, size - 1.0))
        if mode == "nearest":
            places = c.clamped(c.floor(c.add(points, 0.5)), 0.0, size - 1.0)
            taps.append(Taps(places, build.splat_like(1.0, places)))
        else:
            taps.append(linear_taps(build, points, size))
    found = sampled(build, x, build.cast(images, i32), taps)
    counted = build.reshape(build.op(AndOp, *inside), [regions, 1, shape(found)[2]])
    outside = build.splat_like(node.attr("extrapolation_value", 0.0), found)
    found = c.chosen(build.broadcast(counted, shape(found)), found, outside)
    return build.reshape(found, [regions, shape(x)[1], *counts])


def _from_edge_to_edge(
    build: GraphBuilder, boxes: SSAValue, d: int, size: int, count: int
) -> SSAValue:
    """
    Returns the coordinates [R, count] along dimension `d` of points of boxes, whose edges are 0 to
    1 from edge to edge of an image; a single point is in the middle.
    """
    c = Coordinates(build)
    start, end = (build.slice(boxes, [0, d + k], [shape(boxes)[0], 1]) for k in (0, 2))
    start, end = (c.mul(edge, size - 1.0) for edge in (start, end))
    if count == 1:
        return c.mul(c.add(start, end), 0.5)
    step = c.mul(c.sub(end, start), 1 / (count - 1))
    steps = c.numbers(np.arange(count), step)
    return c.add(c.mul(step, build.reshape(steps, [1, count])), start)
