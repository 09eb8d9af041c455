"""The places of tensors in DRAM, and transfers of parts of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from xdsl.ir import SSAValue

from ...glow_dialects.vta import VtaConfig
from ...glow_dialects.vta.grid import Dim, Grid, grid_of


@dataclass(eq=False)
class Space:
    """A part of DRAM that a program writes to. Regions in it may overlap."""

    elements: int


@dataclass(eq=False)
class Dram:
    """A region, or a part of one, as elements of one memory type."""

    value: SSAValue
    """The result of `vta.region` or `vta.micro_ops`."""
    elements: int
    space: Space | None = None
    """
    The memory space of a region that the program writes to: its reads and writes stay in order.
    """
    start: int = 0
    """The number of its first element in `space`."""


class Move(NamedTuple):
    """
    `rows` rows of `columns` elements from element `first` of a region on, `stride` elements apart.
    """

    first: int
    rows: int
    columns: int
    stride: int

    def view(self, table: np.ndarray, start: int) -> np.ndarray:
        """
        Returns the part of a table [engine, element] of a space that it covers, as a view [engine,
        rows, columns]; the region begins at `start`.
        """
        outer, inner = table.strides
        shape = (len(table), self.rows, self.columns)
        return np.lib.stride_tricks.as_strided(
            table[:, start + self.first :], shape, (outer, self.stride * inner, inner)
        )


def moves(first: int, dims: Sequence[Dim], config: VtaConfig) -> Iterator[tuple[int, Move]]:
    """
    Transfers of a part of a tensor to or from consecutive elements of a buffer, in the order of
    `dims` from the outermost to the innermost; with each its offset in the buffer.
    """
    longest, farthest = (1 << config.size_bits) - 1, (1 << config.stride_bits) - 1
    *outer, rows, columns = _padded(_coalesced(dims))
    if columns.size > longest:
        part = next(n for n in range(longest, 0, -1) if columns.size % n == 0)
        outer, rows, columns = [*outer, rows], Dim(columns.size // part, part), Dim(part, 1)
    if rows.stride > farthest or rows.size > longest:
        outer, rows = [*outer, rows], Dim(1, columns.size)
    size = rows.size * columns.size
    for number, place in enumerate(np.ndindex(*(d.size for d in outer))):
        start = first + sum(i * d.stride for i, d in zip(place, outer, strict=True))
        yield number * size, Move(start, rows.size, columns.size, rows.stride)


def _coalesced(dims: Sequence[Dim]) -> list[Dim]:
    """Returns the same elements in the same order, in as few dimensions as possible."""
    found: list[Dim] = []
    for d in dims:
        if d.size == 1:
            continue
        if found and found[-1].stride == d.size * d.stride:
            found[-1] = Dim(found[-1].size * d.size, d.stride)
        else:
            found.append(d)
    return found


def _padded(dims: list[Dim]) -> list[Dim]:
    """Returns the dimensions, at least two; the last one is contiguous."""
    if not dims or dims[-1].stride != 1:
        dims = [*dims, Dim(1, 1)]
    return dims if len(dims) > 1 else [Dim(1, dims[0].size), *dims]


@dataclass(eq=False)
class Tensor:
    """
    Numbers of 8 bits in DRAM: [N, C, H, W] as N / batch, C / block, H, W, each an element of
    batch x block.
    """

    dram: Dram
    shape: tuple[int, int, int, int]
    config: VtaConfig
    bounds: tuple[int, int] = (-128, 127)
    """The least and the greatest number that is stored."""

    @property
    def grid(self) -> Grid:
        return grid_of(self.shape, self.config)
