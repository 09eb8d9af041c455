"""
Code for tile registers: the steps of a group of accumulators, then what is done with their results.

Accumulators go to a small array on the stack, from which a nest of its own takes them: it has the
body of the whole nest, and is computed with vectors like any other.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from itertools import product
from math import prod
from typing import Protocol

from xdsl.dialects import memref
from xdsl.ir import SSAValue

from ...glow_dialects import glow_vec
from ...glow_dialects.glow_vec.tiles import QUAD, TILE_BYTES, TILES
from .affine import Access, Affine, Buffer, Dim
from .emit import Emitter
from .machine import MachineDescription
from .memory import Memory, Place
from .nest import Nest
from .partition import Share, Split, is_balanced
from .tiles import COLUMNS, Group, TilePlan, filter_bytes, replaced, stride_of, substituted

_PREFETCHED = 1 << 17
"""Bytes; larger filters are prefetched."""
_PREFETCH_BYTES = 4096
"""How far ahead."""
_NEAR = 4
"""A filter of at most this part of the second cache is read again for each group of pixels."""
_IMAGE = 2
"""While pixels meet a large filter, one part in so many of the second cache is theirs."""
_MOST_UNROLLED = 4
_SUM_BYTES = 4
_LEAST_STEPS = 32
"""Less work than this takes one thread no longer than it takes several to share it."""

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
    ):
        """`vectors` makes the generator of a nest without reduction."""
        self.nest = nest
        self.plan = plan
        self.roles = plan.roles
        self.e = emitter
        self.machine = machine
        self._vectors = vectors
        self._threads = 1
        assert nest.reduction is not None
        element, width = nest.reduction.element, plan.panels * COLUMNS
        self._sums = Buffer(element, 0, plan.places * width)
        """Results of a group: those of a pixel are neighbours."""
        array = memref.AllocaOp.get(element, TILE_BYTES, [plan.places * width])
        emitter.add(array)
        self.memory = memory.replaced({self._sums: array.memref})
        size = filter_bytes(nest, self.roles)
        self._prefetches = size > _PREFETCHED
        self._is_near = size <= machine.l2_bytes // _NEAR
        buffer = self.roles.image.buffer
        self._blocks = 1
        """How many blocks the pixels need to be cut into, so that one of them stays near."""
        if not self._is_near:
            image = (buffer.high - buffer.low) * self.roles.size
            self._blocks = -(-image * _IMAGE // machine.l2_bytes)
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
        if depth is None:
            return list(self.nest.reduced), {}
        step = Dim("step", depth.size // quads)
        dims = [step if d is depth else d for d in self.nest.reduced]
        return [d for d in dims if d.size > 1], {depth: step * quads}

    # loops

    def choose_split(self, threads: int) -> Split | None:
        """Something if several threads divide the nest; None if one of them is to do it."""
        self._threads = threads
        panels = prod(d.size for d in (*self.roles.others, *self._panel_dims))
        groups = sum(prod(g.counts) for g in self.plan.groups)
        units = panels * groups * prod(d.size for d in self.roles.pixels[:-2])
        steps = units * prod(d.size for d in self._steps)
        return Split(0, 0) if units >= threads and steps >= _LEAST_STEPS else None

    def run(self, bound: Bound, split: Split | None = None, share: Share | None = None) -> None:
        """
        Emit the nest for the values of enclosing loop variables; with a split, only what `share`
        says is this thread's.
        """
        self._configure()
        panels = (*self.roles.others, *self._panel_dims)
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
        self.e.add(glow_vec.TileReleaseOp())

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
        places: Mapping[Access, Place] = {a: self.memory.start(a) for a in reads}
        for dim, value in bound.items():
            places = self.memory.advance(places, dim, value)
        for tile in range(images * plan.panels):
            self.e.add(glow_vec.TileZeroOp(tile))
        self._reduce(0, reads, places, kind)
        array, row = self.memory.memref(self._sums), plan.panels * COLUMNS
        for i, (_, _, at) in enumerate(kind.group.tiles):
            for panel in range(plan.panels):
                place = self.e.index(at * row + panel * COLUMNS)
                tile = i * plan.panels + panel
                self.e.add(glow_vec.TileStoreOp(tile, array, [place], row * _SUM_BYTES))
        self._vectors(self._finish(kind), self.e, self.memory, self.machine).run(bound)

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
        """Load tiles of the filter, then each tile of the image, and add their products."""
        image, filters = reads
        panels = self.plan.panels
        outer, inner = (stride_of(self.roles.image, d) for d in self.plan.line)
        pitch, between = self.roles.pitch, self.plan.panel_bytes // self.roles.size
        for panel, tile in enumerate(self._filter_tiles):
            self._load(tile, filters, places[filters], panel * between, pitch)
        for i, (row, pixel, _) in enumerate(kind.group.tiles):
            tile = self._image_tiles[i % len(self._image_tiles)]
            self._load(tile, image, places[image], row * outer + pixel * inner, inner)
            for panel, other in enumerate(self._filter_tiles):
                acc = i * panels + panel
                self.e.add(glow_vec.TileDotOp(self.roles.product, acc, tile, other))
        if self._prefetches:
            for panel, quad in product(range(panels), range(self.roles.quads)):
                at = panel * between + quad * pitch + _PREFETCH_BYTES // self.roles.size
                self.memory.prefetch(filters, places[filters], at)

    def _load(self, tile: int, access: Access, place: Place, offset: int, stride: int) -> None:
        at, base = self.memory.at(place, offset), self.memory.memref(access.buffer)
        self.e.add(glow_vec.TileLoadOp(tile, base, [at], stride * self.roles.size))

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


class GroupLoops:
    """Groups of one kind, and the loops over them."""

    def __init__(self, group: Group, plan: TilePlan, others: Sequence[Dim]):
        self.group = group
        ahead = [Dim(name, count) for name, count in zip(("rows", "tiles"), group.counts)]
        self.dims = (*others, *ahead)
        self.first = {
            dim: number * extent + start
            for dim, number, extent, start in zip(
                plan.line, ahead, group.extent, group.start, strict=True
            )
        }
        """The first point of a group."""

    def blocks(self, most: int) -> Sequence[Dim]:
        """
        The outer loops, which cut the pixels into about `most` blocks of groups, or more. A loop
        over groups may become two.
        """
        count = 1
        for position, dim in enumerate(self.dims):
            if count >= most:
                return self.dims[:position]
            wanted = -(-most // count)
            if dim.size > wanted and any(dim in first.terms for first in self.first.values()):
                self._cut(position, min(d for d in _divisors(dim.size) if d >= wanted))
                return self.dims[: position + 1]
            count *= dim.size
        return self.dims

    def _cut(self, position: int, blocks: int) -> None:
        """Replace a loop over groups by one over blocks and one over the groups of a block."""
        old = self.dims[position]
        block, group = Dim("block", blocks), Dim(old.name, old.size // blocks)
        change = {old: block * group.size + group}
        self.dims = (*self.dims[:position], block, group, *self.dims[position + 1 :])
        self.first = {dim: replaced(place, change) for dim, place in self.first.items()}


def _divisors(number: int) -> list[int]:
    return [d for d in range(1, number + 1) if number % d == 0]
