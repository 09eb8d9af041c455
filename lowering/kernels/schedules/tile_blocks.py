"""The division of the tiles of a Winograd convolution into blocks that suit the caches."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product

from ....glow_dialects.machine import MachineDescription
from ....glow_dialects.timings import TIMINGS
from ..threads.split import is_balanced

MOST_CACHES = 4
"""
How many times the L2 cache the transformed input and products of a block may fill at most, if
blocks can be smaller.
"""
LEAST_SHARED = 14
"""The least number of tiles of blocks that threads share; products of fewer tiles are slow."""
MOST_SHARED = 0.75
"""The part of an image that such blocks cover at least."""


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
        return self.tiles >= LEAST_SHARED and divided >= MOST_SHARED * whole

    def cost(self, tile_bytes: int, filter_bytes: int, cache: int) -> float:
        """
        Returns the bytes that are read from or written to far caches or memory; `cache` bytes are
        near.
        """
        most = int(cache * TIMINGS.filters_l2_share)
        is_near = filter_bytes <= most
        again = TIMINGS.reused_filter_share if is_near else 1.0
        filters = filter_bytes * (1 + (self.count - 1) * again)
        used = self.tiles * tile_bytes + min(filter_bytes, most)
        spilled = max(0, used - cache) * self.count * TIMINGS.block_far_accesses
        kinds = len(self.rows) * len(self.columns)
        return (filters + spilled) * (1 + TIMINGS.block_code_share * (kinds - 1))


def all_blocks(counts: Sequence[int], tile: int) -> list[Blocks]:
    """
    Yields the ways to cut an image of `counts` outputs: into some rows of tiles, or parts of one
    row.
    """
    rows, columns = (-(-n // tile) for n in counts)
    shapes = [(most, columns) for most in range(1, rows + 1)]
    shapes += [(1, -(-columns // parts)) for parts in range(2, columns + 1)]
    return [
        Blocks(tuple(spans(counts[0], tile, r)), tuple(spans(counts[1], tile, c)))
        for r, c in dict.fromkeys(shapes)
    ]


def choose_blocks(
    counts: Sequence[int],
    tile: int,
    tile_bytes: int,
    filter_bytes: int,
    cache: int,
    threads: int = 1,
) -> Blocks:
    """
    Returns the cheapest blocks for `counts` outputs: some rows of tiles, or a part of one row. A
    transformed tile of all input and output channels takes `tile_bytes`, the filters take
    `filter_bytes`, and the L2 cache has `cache` bytes. If there is little work, several threads
    share the blocks, if these can be large enough.
    """
    rows, columns = (-(-n // tile) for n in counts)
    choices = all_blocks(counts, tile)
    allowed = [b for b in choices if b.tiles * tile_bytes <= MOST_CACHES * cache]
    if not allowed:
        return min(choices, key=lambda blocks: blocks.tiles)
    if threads > 1 and rows * columns * filter_bytes < TIMINGS.even_block_bytes:
        allowed = [b for b in allowed if b.is_shared(threads)] or allowed
    return min(allowed, key=lambda blocks: blocks.cost(tile_bytes, filter_bytes, cache))


def choose_near_blocks(
    counts: Sequence[int],
    tile: int,
    tile_bytes: int,
    filter_bytes: int,
    cache: int,
    threads: int = 1,
) -> Blocks:
    """
    Returns the largest blocks that stay in the L2 cache together with all filters, and that threads
    can divide. If such blocks have too few tiles, it returns the blocks of `choose_blocks`, which
    has the same arguments.
    """
    near = [
        b
        for b in all_blocks(counts, tile)
        if b.tiles >= LEAST_SHARED
        and b.tiles * tile_bytes + filter_bytes <= TIMINGS.resident_l2_share * cache
        and b.count % threads == 0
    ]
    if near:
        return max(near, key=lambda b: b.tiles)
    return choose_blocks(counts, tile, tile_bytes, filter_bytes, cache, threads)


def tile_blocks(
    machine: MachineDescription,
    threads: int,
    counts: Sequence[int],
    tile: int,
    tile_bytes: int,
    filter_bytes: int,
    in_parts: bool,
) -> Blocks:
    """
    Returns the blocks for a machine, for arguments of `choose_blocks`. Products of parts of bf16
    are so fast that filters have to stay in the L2 cache.
    """
    choose = choose_near_blocks if in_parts else choose_blocks
    return choose(counts, tile, tile_bytes, filter_bytes, machine.l2_bytes, threads)
