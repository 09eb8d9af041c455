"""Prefetches that follow from the loops around nests, and from where data come from."""

from __future__ import annotations

from itertools import product

import pytest
from glow.glow_dialects.glow_nest.affine import Access, Affine, Buffer, Dim, View
from glow.glow_dialects.glow_nest.body import Body
from glow.glow_dialects.glow_nest.kernel import KernelOp
from glow.glow_dialects.glow_nest.nest import (
    Combine,
    Nest,
    NumberList,
    Reduction,
    Repeat,
    RepeatListed,
    Step,
)
from glow.glow_dialects.glow_nest.schedule import Elementwise, Reducing
from glow.glow_dialects.glow_nest.steps import KernelSteps
from glow.glow_dialects.machine import MachineDescription
from glow.glow_dialects.scalar import Expr
from glow.lowering.kernels.schedules.around import ALONE, Around, loops_around
from glow.lowering.kernels.schedules.best_schedule import best_schedule
from glow.lowering.kernels.schedules.prefetch import streams
from xdsl.dialects.builtin import MemRefType, f32
from xdsl.rewriter import InsertPoint

TERMS, WIDTH, LINE, TILE_ROWS = 40, 16, 16, 8


def view(*shape: int, parameter: int | None = None) -> View:
    return View.dense(Buffer(f32, 0, 1 << 20, parameter), shape)


def products(
    x: View, panels: View, y: View, p: Dim | int, first: Affine, rows: int
) -> tuple[Nest, Dim]:
    """Returns the products of some rows with a panel."""
    width = panels.shape[-1]
    i, j, t = Dim("i", rows), Dim("j", width), Dim("t", TERMS)
    reads = x[[first + i, t]], panels[[p, t, j]]
    reduction = Reduction(Combine.ADD, f32, reads)
    write = (y[[first + i, Affine({p: width, j: 1}) if isinstance(p, Dim) else j]],)
    return Nest((i, j), write, Body.passing(f32), (), reduction, (t,)), i


def around(step: Step, *views: View) -> dict[Nest, Around]:
    """Returns the facts about loops around the nests of a kernel with one step."""
    kernel = KernelOp("k", [MemRefType(f32, [v.buffer.high]) for v in views])
    buffers = [v.buffer for v in views]
    steps = KernelSteps(kernel, dict(zip(kernel.body.block.args, buffers, strict=True)))
    steps.write([step], InsertPoint.at_end(kernel.body.block))
    return {
        steps.nest(op): found for op, found in loops_around(steps, MachineDescription()).items()
    }


def prefetched(found: Around, nest: Nest) -> tuple[Access, ...]:
    """Returns the elements of the next panel that each step of a nest prefetches."""
    _, schedule = best_schedule(nest, MachineDescription(), found)
    assert isinstance(schedule, Reducing)
    lines = schedule.prefetch_lines
    return () if lines is None else lines.accesses(nest)


