"""
Code for tile registers: the steps of a group of accumulators, then what is done with their results.

Accumulators go to a small array on the stack, from which the nest that finishes them takes them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import product
from math import ceil, prod

from ....glow_dialects import glow_vec
from ....glow_dialects.elements import element_bytes
from ....glow_dialects.glow_nest.affine import Access, Affine, Dim
from ....glow_dialects.glow_nest.nest import Nest
from ....glow_dialects.glow_nest.schedule import AmxTile
from ....glow_dialects.glow_vec.tiles import QUAD, TILE_BYTES, TILES
from ....glow_dialects.machine import MachineDescription
from ....glow_dialects.timings import TIMINGS
from ..schedules.amx_groups import (
    GroupLoops,
    bound_finish,
    groups_of,
    stores_directly,
    sums_of,
    verify_finish,
)
from ..schedules.amx_tile import (
    COLUMNS,
    TilePlan,
    filter_bytes,
    image_bytes,
    stride_of,
    table_of,
)
from ..threads.split import Share, Split, is_balanced
from .loop_driver import LoopDriver, whole
from .memory import Address, Addresses, Bound, FlatBuffers, on_stack
from .vector_nest import VectorNest

_MOST_UNROLLED = 4
_SUM_BYTES = 4


class TileNest:
    """Emits one nest of products in tile registers."""

    def __init__(
        self,
        nest: Nest,
        schedule: AmxTile,
        memory: FlatBuffers,
        machine: MachineDescription,
        threads: int,
    ):
        verify_finish(nest, schedule)
        plan = TilePlan.of(nest, schedule)
        self.nest = nest
        self.plan = plan
        self.roles = plan.roles
        self.e = memory.emitter
        self.machine = machine
        self._stores_directly = stores_directly(nest, plan)
        """Whether tiles are written as they are, instead of finished with vectors."""
        self._finish = dict(zip(plan.groups, schedule.finish, strict=False))
        self._threads = threads
        self._sums = sums_of(nest, plan)
        self.memory = memory.replaced({self._sums: on_stack(self.e, self._sums)})
        size = filter_bytes(nest, self.roles)
        self._is_near = size <= int(machine.l2_bytes * TIMINGS.amx_filters_l2_share)
        most = machine.l2_bytes * TIMINGS.amx_image_l2_share
        self._blocks = ceil(image_bytes(nest, self.roles) / most)
        """
        The number of blocks into which the pixels are cut, so that one of them stays near, if the
        filter does not.
        """
        first = TILES - plan.panels
        self._filter_tiles = range(first, TILES)
        self._image_tiles = range(plan.images * plan.panels, first)
        self._column, self._kinds = groups_of(plan)
        self._steps, self._first_quad = self._reduced()

    def _reduced(self) -> tuple[list[Dim], dict[Dim, Affine]]:
        """Returns the loops of steps, and where in the depth each step begins."""
        depth, quads = self.roles.depth, self.roles.quads
        dims = [d for d in self.nest.reduced if d is not self.roles.parts]
        if depth is None:
            return dims, {}
        step = Dim("step", depth.size // quads)
        dims = [step if d is depth else d for d in dims]
        return [d for d in dims if d.size > 1], {depth: step * quads}

    # loops

    def run(self, bound: Bound, split: Split | None = None, share: Share | None = None) -> None:
        """
        Emits the nest for the values of enclosing loop variables; with a split, only what `share`
        says is this thread's.
        """
        self._configure()
        others = self.roles.others
        if share is None or self._is_balanced(others):
            # one product after the other, each of which has its own image and filter
            for inner in self._loops(others, bound, share):
                self._product((), inner)
        else:
            self._product(others, bound, share)
        self.e.add(glow_vec.TileReleaseOp())

    def _is_balanced(self, dims: Sequence[Dim]) -> bool:
        return is_balanced(prod(d.size for d in dims), self._threads)

    def _product(self, others: Sequence[Dim], bound: Bound, share: Share | None = None) -> None:
        """Yields the loops over pixels and panels, and over further dimensions outside of them."""
        rest = [d for d in self.roles.panels if d is not self.plan.joined]
        panels = (*others, *rest, self._column)
        balanced = share is None or self._is_balanced(panels)
        if not self._is_near and balanced and self._blocks == 1:
            # while the filter of some panels is near, all pixels meet it
            for inner in self._loops(panels, bound, share):
                for kind in self._kinds:
                    for innermost in self._loops(kind.dims, inner):
                        self._group(kind, innermost)
            return
        for kind in self._kinds:
            outside = kind.dims if self._is_near else kind.blocks(self._blocks)
            dims = (*outside, *panels, *kind.dims[len(outside) :])
            for inner in self._loops(dims, bound, share):
                self._group(kind, inner)

    def _loops(
        self, dims: Sequence[Dim], bound: Bound, share: Share | None = None
    ) -> Iterator[Bound]:
        split = None if share is None else Split(0, len(dims) - 1)
        return LoopDriver(self.e, whole(dims), split, share).tiles(bound)

    # one group

    def _configure(self) -> None:
        rows, widths = [self.plan.rows] * TILES, [TILE_BYTES] * TILES
        for tile in self._image_tiles:
            widths[tile] = QUAD * self.roles.quads
        for tile in self._filter_tiles:
            rows[tile] = self.roles.quads
        self.e.add(glow_vec.TileConfigureOp(rows, widths))

    def _group(self, kind: GroupLoops, bound: Bound) -> None:
        plan, images = self.plan, len(kind.group.tiles)
        change = {**kind.change, **self._first_quad}
        inputs, write = (self.roles.image, self.roles.filter), self.nest.writes[0]
        reads = [replace(a, place=a.place.at(change)) for a in inputs]
        if self.plan.prefetch_next:
            reads.append(self._ahead(reads[1], kind))
        places = self.memory.places(reads, bound)
        for tile in range(images * plan.panels):
            self.e.add(glow_vec.TileZeroOp(tile))
        self._reduce(0, reads, places, kind)
        if self._stores_directly:
            write = replace(write, place=write.place.at(change))
            self._store(kind, write, self.memory.places([write], bound)[write])
        else:
            self._store(kind, None, Address(None, 0))
            nest = kind.finishing(self.nest, self._sums)
            schedule = bound_finish(nest, self._finish[kind.group])
            VectorNest(nest, schedule, self.memory, self.machine).run(bound)

    def _store(self, kind: GroupLoops, write: Access | None, place: Address) -> None:
        """Stores accumulators: as what the nest writes, or in the array of results."""
        panels, joined = self.plan.panels, self.plan.joined
        outer, inner, between = 0, panels * COLUMNS, COLUMNS
        if write is not None:
            outer, inner = (stride_of(self.nest.writes[0], d) for d in self.plan.line)
            between = COLUMNS if joined is None else stride_of(self.nest.writes[0], joined)
        base = self.memory.flat[self._sums if write is None else write.buffer]
        for i, (row, pixel, at) in enumerate(kind.group.tiles):
            start = at * inner if write is None else row * outer + pixel * inner
            for panel in range(panels):
                to = self.memory.at(place.moved(start + panel * between))
                tile = i * panels + panel
                self.e.add(glow_vec.TileStoreOp(tile, base, [to], inner * _SUM_BYTES))

    def _reduce(
        self, level: int, reads: Sequence[Access], places: Addresses, kind: GroupLoops
    ) -> None:
        if level == len(self._steps):
            self._step(reads, places, kind)
            return
        dim = self._steps[level]
        if 0 < level == len(self._steps) - 1 and dim.size <= _MOST_UNROLLED:
            numbers = range(dim.size)
        else:
            numbers = self.e.loop(dim.size)
        for number in numbers:
            self._reduce(level + 1, reads, self.memory.advance(places, dim, number), kind)

    def _step(self, reads: Sequence[Access], places: Addresses, kind: GroupLoops) -> None:
        """
        Adds the products of some tiles of the filter and of the image, for each pair of parts.
        """
        parts = self.roles.parts
        loaded: dict[int, Address] = {}
        for i in range(1 if parts is None else parts.size):
            chosen = places if parts is None else self.memory.advance(places, parts, i)
            self._products(reads[:2], chosen, kind, loaded)
        if self.plan.prefetch_distance:
            later = places[reads[1]].moved(self.plan.prefetch_distance)
            self._prefetch(reads[1], later, self.roles.quads, 3)
        for ahead in reads[2:]:
            self._prefetch(ahead, places[ahead], self._lines_ahead(kind), 2)

    def _products(
        self,
        reads: Sequence[Access],
        places: Addresses,
        kind: GroupLoops,
        loaded: dict[int, Address],
    ) -> None:
        """Loads tiles of the filter, then each tile of the image, and adds their products."""
        image, filters = reads
        panels = self.plan.panels
        outer, inner = (stride_of(self.roles.image, d) for d in self.plan.line)
        for panel, tile in enumerate(self._filter_tiles):
            at = places[filters].moved(panel * self._between)
            self._load(tile, filters, at, self.roles.pitch, loaded)
        for i, (row, pixel, _) in enumerate(kind.group.tiles):
            tile = self._image_tiles[i % len(self._image_tiles)]
            at = places[image].moved(row * outer + pixel * inner)
            self._load(tile, image, at, inner, loaded)
            for panel, other in enumerate(self._filter_tiles):
                acc = i * panels + panel
                self.e.add(glow_vec.TileDotOp(self.roles.product, acc, tile, other))

    def _ahead(self, filters: Access, kind: GroupLoops) -> Access:
        """
        Prefetches in a step for a group of pixels: its share of the lines that the same step reads
        of the next filter, or of the next panels, if those of one filter are many.
        """
        others = [d for d in self.roles.others if stride_of(self.roles.filter, d)]
        if self._is_near and others:
            next_one = stride_of(self.roles.filter, others[-1])
        else:
            next_one = self._between * self.plan.panels
        place, number = filters.place + next_one, 1
        for dim in reversed(kind.dims):
            place += Affine({dim: number * self._lines_ahead(kind) * self.roles.pitch})
            number *= dim.size
        return Access(filters.buffer, place)

    def _lines_ahead(self, kind: GroupLoops) -> int:
        """Lines that a group of pixels prefetches of each panel in a step."""
        parts = self.roles.parts
        copies = 1 if parts is None else len(set(table_of(self.roles.filter, parts)))
        return -(-self.roles.quads * copies // prod(d.size for d in kind.dims))

    def _load(
        self, tile: int, access: Access, place: Address, stride: int, loaded: dict[int, Address]
    ) -> None:
        """Loads a tile, unless it is there already."""
        if loaded.get(tile) == place:
            return
        loaded[tile] = place
        at, base = self.memory.at(place), self.memory.flat[access.buffer]
        size = element_bytes(access.element)
        self.e.add(glow_vec.TileLoadOp(tile, base, [at], stride * size))

    @property
    def _between(self) -> int:
        """Elements from a panel of the filter to the next."""
        return self.plan.panel_bytes // self.roles.filter_size

    def _prefetch(self, filters: Access, place: Address, lines: int, locality: int) -> None:
        """Prefetches some lines of each panel."""
        for panel, line in product(range(self.plan.panels), range(lines)):
            at = panel * self._between + line * self.roles.pitch
            self.memory.prefetch(filters, place.moved(at), locality)
