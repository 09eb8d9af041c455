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
from .blocking import in_equal_blocks


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
    size = in_equal_blocks(tiles, most)
    blocks = -(-tiles // size)
    last = outputs - (tiles - 1) * tile
    rest = tiles - (blocks - 1) * size
    full = blocks if (rest, last) == (size, tile) else blocks - 1
    found = [BlockSpan(0, full, size, tile), BlockSpan(full * size, blocks - full, rest, last)]
    return [span for span in found if span.blocks]


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
    full = span.tiles if span.last == tile else span.tiles - 1
    found = [Edge(0, full, tile), Edge(full, span.tiles - full, span.last)]
    return [edge for edge in found if edge.tiles]


@dataclass(frozen=True)
class Blocks:
    """A way to cut the tiles of an image into blocks."""

    spans: tuple[tuple[BlockSpan, ...], ...]
    """The spans along each spatial dimension."""

    @property
    def tiles(self) -> int:
        """The tiles of the largest block."""
        return prod(max(span.tiles for span in spans) for spans in self.spans)

    @property
    def count(self) -> int:
        return prod(sum(span.blocks for span in spans) for spans in self.spans)

    def is_shared(self, threads: int) -> bool:
        """
        Returns whether blocks are large, and nearly all tiles are in blocks that threads can
        divide.
        """
        divided = whole = 0
        for kind in product(*self.spans):
            blocks = prod(span.blocks for span in kind)
            tiles = blocks * prod(span.tiles for span in kind)
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
        kinds = prod(map(len, self.spans))
        return winograd_blocks(self.tiles, self.count, kinds, tile_bytes, filter_bytes, cache)


def all_blocks(counts: Sequence[int], tile: Sequence[int]) -> list[Blocks]:
    """
    Returns the ways to cut an image of `counts` outputs into blocks of tiles: along one dimension,
    all of those inside, one tile of those outside.
    """
    tiles = [-(-n // size) for n, size in zip(counts, tile, strict=True)]
    shapes: list[tuple[int, ...]] = []
    for axis, whole in enumerate(tiles):
        sizes = sorted({-(-whole // parts) for parts in range(1, whole + 1)})
        shapes += [(*[1] * axis, size, *tiles[axis + 1 :]) for size in sizes]
    return [
        Blocks(tuple(tuple(spans(*along)) for along in zip(counts, tile, shape, strict=True)))
        for shape in dict.fromkeys(shapes)
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
    Returns the cheapest ones of `all_blocks` for `counts` outputs, in tiles of `tile`. A
    transformed tile of all input and output channels takes `tile_bytes`, the filters
    `filter_bytes`. Of little work, several threads take blocks in turns, if these can be large
    enough.

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