@pytest.mark.parametrize("rows", [8, 24, 32, 61])
def test_rows_prefetch_the_next_panel(rows: int):
    x, y = view(100, TERMS, parameter=0), view(100, 5 * WIDTH, parameter=2)
    panels = view(5, TERMS, WIDTH, parameter=1)
    p, block = Dim("p", 4), Dim("b", rows // TILE_ROWS)
    start = Affine({}, 3)  # of these rows among all
    inner, _ = products(x, panels, y, p, start + block * TILE_ROWS, TILE_ROWS)
    steps: list[Step] = [Repeat(block, [inner])]
    if rest := rows % TILE_ROWS:
        first = start + rows // TILE_ROWS * TILE_ROWS
        steps.append(products(x, panels, y, p, first, rest)[0])
    loop = Repeat(p, steps)
    found = around(loop, x, panels, y)
    assert len(found) == len(loop.steps)
    lines: set[int] = set()
    for nest, one in found.items():
        outer = block if nest is inner else Dim("", 1)
        (access,) = prefetched(one, nest)
        assert access.buffer is panels.buffer
        for b, t, n in product(range(outer.size), range(TERMS), range(4)):
            terms = {d.name: s for d, s in access.place.terms.items()}
            assert all(isinstance(s, int) for s in terms.values())
            place = access.place.constant + b * terms.get("b", 0) + t * terms["t"]  # pyright: ignore
            lines.add((place + n * terms["p"]) // LINE)  # pyright: ignore
    panel = TERMS * WIDTH // LINE
    missing = set(range(panel, 5 * panel)) - lines
    # of the last rows, which fill no tile, or because of rounding
    assert len(missing) <= 4 * panel // 8


@pytest.mark.parametrize(
    ("rows", "lines_of_panel", "expected"),
    [(4, 1, 1), (4, 3, 0), (13, 3, 2), (24, 3, 1), (61, 3, 1)],
)
def test_lines_of_a_step(rows: int, lines_of_panel: int, expected: int):
    """Fewer tiles prefetch more lines in each step; a single tile prefetches one or none."""
    width = lines_of_panel * LINE
    x, y = view(100, TERMS, parameter=0), view(100, 5 * width, parameter=2)
    panels, p = view(5, TERMS, width, parameter=1), Dim("p", 4)
    nest, _ = products(x, panels, y, p, Affine(), rows)
    (one,) = around(Repeat(p, [nest]), x, panels, y).values()
    assert len(prefetched(one, nest)) == expected


def test_panels_that_stay_are_not_prefetched():
    x, y = view(100, TERMS, parameter=0), view(100, 5 * WIDTH, parameter=2)
    panels = view(5, TERMS, WIDTH, parameter=1)
    nest, _ = products(x, panels, y, 0, Affine(), 32)
    loop = Repeat(Dim("n", 4), [nest])
    assert not around(loop, x, panels, y)


def test_rows_of_a_list_are_read_ahead():
    rows, sums = view(50, 64, parameter=1), view(64)
    numbers, count, t, n, j = view(50), view(), Dim("t", 50), Dim("n", 50), Dim("j", 64)
    nest = Nest((j,), (sums[[j]],), Body.passing(f32), (rows[[n, j]],), in_place=True)
    loop = RepeatListed((n,), NumberList(t, numbers[[t]], count[()]), steps=[nest])
    steps = Repeat(Dim("part", 2), [loop])
    assert around(steps, rows, sums, numbers, count) == {nest: Around(chosen=True)}
    for chosen, expected in ((Around(chosen=True), {0: 128}), (ALONE, {})):
        _, schedule = best_schedule(nest, MachineDescription(), chosen)
        assert isinstance(schedule, Elementwise)
        assert schedule.prefetch_distance == expected


def test_only_parameters_are_read_ahead():
    rows, scratch, sums = view(50, 64, parameter=1), view(64), view(64)
    n, j = Dim("n", 50), Dim("j", 64)
    body = Body((Expr.argument(0) + Expr.argument(1),), (f32,))
    nest = Nest((j,), (sums[[j]],), body, (scratch[[j]], rows[[n, j]]))
    _, schedule = best_schedule(nest, MachineDescription(), Around(chosen=True))
    assert isinstance(schedule, Elementwise)
    assert list(schedule.prefetch_distance) == [1]


@pytest.mark.parametrize(
    ("parameters", "expected"), [((None, 1, None), True), ((0, 1, None), False), ((0, 1, 2), False)]
)
def test_streams(parameters: tuple[int | None, ...], expected: bool):
    """A nest streams its filter if all else is in scratch."""
    x, y = view(9, TERMS, parameter=parameters[0]), view(9, WIDTH, parameter=parameters[2])
    nest, _ = products(x, view(1, TERMS, WIDTH, parameter=parameters[1]), y, 0, Affine(), 9)
    assert nest.reduction is not None
    image, filters = nest.reduction.reads
    assert streams(nest, filters) is expected
    assert not streams(nest, image)
