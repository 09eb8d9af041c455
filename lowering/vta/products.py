"""Convolutions and matrix products as products of blocks of channels."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from xdsl.ir import SSAValue

from ...glow_dialects.vta import ProductOp, VtaConfig, VtaMemory
from ...glow_dialects.vta.grid import Dim, Grid, Window
from .layers import parts
from .memory_map import MemoryMap
from .regions import Tensor


class Piece(NamedTuple):
    """Blocks of output channels that are computed together: the first, and how many."""

    first: int
    blocks: int


@dataclass(eq=False)
class Weighted:
    """
    A convolution: weights int8 [O, C / groups, KH, KW]. Outputs of group g see input channels of
    group g only.

    With `uniform`, weights are [O, C / groups, 1, 1], and the same at all places of the windows.
    """

    name: str
    source: Tensor
    weights: np.ndarray
    rows: Window
    columns: Window
    groups: int = 1
    uniform: bool = False

    @property
    def is_flat(self) -> bool:
        """
        Whether it is a matrix product: each output depends on one pixel, of an image of one pixel.
        """
        plain = all(w.kernel == 1 and not w.before for w in (self.rows, self.columns))
        return self.source.grid.is_flat and plain

    def bounds(self) -> tuple[int, int]:
        """Returns the bounds of the sums. Padding counts as an input of 0."""
        low, high = min(self.source.bounds[0], 0), max(self.source.bounds[1], 0)
        axes = (1, 2, 3)
        more = np.maximum(self.weights, 0).sum(axis=axes, dtype=np.int64)
        less = np.minimum(self.weights, 0).sum(axis=axes, dtype=np.int64)
        times = self.rows.kernel * self.columns.kernel if self.uniform else 1
        least, greatest = more * low + less * high, more * high + less * low
        return int(least.min()) * times, int(greatest.max()) * times

    def pieces(self, config: VtaConfig) -> list[Piece]:
        """
        Returns all output channels as one piece, or, in groups, so that no piece computes zeros.
        """
        outputs, inputs = self.weights.shape[0] // self.groups, self.weights.shape[1]
        blocks = -(-self.weights.shape[0] // config.block_out)
        if self.groups == 1:
            return [Piece(0, blocks)]
        aligned = outputs % config.block_out == 0 and inputs % config.block_in == 0
        size = outputs // config.block_out if aligned else 1
        return [Piece(first, count) for first, count in parts(blocks, size)]


class Packer:
    """Makes the products of the pieces of a convolution, and a region with their weights."""

    def __init__(self, memory: MemoryMap, weighted: Weighted, pieces: list[Piece]):
        self._config = c = memory.config
        self._weighted = w = weighted
        self._windows = list(_split(w.rows, w.columns, c, w.uniform))
        packed: list[np.ndarray] = []
        self._first: list[int] = []
        end = 0
        for piece in pieces:
            for rows, columns in self._windows:
                array = self._packed(piece, rows, columns)
                self._first.append(end)
                end += array.size // (c.block_in * c.block_out)
                packed.append(array.reshape(-1))
        self._dram = memory.constant(f"{w.name}.weights", np.concatenate(packed), VtaMemory.WGT)

    def products(self, number: int, piece: Piece, is_flat: bool) -> list[ProductOp]:
        """Returns the products of piece `number`, each added to the one before."""
        w = self._weighted
        blocks = self._inputs(piece)
        found: list[ProductOp] = []
        sums: SSAValue | None = None
        for i, (r, c) in enumerate(self._windows):
            grid, rows, columns = w.source.grid, Window(), Window()
            # strides are between pixels, and a flat image has one
            if not is_flat:
                grid, rows, columns = _thinned(grid, r.window, c.window)
            start = self._first[number * len(self._windows) + i]
            other_grid = None if grid == w.source.grid else grid
            source = w.source.dram.value
            op = ProductOp.of(
                *(source, self._dram.value, blocks, start, rows, columns),
                grid=other_grid,
                is_uniform=w.uniform,
                plus=sums,
            )
            found.append(op)
            sums = op.result
        return found

    def _inputs(self, piece: Piece) -> tuple[int, int]:
        """Returns the first block of input channels of a piece, and how many there are."""
        w, c = self._weighted, self._config
        outputs, inputs = w.weights.shape[0] // w.groups, w.weights.shape[1]
        last = min((piece.first + piece.blocks) * c.block_out, w.weights.shape[0]) - 1
        low = piece.first * c.block_out // outputs * inputs // c.block_in
        high = -(-(last // outputs + 1) * inputs // c.block_in)
        return low, high - low

    def _packed(self, piece: Piece, rows: _Part, columns: _Part) -> np.ndarray:
        """Returns int8 [blocks of outputs, blocks of inputs, KH, KW, block_out, block_in]."""
        w, c = self._weighted, self._config
        outputs, inputs = w.weights.shape[0] // w.groups, w.weights.shape[1]
        first, count = self._inputs(piece)
        part = w.weights if w.uniform else w.weights[:, :, rows.places, columns.places]
        kernel = part.shape[2:]
        begin = piece.first * c.block_out
        end = min(begin + piece.blocks * c.block_out, w.weights.shape[0])
        dense = np.zeros((piece.blocks * c.block_out, count * c.block_in, *kernel), np.int8)
        for group in range(begin // outputs, (end - 1) // outputs + 1):
            low, high = max(group * outputs, begin), min((group + 1) * outputs, end)
            column = group * inputs - first * c.block_in
            dense[low - begin : high - begin, column : column + inputs] = part[low:high]
        tiles = dense.reshape(piece.blocks, c.block_out, count, c.block_in, *kernel)
        return tiles.transpose(0, 2, 4, 5, 1, 3)


class _Part(NamedTuple):
    """Some places of a window, and the window of these alone."""

    places: slice
    window: Window


def _split(
    rows: Window, columns: Window, config: VtaConfig, uniform: bool
) -> Iterator[tuple[_Part, _Part]]:
    """
    Yields parts of a window. The weights and inputs of one part, for one pair of blocks, fit into
    the buffers. Usually the only part is the window.
    """
    weights = config.inp_depth if uniform else config.wgt_depth
    wide = min(columns.kernel, weights, (config.inp_depth - 1) // columns.dilation + 1)
    reach = (wide - 1) * columns.dilation + 1
    high = min(max(weights // wide, 1), (config.inp_depth // reach - 1) // rows.dilation + 1)
    for row in _window_parts(rows, high):
        for column in _window_parts(columns, wide):
            yield row, column


def _window_parts(window: Window, size: int) -> Iterator[_Part]:
    for first, count in parts(window.kernel, size):
        before = window.before - first * window.dilation
        inner = Window(count, window.stride, window.dilation, before)
        yield _Part(slice(first, first + count), inner)


def _thinned(grid: Grid, rows: Window, columns: Window) -> tuple[Grid, Window, Window]:
    """Returns the grid without the pixels that strides skip, which then need not be loaded."""
    if rows.kernel == 1 and not rows.before:
        grid = grid._replace(rows=_every(grid.rows, rows.stride))
        rows = Window()
    if columns.kernel == 1 and not columns.before:
        grid = grid._replace(columns=_every(grid.columns, columns.stride))
        columns = Window()
    return grid, rows, columns


def _every(dim: Dim, stride: int) -> Dim:
    return Dim(-(-dim.size // stride), dim.stride * stride)
