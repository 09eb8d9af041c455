"""The division of the tiles of a Winograd convolution into blocks that suit the caches."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from math import prod

from ....glow_dialects.costs import winograd_blocks
from ....glow_dialects.machine import MachineDescription
from ....glow_dialects.timings import TIMINGS
from ..threads.split import is_balanced


@dataclass(frozen=True)
class BlockSpan:
    """Blocks of tiles along one dimension: `blocks` blocks of `tiles` tiles, from tile `start`."""

    start: int
    blocks: int
    tiles: int
    last: int
    """The number of outputs that the last tile of the last block writes; other tiles write all."""


def spans(outputs: int, tile: int, most: int) -> list[BlockSpan]:
    """
    Cuts a dimension of `outputs` outputs into blocks of at most `most` tiles of about the same
    size. The last block is a span of its own if it is smaller or has a tile that writes less.
    """
    tiles = -(-outputs // tile)
    size = -(-tiles // -(-tiles // most))
    blocks = -(-tiles // size)
    last = outputs - (tiles - 1) * tile
    rest = tiles - (blocks - 1) * size
    if rest == size and last == tile:
        return [BlockSpan(0, blocks, size, last)]
    full = [BlockSpan(0, blocks - 1, size, tile)] if blocks > 1 else []
    return [*full, BlockSpan((blocks - 1) * size, 1, rest, last)]


@dataclass(frozen=True)
class Edge:
    """Neighbouring tiles along one dimension that write the same number of outputs."""

    start: int
    tiles: int
    outputs: int


def edges(span: BlockSpan, tile: int) -> list[Edge]:
    """
    Returns the tiles of a block: those that write all outputs, and perhaps a last one that does
    not.
    """
    if span.last == tile:
        return [Edge(0, span.tiles, tile)]
    full = [Edge(0, span.tiles - 1, tile)] if span.tiles > 1 else []
    return [*full, Edge(span.tiles - 1, 1, span.last)]


@dataclass(frozen=True)
class Blocks:
    """A way to cut the tiles of an image into blocks."""

    rows: tuple[BlockSpan, ...]
    columns: tuple[BlockSpan, ...]

    @property
    def tiles(self) -> int:
        """The tiles of the largest block."""
        return max(s.tiles for s in self.rows) * max(s.tiles for s in self.columns)

    @property
    def count(self) -> int:
        return sum(s.blocks for s in self.rows) * sum(s.blocks for s in self.columns)

    def is_shared(self, threads: int) -> bool:
        """
        Returns whether blocks are large, and nearly all tiles are in blocks that threads can
        divide.
        """
        divided = whole = 0
        for row, column in product(self.rows, self.columns):
            blocks = row.blocks * column.blocks
            tiles = blocks * row.tiles * column.tiles
            whole += tiles
            divided += tiles * (blocks > 1 and is_balanced(blocks, threads))
        return (
            self.tiles >= TIMINGS.least_shared_tiles
            and divided >= TIMINGS.least_shared_share * whole
        )

    def cost(self, tile_bytes: int, filter_bytes: int, cache: int) -> float:
        """
        Returns the bytes that are read from or written to far caches or memory; `cache` bytes are
        near.
        """
        kinds = len(self.rows) * len(self.columns)
        return winograd_blocks(self.tiles, self.count, kinds, tile_bytes, filter_bytes, cache)


def all_blocks(counts: Sequence[int], tile: Sequence[int]) -> list[Blocks]:
    """
    Returns the ways to cut an image of `counts` outputs into blocks of tiles: into some rows of
    tiles, or parts of one row.
    """
    rows, columns = (-(-n // size) for n, size in zip(counts, tile, strict=True))
    shapes = [(most, columns) for most in range(1, rows + 1)]
    shapes += [(1, -(-columns // parts)) for parts in range(2, columns + 1)]
    return [
        Blocks(tuple(spans(counts[0], tile[0], r)), tuple(spans(counts[1], tile[1], c)))
        for r, c in dict.fromkeys(shapes)
    ]


def choose_blocks(
    counts: Sequence[int],
    tile: Sequence[int],
    tile_bytes: int,
    filter_bytes: int,
    machine: MachineDescription,
    threads: int = 1,
    near: bool = False,
) -> Blocks:
    """
    Returns the cheapest blocks for `counts` outputs, in tiles of `tile`: some rows of tiles, or a
    part of one row. A transformed tile of all input and output channels takes `tile_bytes`, the
    filters `filter_bytes`. Of little work, several threads take blocks in turns, if these can be
    large enough.

    With `near`, because products are so fast that filters have to stay near: the largest blocks
    that stay in the second cache together with all filters, and that threads can divide, if such
    blocks have enough tiles.
    """
    choices, cache = all_blocks(counts, tile), machine.l2_bytes
    tiles = prod(-(-n // size) for n, size in zip(counts, tile, strict=True))
    resident = [
        b
        for b in choices
        if b.tiles >= TIMINGS.least_shared_tiles
        and b.tiles * tile_bytes + filter_bytes <= TIMINGS.resident_l2_share * cache
        and b.count % threads == 0
    ]
    if near and resident:
        return max(resident, key=lambda b: b.tiles)
    allowed = [b for b in choices if b.tiles * tile_bytes <= TIMINGS.block_l2_caches * cache]
    if not allowed:
        return min(choices, key=lambda blocks: blocks.tiles)
    if threads > 1 and tiles * filter_bytes < TIMINGS.even_block_bytes:
        allowed = [b for b in allowed if b.is_shared(threads)] or allowed
    return min(allowed, key=lambda blocks: blocks.cost(tile_bytes, filter_bytes, cache))
