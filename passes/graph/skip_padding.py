"""
Leaves out products of convolutions that multiply padding.

Where the dilation of a filter is not small beside the image, most of its offsets read padding: of
the 3 x 3 offsets of a filter with dilation 12 on an image of 14 x 14, as DeepLab has them (Chen et
al. 2017, "Rethinking atrous convolution for semantic image segmentation"), 100 of 196 windows read
one pixel. Along each dimension, windows fall into bands: the windows of a band read the image with
the same offsets. Each combination of bands becomes a convolution of a part of the image by a part
of the filter, without padding, if a cost model says that this is faster: each takes as long as the
fastest of the algorithms that are chosen later. An offset that reads nothing but padding is left
out in any case.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby, product
from math import prod

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, f32
from xdsl.ir import SSAValue
from xdsl.passes import ModulePass

from ...glow_dialects import costs
from ...glow_dialects.costs import Filters
from ...glow_dialects.glow.constant import ConstantOp
from ...glow_dialects.glow.convolution import ConvolutionOp
from ...glow_dialects.glow.machine import machine_of
from ...glow_dialects.glow.shape import ConcatOp, SliceOp
from ...glow_dialects.operator import element_of, shape_of
from ..levels import GRAPH
from .convolution_times import Layer, least_time
from .layouts.convolutions import FEW_CHANNELS
from .rewriting import Build, erase_if_dead, has_symbols, replace_node, tensor_nodes

_LEAST_GAIN = 1.1
"""The time of the whole convolution relative to that of its parts, from which on it is split."""


@dataclass(frozen=True)
class _Band:
    """Neighbouring windows along one dimension, and the offsets at which they read the image."""

    windows: range
    offsets: range


@dataclass(frozen=True)
class _Axis:
    """The geometry of a convolution along one dimension of the image."""

    size: int
    low: int
    """The padding before the image."""
    kernel: int
    stride: int
    dilation: int
    windows: int

    def place(self, window: int, offset: int) -> int:
        """Returns the index at which a window reads; it is not in the image in padding."""
        return window * self.stride + offset * self.dilation - self.low

    def offsets(self, window: int) -> range:
        """Returns the offsets at which a window reads the image."""
        inside = [k for k in range(self.kernel) if 0 <= self.place(window, k) < self.size]
        return range(inside[0], inside[-1] + 1) if inside else range(0)

    def bands(self) -> list[_Band]:
        """Returns the windows with the same offsets together."""
        found: list[_Band] = []
        for offsets, windows in groupby(range(self.windows), self.offsets):
            first, *rest = windows
            found.append(_Band(range(first, first + len(rest) + 1), offsets))
        return found

    def whole(self) -> _Band | None:
        """Returns all windows, with the offsets that some of them need; None if none needs any."""
        found = [band.offsets for band in self.bands() if band.offsets]
        if not found:
            return None
        low, high = min(o.start for o in found), max(o.stop for o in found)
        return _Band(range(self.windows), range(low, high))

    def reach(self, band: _Band) -> tuple[int, int]:
        """Returns the first index that a band reads, and one more than the last."""
        first = self.place(band.windows.start, band.offsets.start)
        return first, self.place(band.windows.stop - 1, band.offsets.stop - 1) + 1


def _axes(node: ConvolutionOp) -> list[_Axis]:
    call = node.call
    counts = shape_of(node.result.type)[2:]
    pads = call.ints("pads")
    lists = (call.shape(0)[2:], pads[: len(pads) // 2], call.shape(1)[2:])
    steps = call.ints("strides"), call.ints("dilations")
    return [_Axis(*numbers) for numbers in zip(*lists, *steps, counts, strict=True)]


def _layer(node: ConvolutionOp, axes: Sequence[_Axis], bands: Sequence[_Band]) -> Layer:
    """Returns the sizes of the convolution of one band of each dimension."""
    images, outputs, *_ = shape_of(node.result.type)
    return Layer(
        *(images, shape_of(node.input.type)[1], outputs),
        tuple(len(band.windows) for band in bands),
        node.group.value.data,
        tuple(len(band.offsets) for band in bands),
        tuple(_dilation(axis, band) for axis, band in zip(axes, bands, strict=True)),
        tuple(axis.stride for axis in axes),
    )


def _cost(
    node: ConvolutionOp, axes: Sequence[_Axis], bands: Sequence[Sequence[_Band]], reading: Filters
) -> float:
    """
    Returns the time of the convolutions for all combinations of bands. Several read parts of the
    image, which are copied.
    """
    winograd = _may_be_winograd(node)
    layers = [_layer(node, axes, part) for part in product(*bands)]
    times = sum(least_time(layer, reading, winograd) for layer in layers)
    if len(layers) == 1:
        return times
    copied = sum(4 * layer.images * layer.inputs * prod(layer.counts) for layer in layers)
    return times + costs.copies(copied)


def _may_be_winograd(node: ConvolutionOp) -> bool:
    """Returns whether Winograd's algorithm, which is chosen later, may compute the convolution."""
    known = isinstance(node.filter.owner, ConstantOp) and element_of(node.input.type) == f32
    return known and shape_of(node.filter.type)[1] > FEW_CHANNELS


