"""
Code for tile registers: the steps of a group of accumulators, then what is done with their results.

Accumulators go to a small array on the stack, from which a nest of its own takes them: it has the
body of the whole nest, and is computed with vectors like any other.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from itertools import product
from math import ceil, prod
from typing import Protocol

from xdsl.dialects import memref
from xdsl.ir import SSAValue

from ....glow_dialects import glow_vec
from ....glow_dialects.elements import element_bytes
from ....glow_dialects.glow_nest.affine import Access, Affine, Buffer, Dim
from ....glow_dialects.glow_nest.nest import Nest
from ....glow_dialects.glow_vec.tiles import QUAD, TILE_BYTES, TILES
from ....glow_dialects.machine import MachineDescription
from ....glow_dialects.timings import TIMINGS
from ..schedules.amx_tile import (
    COLUMNS,
    TilePlan,
    filter_bytes,
    image_bytes,
    stride_of,
    substituted,
    table_of,
)
from ..threads.split import Share, Split, is_balanced
from .amx_groups import GroupLoops
from .emit import Emitter
from .memory import Memory, Place

_MOST_UNROLLED = 4
_SUM_BYTES = 4

Bound = Mapping[Dim, "SSAValue | int"]


class _Runs(Protocol):
    def run(self, bound: Bound) -> None: ...


class TileGenerator:
    """The code of one nest, with the interface of `generate.NestGenerator`."""

    def __init__(
        self,
        nest: Nest,
        plan: TilePlan,
        emitter: Emitter,
        memory: Memory,
        machine: MachineDescription,
        vectors: Callable[[Nest, Emitter, Memory, MachineDescription], _Runs],
        threads: int = 1,
    ):
        """`vectors` makes the generator of a nest without reduction."""
        self.nest = nest
        self.plan = plan
        self.roles = plan.roles
        self.e = emitter
        self.machine = machine
        self._vectors = vectors
        self._threads = threads
        assert nest.reduction is not None
        element, width = nest.reduction.element, plan.panels * COLUMNS
        self._sums = Buffer(element, 0, plan.places * width)
        """Results of a group: those of a pixel are neighbours."""
        array = memref.AllocaOp.get(element, TILE_BYTES, [plan.places * width])
        emitter.add(array)
        self.memory = memory.replaced({self._sums: array.memref})
        size = filter_bytes(nest, self.roles)
        self._is_near = size <= int(machine.l2_bytes * TIMINGS.amx_filters_l2_share)
        self._blocks = 1
        """How many blocks the pixels need to be cut into, so that one of them stays near."""
        if not self._is_near:
            most = machine.l2_bytes * TIMINGS.amx_image_l2_share
            self._blocks = ceil(image_bytes(nest, self.roles) / most)
        first = TILES - plan.panels
        self._filter_tiles = range(first, TILES)
        self._image_tiles = range(plan.images * plan.panels, first)
        column = Dim("column", plan.columns)
        self._panel_dims = (*(d for d in self.roles.panels if d is not plan.joined), column)
        self._first_lane = {plan.joined or self.roles.lane: column * plan.panels_step}
        self._steps, self._first_quad = self._reduced()

    def _reduced(self) -> tuple[list[Dim], dict[Dim, Affine]]:
        """The loops of steps, and where in the depth each step begins."""
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
        Emit the nest for the values of enclosing loop variables; with a split, only what `share`
        says is this thread's.
        """
        self._configure()
        others = self.roles.others
        if share is None or is_balanced(prod(d.size for d in others), self._threads):
            # one product after the other, each of which has its own image and filter
            self._loops(others, bound, lambda inner: self._product((), inner), share)
        else:
            self._product(others, bound, share)
        self.e.add(glow_vec.TileReleaseOp())

    def _product(self, others: Sequence[Dim], bound: Bound, share: Share | None = None) -> None:
        """The loops over pixels and panels, and over further dimensions outside of them."""
        panels = (*others, *self._panel_dims)
        kinds = [GroupLoops(group, self.plan, self.roles.pixels[:-2]) for group in self.plan.groups]
        balanced = share is None or is_balanced(prod(d.size for d in panels), self._threads)
        if not self._is_near and balanced and self._blocks == 1:
            # while the filter of some panels is near, all pixels meet it

            def pixels(inner: Bound) -> None:
                for kind in kinds:
                    self._loops(kind.dims, inner, lambda b, kind=kind: self._group(kind, b))

            self._loops(panels, bound, pixels, share)
        else:
            for kind in kinds:
                outside = kind.dims if self._is_near else kind.blocks(self._blocks)
                dims = (*outside, *panels, *kind.dims[len(outside) :])
                self._loops(dims, bound, lambda b, kind=kind: self._group(kind, b), share)

    def _loops(
        self,
        dims: Sequence[Dim],
        bound: Bound,
        body: Callable[[Bound], None],
        share: Share | None = None,
    ) -> None:
        if share is not None:

            def unit(numbers: Sequence[SSAValue | int]) -> None:
                body({**bound, **dict(zip(dims, numbers, strict=True))})

            sizes = [d.size for d in dims]
            share(prod(sizes), lambda first, end: self.e.loop_units(sizes, first, end, unit))
            return
        if not dims:
            body(bound)
            return

        def inside(iv: SSAValue | int, _: Sequence[SSAValue]) -> Sequence[SSAValue]:
            self._loops(dims[1:], {**bound, dims[0]: iv}, body)
            return ()

        self.e.loop(dims[0].size, 1, (), inside)

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
        change = {**kind.first, **self._first_lane, **self._first_quad}
        reads = [substituted(a, change) for a in (self.roles.image, self.roles.filter)]
        if self.plan.prefetch_next:
            reads.append(self._ahead(reads[1], kind))
        places = self._places(reads, bound)
        for tile in range(images * plan.panels):
            self.e.add(glow_vec.TileZeroOp(tile))
        self._reduce(0, reads, places, kind)
        if self._stores_directly:
            self._store_results(kind, change, bound)
            return
        array, row = self.memory.memref(self._sums), plan.panels * COLUMNS
        for i, (_, _, at) in enumerate(kind.group.tiles):
            for panel in range(plan.panels):
                place = self.e.index(at * row + panel * COLUMNS)
                tile = i * plan.panels + panel
                self.e.add(glow_vec.TileStoreOp(tile, array, [place], row * _SUM_BYTES))
        self._vectors(self._finish(kind), self.e, self.memory, self.machine).run(bound)

    def _places(self, accesses: Sequence[Access], bound: Bound) -> Mapping[Access, Place]:
        """Where accesses are for the values of loop variables."""
        places: Mapping[Access, Place] = {a: self.memory.start(a) for a in accesses}
        for dim, value in bound.items():
            places = self.memory.advance(places, dim, value)
        return places

    def _store_results(self, kind: GroupLoops, change: Mapping[Dim, Affine], bound: Bound) -> None:
        """Accumulators are what the nest writes."""
        write = substituted(self.nest.writes[0], change)
        place = self._places([write], bound)[write]
        outer, inner = (stride_of(self.nest.writes[0], d) for d in self.plan.line)
        joined = self.plan.joined
        between = COLUMNS if joined is None else stride_of(self.nest.writes[0], joined)
        base = self.memory.memref(write.buffer)
        for i, (row, pixel, _) in enumerate(kind.group.tiles):
            for panel in range(self.plan.panels):
                at = self.memory.at(place, row * outer + pixel * inner + panel * between)
                tile = i * self.plan.panels + panel
                self.e.add(glow_vec.TileStoreOp(tile, base, [at], inner * _SUM_BYTES))

    @property
    def _stores_directly(self) -> bool:
        """Whether whole tiles are written as they are."""
        nest, reduction = self.nest, self.nest.reduction
        assert reduction is not None
        return (
            nest.raw
            and not nest.operands
            and nest.writes[0].element == reduction.element
            and self.roles.lane.size % COLUMNS == 0
            and len(self.roles.pixels) == 1
        )

    def _reduce(
        self, level: int, reads: Sequence[Access], places: Mapping[Access, Place], kind: GroupLoops
    ) -> None:
        if level == len(self._steps):
            self._step(reads, places, kind)
            return
        dim = self._steps[level]
        if 0 < level == len(self._steps) - 1 and dim.size <= _MOST_UNROLLED:
            for i in range(dim.size):
                self._reduce(level + 1, reads, self.memory.advance(places, dim, i), kind)
            return

        def body(iv: SSAValue | int, _: Sequence[SSAValue]) -> Sequence[SSAValue]:
            self._reduce(level + 1, reads, self.memory.advance(places, dim, iv), kind)
            return ()

        self.e.loop(dim.size, 1, (), body)

    def _step(
        self, reads: Sequence[Access], places: Mapping[Access, Place], kind: GroupLoops
    ) -> None:
        """Add the products of some tiles of the filter and of the image, for each pair of parts."""
        parts = self.roles.parts
        loaded: dict[int, Place] = {}
        for i in range(1 if parts is None else parts.size):
            chosen = places if parts is None else self.memory.advance(places, parts, i)
            self._products(reads[:2], chosen, kind, loaded)
        if self.plan.prefetch_distance:
            self._prefetch(reads[1], places[reads[1]])
        for ahead in reads[2:]:
            for panel, line in product(range(self.plan.panels), range(self._lines_ahead(kind))):
                at = panel * self._between + line * self.roles.pitch
                self.memory.prefetch(ahead, places[ahead], at, locality=2)

    def _products(
        self,
        reads: Sequence[Access],
        places: Mapping[Access, Place],
        kind: GroupLoops,
        loaded: dict[int, Place],
    ) -> None:
        """Load tiles of the filter, then each tile of the image, and add their products."""
        image, filters = reads
        panels = self.plan.panels
        outer, inner = (stride_of(self.roles.image, d) for d in self.plan.line)
        for panel, tile in enumerate(self._filter_tiles):
            at = _behind(places[filters], panel * self._between)
            self._load(tile, filters, at, self.roles.pitch, loaded)
        for i, (row, pixel, _) in enumerate(kind.group.tiles):
            tile = self._image_tiles[i % len(self._image_tiles)]
            at = _behind(places[image], row * outer + pixel * inner)
            self._load(tile, image, at, inner, loaded)
            for panel, other in enumerate(self._filter_tiles):
                acc = i * panels + panel
                self.e.add(glow_vec.TileDotOp(self.roles.product, acc, tile, other))

    def _ahead(self, filters: Access, kind: GroupLoops) -> Access:
        """
        What a group of pixels prefetches in a step: its share of the lines that the same step reads
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
        self, tile: int, access: Access, place: Place, stride: int, loaded: dict[int, Place]
    ) -> None:
        """Load a tile, unless it is there already."""
        if loaded.get(tile) == place:
            return
        loaded[tile] = place
        at, base = self.memory.at(place), self.memory.memref(access.buffer)
        size = element_bytes(access.element)
        self.e.add(glow_vec.TileLoadOp(tile, base, [at], stride * size))

    @property
    def _between(self) -> int:
        """Elements from a panel of the filter to the next."""
        return self.plan.panel_bytes // self.roles.filter_size

    def _prefetch(self, filters: Access, place: Place) -> None:
        for panel, quad in product(range(self.plan.panels), range(self.roles.quads)):
            at = panel * self._between + quad * self.roles.pitch
            self.memory.prefetch(filters, place, at + self.plan.prefetch_distance)

    def _finish(self, kind: GroupLoops) -> Nest:
        """What the nest does with the results of a group."""
        plan, group, lane = self.plan, kind.group, self.roles.lane
        row, pixel = Dim("r", group.extent[0]), Dim("p", group.extent[1])
        long = lane.size > COLUMNS
        o = Dim("o", plan.panels * COLUMNS if long else lane.size)
        panel = Dim("panel", 1 if long else plan.panels)
        change = {**kind.first, **self._first_lane}
        for dim, more in (*zip(plan.line, (row, pixel), strict=True), (plan.joined, panel)):
            if dim is not None:
                change[dim] += more
        change[lane] = change.get(lane, Affine()) + o
        width = plan.panels * COLUMNS
        terms = {row: group.pitch * width, pixel: width, panel: COLUMNS, o: 1}
        sums = Access(self._sums, Affine(terms, group.place * width))
        writes, operands = (
            tuple(substituted(a, change) for a in accesses)
            for accesses in (self.nest.writes, self.nest.operands)
        )
        return replace(
            self.nest,
            parallel=(row, pixel, panel, o),
            writes=writes,
            operands=(sums, *operands),
            reduction=None,
            reduced=(),
        )


def _behind(place: Place, offset: int) -> Place:
    return Place(place.dynamic, place.constant + offset)
