"""
The kinds of kernel schedule.

All kinds share the order of the parallel loops, the loop that vectors run over, and the number of
its elements in a vector. The rest belongs to each kind. Loops are those of the nest that the
schedule belongs to.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import ClassVar

from .affine import Access, Affine, Dim
from .nest import Nest


@dataclass(frozen=True)
class LoopPart:
    """Elements `start` to `stop - 1` of a loop, in tiles of `tile`, which divides them."""

    start: int
    stop: int
    tile: int

    @property
    def tiles(self) -> int:
        return (self.stop - self.start) // self.tile


LoopParts = Mapping[Dim, Sequence[LoopPart]]
"""Parallel loops that are cut into parts, instead of tiles of one size."""


@dataclass(frozen=True)
class Chunks:
    """
    A reduction in chunks: the steps of one are done in all tiles of the loops inside, then those of
    the next. Meanwhile sums wait where the nest writes them. The body follows the last chunk.
    """

    number: Dim
    """The first reduction loop, which counts chunks."""
    inside: Dim
    """The first of the parallel loops inside."""


@dataclass(frozen=True)
class Lines:
    """Elements to prefetch in each step, because nests or tiles that follow will read them."""

    read: int
    """The read of the reduction whose buffer they are in, by number."""
    first: Affine
    """The place of the first element, which may lie beyond the end of the buffer. Loops around
    the nest count as well."""
    count: int = 1
    apart: int = 0
    """Elements from one to the next."""
    end: Affine | None = None
    """
    The place behind the last element, before which steps stay that would come to it. Then a loop
    whose size a call decides prefetches nothing if it is one tile, unless `count` is 1.
    """

    def accesses(self, nest: Nest) -> tuple[Access, ...]:
        buffer = nest.reduced_reads[self.read].buffer
        return tuple(Access(buffer, self.first + i * self.apart) for i in range(self.count))


class Schedule:
    """The schedule of a nest."""

    kind: ClassVar[str]
    """The keyword at the start of the schedule's text."""


@dataclass(frozen=True, kw_only=True)
class VectorSchedule(Schedule):
    """The common part of all kinds of schedule for vectors."""

    order: tuple[Dim, ...]
    """Parallel loops, outermost first."""
    vector: Dim | None = None
    lanes: int = 1

    def tiles(self, dim: Dim) -> int:
        """Returns how many elements (along `vector`: vectors) of a loop a register tile holds."""
        return 1

    def step(self, dim: Dim) -> int:
        return self.tiles(dim) * (self.lanes if dim is self.vector else 1)

    def parts_of(self, dim: Dim) -> Sequence[LoopPart]:
        """Returns the parts of a parallel loop; none if its tiles have one size."""
        return ()

    def lists_tiles(self, dim: Dim) -> bool:
        """Returns whether each tile of a loop with parts has code of its own, instead of a loop."""
        return False

    def writes_out(self, dim: Dim) -> bool:
        """Returns whether the iterations of a parallel loop are written out one after the other."""
        return False

    def ends_smaller(self, dim: Dim) -> bool:
        """
        Returns whether the last tile of a loop is smaller where no element may be visited twice.
        """
        return False

    def spreads(self, dim: Dim) -> bool:
        """Returns whether the elements of a tile are as far from each other as possible."""
        return False

    @property
    def fastest(self) -> Dim | None:
        """The loop along which points of a tile that come one after the other differ first."""
        return None

    @property
    def finishing(self) -> VectorSchedule:
        """The schedule that writes the results, if they are not written as they are reduced."""
        return self


@dataclass(frozen=True, kw_only=True)
class Elementwise(VectorSchedule):
    """A nest without reduction, one vector at a time."""

    kind: ClassVar = "elementwise"

    prefetch_distance: Mapping[int, int] = field(default_factory=dict)
    """For operands, by number: how many elements ahead to prefetch vectors."""
    written_out: Dim | None = None
    """The innermost loop, if its iterations are written out one after the other."""

    def writes_out(self, dim: Dim) -> bool:
        return dim is self.written_out


@dataclass(frozen=True, kw_only=True)
class RegisterTranspose(VectorSchedule):
    """
    A copy that loads vectors along one loop and stores vectors along another: squares of `lanes`
    times `lanes` elements are transposed in registers.
    """

    kind: ClassVar = "register_transpose"

    turned: Dim
    """The loop along which vectors are loaded, while those along `vector` are stored."""

    def tiles(self, dim: Dim) -> int:
        return self.lanes if dim is self.turned else 1


@dataclass(frozen=True, kw_only=True)
class Reducing(VectorSchedule):
    """The common part of all kinds of schedule for a reduction."""

    reduced: tuple[Dim, ...] = ()
    """Reduction loops, outermost first."""
    unrolled: frozenset[Dim] = frozenset()
    """The reduction loops that are unrolled."""
    steps: int = 1
    """The steps of the innermost loop of the reduction that are written out one after the other."""
    prefetch_distance: Mapping[int, int] = field(default_factory=dict)
    """For reads of the reduction, by number: how many elements ahead to prefetch vectors."""
    prefetch_steps: Mapping[int, int] = field(default_factory=dict)
    """For reads of the reduction whose places depend on indices, by number: how many steps of the
    innermost loop ahead to prefetch what the index there names."""
    prefetch_lines: Lines | None = None
    """Further elements that each step prefetches."""