def best_bands(node: ConvolutionOp, reading: Filters) -> list[list[_Band]] | None:
    """Returns bands of each dimension that make a convolution faster; None if none do."""
    axes = _axes(node)
    whole = [axis.whole() for axis in axes]
    if None in whole:
        return None
    together = [[band] for band in whole if band is not None]
    choices: list[list[list[_Band]]] = []
    for axis, alone in zip(axes, together, strict=True):
        bands = axis.bands()
        splits = len(bands) > 1 and all(band.offsets for band in bands)
        choices.append([alone, bands] if splits else [alone])
    # the first one is that of all windows together
    options = [list(bands) for bands in product(*choices)]
    if len(options) > 1:
        times = [_cost(node, axes, bands, reading) for bands in options]
        if min(times) * _LEAST_GAIN <= times[0]:
            return options[times.index(min(times))]
    trimmed = any(len(a.offsets) < axis.kernel for axis, (a,) in zip(axes, together, strict=True))
    return together if trimmed else None


def _dilation(axis: _Axis, band: _Band) -> int:
    """Returns the dilation of a band: 1 where a single offset is left."""
    return axis.dilation if len(band.offsets) > 1 else 1


def _slice(build: Build, value: SSAValue, ranges: Sequence[range]) -> SSAValue:
    """Returns the last dimensions of a tensor within ranges; the tensor itself if that is all."""
    shape = shape_of(value.type)
    whole = [range(n) for n in shape[: len(shape) - len(ranges)]]
    taken = [*whole, *ranges]
    if [range(n) for n in shape] == taken:
        return value
    return build(SliceOp, value, starts=[r.start for r in taken], sizes=[len(r) for r in taken])


def _part(node: ConvolutionOp, build: Build, bands: Sequence[_Band]) -> SSAValue:
    """Returns the results of one band of each dimension."""
    axes = _axes(node)
    reaches = [axis.reach(band) for axis, band in zip(axes, bands, strict=True)]
    ends = list(zip(axes, reaches, strict=True))
    inside = [range(max(0, first), min(axis.size, end)) for axis, (first, end) in ends]
    low = [max(0, -first) for first, _ in reaches]
    high = [max(0, end - axis.size) for axis, (_, end) in ends]
    x = _slice(build, node.input, inside)
    filters = _slice(build, node.filter, [band.offsets for band in bands])
    dilations = [_dilation(axis, band) for axis, band in zip(axes, bands, strict=True)]
    return build.like(*(node, x, filters, node.bias), pads=[*low, *high], dilations=dilations)


def _joined(
    node: ConvolutionOp, build: Build, axes: Sequence[Sequence[_Band]], chosen: Sequence[_Band]
) -> SSAValue:
    """Returns the results of the `chosen` bands of the first dimensions, and of all other bands."""
    axis = len(chosen)
    if axis == len(axes):
        return _part(node, build, chosen)
    parts = [_joined(node, build, axes, [*chosen, band]) for band in axes[axis]]
    return parts[0] if len(parts) == 1 else build(ConcatOp, *parts, axis=2 + axis)


@dataclass(frozen=True)
class SkipPaddingPass(ModulePass):
    """Leaves out products of convolutions that multiply padding, where that pays."""

    name = "glow-skip-padding"
    level = GRAPH

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        reading = Filters(machine_of(op))
        for node in tensor_nodes(op):
            if not isinstance(node, ConvolutionOp) or has_symbols(node):
                continue
            if 0 in shape_of(node.result.type):
                continue
            if (bands := best_bands(node, reading)) is not None:
                build, filters = Build(), node.filter
                replace_node(node, build.ops, _joined(node, build, bands, []))
                erase_if_dead([filters])
