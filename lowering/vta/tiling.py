"""
The choice of tiles: the data that are in the buffers at the same time, and the order of the tiles.

A layer is computed tile by tile: `blocks` blocks of output channels by `rows` x `columns` pixels,
whose sums over the input channels are accumulated `inputs` blocks at a time. The buffers of inputs
and weights hold as many such pieces as fit; a piece that is still in a buffer is not loaded again.
Tiles with the same channels follow each other (`weights_first`: the weights stay), or those with
the same pixels (the inputs stay).

The candidates are all combinations of tile sizes that divide the output as evenly as possible. They
are compared by the time of their DRAM traffic plus the time of work that overlaps with nothing: the
start of instructions, the first loads and last stores, and transfers in buffers that hold only one
tile.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from math import prod
from typing import NamedTuple

import numpy as np

from ...errors import CompileError
from ...glow_dialects.vta import Tiles, VtaConfig, VtaMemory, VtaTiming
from ...glow_dialects.vta.grid import Window
from .layers import Apply, Duplicate, Fetch, Layer, Pooling, parts

_PATTERNS = 4
"""
The tiles with micro-ops of their own: those with pieces in the one or the other half of the
buffers.
"""


class Tiling(NamedTuple):
    """The quantities that follow from the tiles of a layer."""

    blocks: int
    rows: int
    columns: int
    inputs: tuple[int, ...]
    """The number of input blocks of each product."""
    weights_first: bool
    accumulators: int
    """Elements that a tile takes of ACC."""
    input_piece: int
    """Elements that a piece takes of INP, at most."""
    weight_piece: int


class _Sums(NamedTuple):
    """A product, as far as tiles matter."""

    inputs: int
    rows: Window
    columns: Window
    places: int
    source_rows: int
    source_columns: int


@dataclass(frozen=True)
class _Problem:
    """A layer, as far as tiles matter."""

    images: int
    blocks: int
    rows: int
    columns: int
    products: tuple[_Sums, ...]
    slots: int
    vectors: int
    applied: int
    """Operations of the ALU for each accumulator."""
    fetched: int
    config: VtaConfig

    @property
    def main(self) -> _Sums | None:
        """The largest product."""
        return max(self.products, key=lambda s: s.inputs * s.places, default=None)


def choose_tiles(layer: Layer, timing: VtaTiming) -> Tiles:
    """
    Returns the tiles that take least time. Raises CompileError if the least tile does not fit into
    the buffers.
    """
    problem = _problem_of(layer)
    tiles = _chosen(layer, problem, 0, timing)
    idle = problem.config.capabilities.distance - 1
    if not idle or not layer.products or _smallest(problem, tiles) > idle:
        return tiles
    return _chosen(layer, problem, idle, timing)


def tiling_of(layer: Layer, tiles: Tiles) -> Tiling:
    """
    Returns the tiling of given tiles. Raises CompileError if they do not fit into the buffers.
    """
    p = _problem_of(layer)
    blocks, rows, columns, inputs = (
        np.array([size]) for size in (tiles.blocks, tiles.rows, tiles.columns, tiles.inputs)
    )
    candidates = _Candidates(p, blocks, rows, columns, inputs, tiles.weights_first, tiles.idle)
    if not candidates.fits[0]:
        raise CompileError(
            f"{layer.name}: expected tiles that fit into the buffers of {p.config}, found {tiles}"
        )
    return candidates.tiling(0)


def _chosen(layer: Layer, problem: _Problem, idle: int, timing: VtaTiming) -> Tiles:
    found = _choose(problem, idle, timing)
    if found is None:
        raise CompileError(
            f"{layer.name}: not even one pixel of one block of channels fits into the buffers of "
            f"{problem.config}"
        )
    return found


def _smallest(p: _Problem, t: Tiles) -> int:
    """Accumulators of the smallest tile."""
    sizes = ((p.blocks, t.blocks), (p.rows, t.rows), (p.columns, t.columns))
    return prod(list(parts(count, size))[-1][1] for count, size in sizes)


def _problem_of(layer: Layer) -> _Problem:
    grid = layer.output.grid.flat() if layer.is_flat else layer.output.grid
    sums = []
    for p in layer.products:
        rows, columns = p.grid.rows.size, p.grid.columns.size
        sums.append(_Sums(p.inputs, p.rows, p.columns, p.places, rows, columns))
    return _Problem(
        grid.images.size,
        layer.blocks,
        grid.rows.size,
        grid.columns.size,
        tuple(sums),
        layer.slots,
        layer.vectors,
        sum(isinstance(a, Apply | Duplicate) for a in layer.actions),
        sum(isinstance(a, Fetch) for a in layer.actions),
        layer.output.config,
    )


def even_sizes(count: int) -> np.ndarray:
    """
    Returns the sizes of tiles that make up `count` in as equal parts as possible, largest first.
    """
    return np.unique(-(-count // np.arange(1, count + 1)))[::-1]


@lru_cache(1 << 12)
def _choose(p: _Problem, idle: int, timing: VtaTiming) -> Tiles | None:
    inputs = even_sizes(p.main.inputs) if p.main else np.ones(1, np.int64)
    grids = np.meshgrid(
        *(even_sizes(n) for n in (p.blocks, p.rows, p.columns)), inputs, indexing="ij"
    )
    blocks, rows, columns, chunk = (g.reshape(-1) for g in grids)
    best: tuple[float, Tiles] | None = None
    for weights_first in (True, False):
        candidates = _Candidates(p, blocks, rows, columns, chunk, weights_first, idle)
        scores = candidates.scores(timing)
        i = int(np.argmin(scores))
        if np.isfinite(scores[i]) and (best is None or scores[i] < best[0]):
            b, r, c, n = (int(sizes[i]) for sizes in (blocks, rows, columns, chunk))
            best = float(scores[i]), Tiles(b, r, c, n, weights_first, idle)
    return None if best is None else best[1]


class _Candidates:
    """Tile sizes, int64[N] each, in the same order, and their costs."""

    def __init__(
        self,
        problem: _Problem,
        blocks: np.ndarray,
        rows: np.ndarray,
        columns: np.ndarray,
        chunk: np.ndarray,
        weights_first: bool,
        idle: int,
    ):
        self.p = problem
        self.blocks, self.rows, self.columns = blocks, rows, columns
        self.weights_first = weights_first
        p, c, main = problem, problem.config, problem.main
        self.acc_depth = c.acc_depth - idle
        self.pixels = rows * columns
        self.accumulators = (self.pixels * p.slots + p.vectors) * blocks
        self.pieces = [self._pixels_of(s) for s in p.products]
        self.input_piece = np.zeros_like(blocks)
        self.weight_piece = np.zeros_like(blocks)
        if main is not None:
            place = p.products.index(main)
            self.input_piece = self.pieces[place] * chunk
            self.weight_piece = blocks * main.places * chunk
            # smaller products take pieces of the same size, or at least one block
            for s, pixels in zip(p.products, self.pieces, strict=True):
                self.input_piece = np.maximum(self.input_piece, pixels)
                self.weight_piece = np.maximum(self.weight_piece, blocks * s.places)
        if p.fetched and not c.capabilities.loads_bytes:
            # the elements that are loaded into accumulators pass through these buffers
            self.input_piece = np.maximum(self.input_piece, self.pixels * blocks)
            self.weight_piece = np.maximum(self.weight_piece, 1)
        self.chunks = [
            np.minimum.reduce(
                [
                    np.full_like(blocks, s.inputs),
                    self.input_piece // np.maximum(pixels, 1),
                    self.weight_piece // (blocks * s.places),
                ]
            )
            for s, pixels in zip(p.products, self.pieces, strict=True)
        ]
        with np.errstate(divide="ignore"):
            self.together = sum(
                (-(-s.inputs // c) for s, c in zip(p.products, self.chunks, strict=True)),
                np.zeros_like(blocks),
            )
        self.fits = (
            (self.accumulators <= self.acc_depth)
            & (self.input_piece <= c.inp_depth)
            & (self.weight_piece <= c.wgt_depth)
        )

    def _pixels_of(self, s: _Sums) -> np.ndarray:
        """Returns elements of INP of one block of inputs of a tile."""
        high = (self.rows - 1) * s.rows.stride + s.rows.reach(1)
        wide = (self.columns - 1) * s.columns.stride + s.columns.reach(1)
        return high * wide

    def tiling(self, i: int) -> Tiling:
        """Returns candidate number `i`."""
        return Tiling(
            int(self.blocks[i]),
            int(self.rows[i]),
            int(self.columns[i]),
            tuple(int(chunk[i]) for chunk in self.chunks),
            self.weights_first,
            int(self.accumulators[i]),
            int(self.input_piece[i]),
            int(self.weight_piece[i]),
        )

    def scores(self, timing: VtaTiming) -> np.ndarray:
        """Returns cycles; infinite for tiles that do not fit."""
        p, c = self.p, self.p.config
        with np.errstate(all="ignore"):
            groups = -(-p.blocks // self.blocks)
            places = p.images * -(-p.rows // self.rows) * -(-p.columns // self.columns)
            tiles = groups * places
            cycles = np.zeros(self.blocks.size)
            for s, pixels, chunk in zip(p.products, self.pieces, self.chunks, strict=True):
                chunk = np.maximum(chunk, 1)
                cycles += self._product(s, pixels, chunk, groups, places, timing)
            # the starts of ALU and GEMM instructions, and the work that only the last tile does
            out = c.element_bytes(VtaMemory.OUT) / timing.bytes_per_cycle
            elements = self.pixels * self.blocks
            cycles += tiles * (p.applied + 1) * timing.start
            cycles += tiles * p.fetched * self.blocks * timing.dram_latency
            # the first tiles load micro-ops, which later ones at the same places share
            patterns = np.minimum(tiles, _PATTERNS) * (1 + len(p.products))
            cycles += patterns * timing.dram_latency
            cycles += elements * (out + timing.alu_interval * p.applied)
            alone = self.accumulators * 2 > self.acc_depth
            cycles += np.where(alone, tiles * (elements * out + timing.dram_latency), 0)
            vectors = p.vectors * self.blocks * c.element_bytes(VtaMemory.ACC)
            cycles += np.where(self.weights_first, groups, tiles) * (
                vectors / timing.bytes_per_cycle + timing.dram_latency
            )
        return np.where(self.fits, cycles, np.inf)

    def _product(
        self,
        s: _Sums,
        pixels: np.ndarray,
        chunk: np.ndarray,
        groups: np.ndarray,
        places: np.ndarray,
        timing: VtaTiming,
    ) -> np.ndarray:
        """Returns the transfers of a product, and the starts of its instructions."""
        p, c = self.p, self.p.config
        chunks = -(-s.inputs // chunk)
        # pieces of all products take turns in the buffers
        together = self.together
        room_in = c.inp_depth // self.input_piece
        room_weights = c.wgt_depth // self.weight_piece
        if self.weights_first:
            again_in = np.where(places * together <= room_in, 1, groups)
            again_weights = np.where(together <= room_weights, 1, places)
        else:
            again_in = np.where(together <= room_in, 1, groups)
            again_weights = np.where(groups * together <= room_weights, 1, places)
        loaded_in = p.images * s.inputs * self._rows_loaded(s) * again_in
        loaded_weights = s.inputs * p.blocks * s.places * again_weights
        per_cycle = timing.bytes_per_cycle
        inputs = loaded_in * c.element_bytes(VtaMemory.INP) / per_cycle
        weights = loaded_weights * c.element_bytes(VtaMemory.WGT) / per_cycle
        loads = places * chunks * again_in + groups * chunks * again_weights
        steps = groups * places * chunks
        first = (pixels * chunk * c.element_bytes(VtaMemory.INP)) / per_cycle
        first = first + self.weight_piece * c.element_bytes(VtaMemory.WGT) / per_cycle
        # without room for two pieces, loads wait for the products with the piece before
        waits_in = (room_in < 2) & (places * together > 1)
        waits_weights = (room_weights < 2) & (groups * together > 1)
        return (
            inputs * np.where(waits_in, 2, 1)
            + weights * np.where(waits_weights, 2, 1)
            + loads * timing.dram_latency / 4
            + steps * timing.start
            + first
        )

    def _rows_loaded(self, s: _Sums) -> np.ndarray:
        """Returns elements of one block of inputs that all tiles together load, without padding."""
        high = self._loaded(s.rows, self.rows, self.p.rows, s.source_rows)
        return high * self._loaded(s.columns, self.columns, self.p.columns, s.source_columns)

    def _loaded(self, w: Window, size: np.ndarray, count: int, inputs: int) -> np.ndarray:
        tiles = -(-count // size)
        overlap = (w.kernel - 1) * w.dilation + 1 - w.stride
        return np.minimum(inputs, w.reach(count)) + (tiles - 1) * overlap


def choose_pooling(pool: Pooling) -> Tiles:
    """
    Returns the tiles of a pooling: the largest that leave room for two.

    Raises CompileError if the least tile does not fit.
    """
    grid, config = pool.output.grid, pool.output.config
    images, blocks, rows, columns = (
        d.size for d in (grid.images, grid.blocks, grid.rows, grid.columns)
    )
    grids = np.meshgrid(*(even_sizes(n) for n in (blocks, rows, columns)), indexing="ij")
    b, r, c = (g.reshape(-1) for g in grids)
    high = (r - 1) * pool.rows.stride + pool.rows.reach(1)
    wide = (c - 1) * pool.columns.stride + pool.columns.reach(1)
    size = b * (high * wide + r * c)
    # the bytes that tiles load more than once, and the starts of instructions
    loaded = (-(-rows // r) * high) * (-(-columns // c) * wide) * blocks * images
    score = loaded * 2.0 + images * -(-rows // r) * -(-columns // c) * -(-blocks // b) * 400.0
    score = np.where(size * 2 <= config.acc_depth, score, score * 2)
    score = np.where(size <= config.acc_depth, score, np.inf)
    if not config.capabilities.loads_bytes:
        score = np.where(b * high * wide <= config.inp_depth, score, np.inf)
    i = int(np.argmin(score))
    if not np.isfinite(score[i]):
        raise CompileError(f"not even one window fits into the buffers of {config}")
    return Tiles(int(b[i]), int(r[i]), int(c[i]))