@dataclass(frozen=True, kw_only=True)
class Reduce(Reducing):
    """Any reduction. Vectors run over a parallel loop or over a reduced one."""

    kind: ClassVar = "reduce"

    tile: Mapping[Dim, int] = field(default_factory=dict)
    """
    The register tile: the number of elements of each loop, or of vectors for `vector`; 1 by
    default.
    """
    rows: Dim | None = None
    """
    If vectors run over a reduced loop: the parallel loop whose results of a tile become lanes of
    vectors.
    """
    row_lanes: int = 1
    """The number of lanes of these vectors; it divides the tile."""
    spread: Dim | None = None
    """
    The parallel loop of which a tile has one element of each of as many equal parts as it has
    elements. So tiles that come one after the other read as many streams of memory.
    """

    def tiles(self, dim: Dim) -> int:
        return self.tile.get(dim, 1)

    def ends_smaller(self, dim: Dim) -> bool:
        return dim not in (self.vector, self.rows)

    def spreads(self, dim: Dim) -> bool:
        return dim is self.spread

    @property
    def finishing(self) -> VectorSchedule:
        if self.rows is None:
            return self
        tile = {**self.tile, self.rows: self.tiles(self.rows) // self.row_lanes}
        return replace(self, vector=self.rows, lanes=self.row_lanes, tile=tile)


@dataclass(frozen=True, kw_only=True)
class LanePermutation(Reducing):
    """A product with a table that says which element of a loaded vector each lane gets."""

    kind: ClassVar = "lane_permutation"

    vectors: int
    """The number of vectors along `vector` in a register tile."""

    def tiles(self, dim: Dim) -> int:
        return self.vectors if dim is self.vector else 1


@dataclass(frozen=True, kw_only=True)
class GatheredDot(Reducing):
    """A product whose terms are gathered from several places; steps share what they load."""

    kind: ClassVar = "gathered_dot"

    parts: LoopParts = field(default_factory=dict)

    def parts_of(self, dim: Dim) -> Sequence[LoopPart]:
        return self.parts.get(dim, ())


@dataclass(frozen=True, kw_only=True)
class RegisterTile(Reducing):
    """
    A product of blocks of channels: some vectors of the filter times some elements of the image,
    which are broadcast.
    """

    kind: ClassVar = "register_tile"

    vectors: int
    """The number of vectors along `vector` in a block."""
    parts: LoopParts = field(default_factory=dict)
    """The register tile: of blocks and of pixels, how many a tile has."""
    listed: Dim | None = None
    """The loop with parts, each tile of which has code of its own, unless all places that tables
    list along it lie in rows (see `Nest.lists_rows`)."""
    blocks: Dim | None = None
    """The loop over blocks, along which the points of a tile are visited first, so that what is
    broadcast for a pixel is needed no longer than for that pixel."""
    prefetch_next_tile: Mapping[int, Dim] = field(default_factory=dict)
    """Reads, by number, of which the next tile along a loop is prefetched, before each run of the
    innermost loop of the reduction."""
    chunks: Chunks | None = None
    """
    Chunks of the reduction, if the data of all steps of a tile would not stay in the L1 cache from
    tile to tile.
    """

    def tiles(self, dim: Dim) -> int:
        return self.vectors if dim is self.vector else 1

    def parts_of(self, dim: Dim) -> Sequence[LoopPart]:
        return self.parts.get(dim, ())

    def lists_tiles(self, dim: Dim) -> bool:
        return dim is self.listed

    @property
    def fastest(self) -> Dim | None:
        return self.blocks


@dataclass(frozen=True)
class TileGroup:
    """
    Pixels whose accumulators are alive together, for points (i, j) of the last two dimensions of
    pixels.
    """

    start: tuple[int, int]
    """The first point of the first group of this kind."""
    counts: tuple[int, int]
    """The number of groups of this kind along both dimensions."""
    extent: tuple[int, int]
    """Points of a group, and how far groups are apart."""
    tiles: tuple[tuple[int, int, int], ...]
    """The first point of each tile, relative to that of the group, and its place in memory."""
    place: int
    """The place of the results of the group's first point, in pixels."""
    pitch: int
    """Places from a row of the group to the next."""


@dataclass(frozen=True)
class Finish:
    """
    The work on the results of a group: the loops over them, which are a nest of its own, and
    how it is computed. The loops are `r` over rows, `p` over pixels, `panel` and `o` over outputs,
    as far as they have more than one element; those that memory cannot tell from one are joined.
    """

    loops: tuple[Dim, ...]
    schedule: VectorSchedule


@dataclass(frozen=True, kw_only=True)
class AmxTile(Schedule):
    """A product in tile registers: groups of pixels times panels of the filter."""

    kind: ClassVar = "amx_tile"

    rows: int
    """The rows of each tile of the image and of accumulators."""
    panels: int
    """Tiles of the filter in a group."""
    joined: Dim | None = None
    """The loop over panels of which a group has several; None if they are of one long panel."""
    groups: tuple[TileGroup, ...]
    prefetch_distance: int = 0
    """The number of elements by which each step prefetches the filter; 0 is no prefetch."""
    prefetch_next: bool = False
    """Whether the groups that a filter meets prefetch the next one, each a share."""
    finish: tuple[Finish, ...] = ()
    """For each group, what is done with its results."""


@dataclass(frozen=True)
class Split:
    """Loops `first` to `last` of a schedule's order are divided between threads."""

    first: int
    last: int
    drawn: bool = False
    """Whether threads draw tickets for the end of the work, instead of knowing their parts."""


KINDS: Mapping[str, type[Schedule]] = {
    kind.kind: kind
    for kind in (
        *(Elementwise, RegisterTranspose, Reduce, LanePermutation, GatheredDot, RegisterTile),
        AmxTile,
    )
}
"""Each kind of schedule, by the name that its text begins with."""
