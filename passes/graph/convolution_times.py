"""Estimated times of a convolution by definition and by Winograd's algorithm."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

from ...glow_dialects import costs
from ...glow_dialects.costs import Filters
from ...glow_dialects.glow_cpu.winograd import (
    KERNEL,
    MOST_AXES,
    PARTS,
    TILES,
    Axis,
    axes_of,
    is_3x3,
    kernel_parts,
    tile_elements,
)


@dataclass(frozen=True)
class Layer:
    """The sizes of a convolution."""

    images: int
    inputs: int
    outputs: int
    counts: tuple[int, ...]
    """The spatial sizes of the result."""
    group: int = 1
    kernel: tuple[int, ...] = (KERNEL, KERNEL)
    dilations: tuple[int, ...] = (1, 1)
    strides: tuple[int, ...] = (1, 1)

    def axes(self, tile: int) -> Sequence[Axis]:
        """Returns how Winograd convolution with tiles of a size cuts each dimension."""
        return axes_of(tile, self.kernel, self.strides)

    @property
    def weights(self) -> int:
        """The elements of the filter."""
        return self.inputs * self.outputs // self.group * prod(self.kernel)

    @property
    def has_winograd(self) -> bool:
        """Whether there is a Winograd convolution of such a window."""
        return (
            len(self.kernel) <= MOST_AXES
            and all(1 in pair for pair in zip(self.strides, self.dilations, strict=True))
            and any(axis.tile > 1 for tile in TILES for axis in self.axes(tile))
        )


def direct_cost(layer: Layer, filters: Filters) -> float:
    """Returns the time of direct convolution, in floating-point operations at full speed."""
    return costs.direct_convolution(layer.images, layer.weights, prod(layer.counts), filters)


@dataclass(frozen=True)
class Winograd:
    """A way to compute a Winograd convolution."""

    tile: int
    """Rows and columns of outputs of a tile."""
    parts: bool = False
    """Whether products are those of parts in bf16."""


def winograd_cost(layer: Layer, way: Winograd, filters: Filters) -> float:
    """Returns the time of Winograd convolution, in the unit of `direct_cost`."""
    sizes = _sizes(layer, way.tile)
    if way.parts:
        return costs.winograd_in_parts(*sizes, 2 * PARTS, filters.machine.l2_bytes)
    return costs.winograd_convolution(*sizes, filters, layer.group)


def _sizes(layer: Layer, tile: int) -> tuple[int, int, int, int, int]:
    """
    Returns the numbers of images, of elements of all transformed tiles together and of one of them,
    and of input and output channels, of which the parts of a kernel are further ones.
    """
    axes = layer.axes(tile)
    elements = tile_elements(axes)
    along = zip(axes, layer.counts, layer.dilations, strict=True)
    points = elements * layer.images * prod(axis.tiles(n, d) for axis, n, d in along)
    return layer.images, points, elements, kernel_parts(axes) * layer.inputs, layer.outputs


def winograd_times(layer: Layer, filters: Filters) -> dict[Winograd, float]:
    """
    Returns the times of all Winograd convolutions, with tile registers for bf16 also of those in
    parts.
    """
    window = layer.kernel, layer.dilations, layer.strides
    has_parts = filters.machine.has_bf16_tiles and layer.group == 1 and is_3x3(*window)
    parts = (False, True) if has_parts else (False,)
    ways = [Winograd(tile, p) for tile in TILES for p in parts]
    return {way: winograd_cost(layer, way, filters) for way in ways}


def best_way(layer: Layer, forced: bool, filters: Filters) -> Winograd | None:
    """Returns the fastest Winograd convolution; None if the definition is faster still."""
    times: dict[Winograd | None, float] = {**winograd_times(layer, filters)}
    if not forced:
        times[None] = direct_cost(layer, filters)
    return min(times, key=lambda choice: times[choice])


def least_time(layer: Layer, filters: Filters, winograd: bool) -> float:
    """Returns the time of the fastest algorithm; Winograd's are among these with `winograd`."""
    direct = direct_cost(layer, filters)
    if not winograd or not layer.has_winograd:
        return direct
    return min(direct, *winograd_times(layer, filters).values())


def bytes_cost(layer: Layer, tile: int) -> float:
    """Returns the time of Winograd convolution of bytes, in the unit of `direct_cost`."""
    return costs.winograd_of_bytes(*_sizes(layer, tile), layer.group)
