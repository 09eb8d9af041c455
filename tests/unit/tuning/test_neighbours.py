"""Neighbours of schedules of all kinds fit their nests, and compute what the best by cost does."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields, replace
from math import prod
from pathlib import Path

import glow
import pytest
from glow.glow_dialects.glow_nest.affine import Buffer, Dim, View, affine
from glow.glow_dialects.glow_nest.body import Body
from glow.glow_dialects.glow_nest.content import with_unique_names
from glow.glow_dialects.glow_nest.nest import Combine, Nest, Reduction
from glow.glow_dialects.glow_nest.schedule import KINDS, AmxTile, Reduce, RegisterTile
from glow.glow_dialects.glow_nest.simplification import simplified
from glow.glow_dialects.machine import MachineDescription
from glow.lowering.kernels.schedule_nests import schedule_of
from glow.lowering.kernels.schedules.around import Around, NextPanel
from glow.lowering.kernels.schedules.best_schedule import best_schedule
from glow.lowering.kernels.schedules.fitted_schedule import fitted
from glow.lowering.target import find_target
from glow.tests.support.seeds import generator
from glow.tuning import neighbours as near
from glow.tuning.candidates import neighbours, ranked_schedules
from glow.tuning.jobs import Job, jobs_of, nests_of
from glow.tuning.rivals import Rivals
from glow.tuning.search import text_of
from xdsl.dialects.builtin import f32, i8, i32

GRAPHS = {
    "stack": (
        "%x: tensor<3x7x11xf32>",
        "glow.hard_swish %x : (tensor<3x7x11xf32>) -> tensor<3x7x11xf32>",
    ),
    "transpose": (
        "%x: tensor<24x17xf32>",
        "glow.transpose %x permutation [1, 0] : (tensor<24x17xf32>) -> tensor<17x24xf32>",
    ),
    "product": (
        "%x: tensor<13x40xf32>, %w: tensor<40x17xf32>",
        "glow.matmul %x, %w : (tensor<13x40xf32>, tensor<40x17xf32>) -> tensor<13x17xf32>",
    ),
    "gather": (
        "%x: tensor<9x40xf32>, %i: tensor<6xi64>",
        "glow.gather %x, %i axis 0 : (tensor<9x40xf32>, tensor<6xi64>) -> tensor<6x40xf32>",
    ),
    "rows": (
        "%x: tensor<5x40xf32>",
        "glow.softmax %x axis 1 : (tensor<5x40xf32>) -> tensor<5x40xf32>",
    ),
    "convolution": (
        "%x: tensor<1x16x9x9xf32>, %w: tensor<16x16x1x1xf32>, %b: tensor<16xf32>",
        "glow.convolution %x, %w, %b : (tensor<1x16x9x9xf32>, tensor<16x16x1x1xf32>, "
        "tensor<16xf32>) -> tensor<1x16x9x9xf32>",
    ),
}
"""Parameters of a graph, and its node."""
AMX = MachineDescription(has_int8_tiles=True)


def jobs(name: str, folder: Path) -> Sequence[Job]:
    parameters, node = GRAPHS[name]
    result = node.rsplit("-> ", 1)[1]
    path = folder / f"{name}.mlir"
    path.write_text(
        f"func.func @main({parameters}) -> {result} {{\n  %y = {node}\n"
        f"  func.return %y : {result}\n}}\n"
    )
    model = glow.compile(str(path), schedules="none", cache=False)
    return jobs_of(model.stages["nests"], find_target(None, None, None).describe())


def test_any_loop_over_pixels_may_be_the_innermost():
    """Filters that are prefetched meanwhile are divided among tiles of one pixel, too."""
    p, q, o, k = Dim("p", 14), Dim("q", 14), Dim("o", 8), Dim("k", 16)
    c, lane = Dim("c", 40), Dim("l", 16)
    image, filters, result = (
        View.dense(Buffer(f32, 0, prod(shape), i), shape)
        for i, shape in enumerate(((40, 14, 20, 16), (8, 640, 16), (8, 14, 20, 16)))
    )
    factors = (image[[c, p, q, lane]], filters[[o, affine(c) * 16 + lane, k]])
    nest = Nest(
        (o, p, q, k),
        (result[[o, p, q, k]],),
        Body.passing(f32),
        reduction=Reduction(Combine.ADD, f32, factors),
        reduced=(c, lane),
    )
    machine = MachineDescription()
    nest, best = best_schedule(simplified(nest), machine)
    found = [s for _, s in neighbours(nest, (nest, best), machine) if isinstance(s, RegisterTile)]
    assert any(s.prefetch_lines and not s.parts_of(s.order[-2]) for s in found)


def test_chunks_are_within_blocks() -> None:
    """A schedule with chunks whose innermost loop is that over blocks does not fit."""
    o, t, k = Dim("o", 6), Dim("t", 49), Dim("k", 8)
    c, lane = Dim("c", 48), Dim("l", 8)
    image, filters, result = (
        View.dense(Buffer(f32, 0, prod(shape), i), shape)
        for i, shape in enumerate(((48, 49, 8), (6, 384, 8), (6, 49, 8)))
    )
    nest = Nest(
        (o, t, k),
        (result[[o, t, k]],),
        Body.passing(f32),
        reduction=Reduction(
            Combine.ADD, f32, (image[[c, t, lane]], filters[[o, affine(c) * 8 + lane, k]])
        ),
        reduced=(c, lane),
        raw=True,
    )
    machine = MachineDescription(vector_bits=256, vector_registers=16, l1_bytes=32768)
    best = best_schedule(simplified(nest), machine)
    assert isinstance(best[1], RegisterTile)
    assert best[1].chunks is not None
    assert list(neighbours(simplified(nest), best, machine))
    innermost = replace(best[1], order=(t, k, o))
    with pytest.raises(ValueError, match="expected the loops o, t, k, c, l, found chunk"):
        fitted(simplified(nest), innermost, machine)


@pytest.mark.parametrize("name", GRAPHS)
def test_neighbours_compute_the_same(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Rivals, "_in_turns", lambda _self, _one, _other, n: ([1.0] * n, [0.5] * n))
    target = find_target(None, None, None)
    machine, tried = target.describe(), 0
    for job in jobs(name, tmp_path):
        rivals = Rivals(job, target)
        for numbered in nests_of(job.kernel, machine):
            nest, around = numbered.nest, numbered.around
            best = next(ranked_schedules(nest, machine, around))
            found = list(neighbours(nest, best, machine, around))
            for i in generator().permutation(len(found))[:5]:
                text = text_of(found[i][1])
                assert text_of(fitted(nest, schedule_of(text, "here"), machine)[1]) == text
                assert rivals.challenge({str(numbered.number): text}), text
                tried += 1
    assert tried > 0


def test_every_field_of_every_kind_has_a_rule() -> None:
    declared = {str(f.type) for kind in KINDS.values() for f in fields(kind)}  # pyright: ignore
    assert declared == set(near._NEAR)  # pyright: ignore[reportPrivateUsage]


def amx_nest(lines: int, size: int) -> Nest:
    """Returns a product of bytes as tile registers compute it."""
    x, w, y = (
        View.dense(Buffer(t, 0, prod(shape)), shape)
        for t, shape in ((i8, (lines, size, 64)), (i8, (2, 16, 16, 4)), (i32, (lines, size, 32)))
    )
    line, place, o, lane, q = (
        Dim(*of) for of in (("l", lines), ("p", size), ("o", 2), ("j", 16), ("q", 16))
    )
    reads = (x[[line, place, affine(q) * 4]], w[[o, q, lane, 0]])
    write = y[[line, place, affine(o) * 16 + lane]]
    reduction = Reduction(Combine.ADD, i32, reads, terms=4)
    return Nest((line, place, o, lane), (write,), Body.passing(i32), (), reduction, (q,))


def test_tile_registers_have_the_plans_of_the_model() -> None:
    nest = with_unique_names(simplified(amx_nest(5, 70)))[0]
    best, *others = ranked_schedules(nest, AMX)
    assert isinstance(best[1], AmxTile)
    tiles = [s for _, s in others if isinstance(s, AmxTile)]
    assert len(tiles) > 1
    for schedule in tiles:
        again = fitted(nest, schedule_of(text_of(schedule), "here"), AMX)
        assert text_of(again[1]) == text_of(schedule)
    near = [s for _, s in neighbours(nest, best, AMX) if isinstance(s, AmxTile)]
    assert True in [s.prefetch_next for s in near]
    with pytest.raises(ValueError, match="expected tiles that cover all pixels once"):
        fitted(nest, replace(best[1], rows=best[1].rows + 1), AMX)


def test_only_neighbours_in_prefetches_differ_in_them() -> None:
    x, w, y = (
        View.dense(Buffer(f32, 0, prod(shape), i), shape)
        for i, shape in enumerate(((5, 64), (64, 24), (5, 24)))
    )
    row, column, term = Dim("i", 5), Dim("j", 24), Dim("t", 64)
    products = Reduction(Combine.ADD, f32, (x[[row, term]], w[[term, column]]))
    write = (y[[row, column]],)
    nest = Nest((row, column), write, Body.passing(f32), (), products, (term,))
    next_panel = NextPanel(affine(1536), term, 24, affine(row), 13, row, 16, True, False)
    around = Around(next_panel)
    best = best_schedule(nest, AMX, around)
    assert isinstance(best[1], Reduce)
    near = [s for _, s in neighbours(nest, best, AMX, around) if isinstance(s, Reduce)]
    without = [s for s in near if s.prefetch_lines is None]
    assert [text_of(s) for s in without] == [text_of(replace(best[1], prefetch_lines=None))]
    assert len(near) > 5


def test_tiles_grow_along_one_loop_and_shrink_along_another() -> None:
    i, j = Dim("i", 8), Dim("j", 3)
    found = near._near_tiles({i: 3, j: 2}, lambda d: d.size)  # pyright: ignore[reportPrivateUsage]
    assert {i: 4, j: 2} in found
    assert {i: 8, j: 1} in found
    assert {i: 2, j: 3} in found
    assert {i: 3, j: 2} not in found
    assert all(1 <= n <= d.size for tile in found for d, n in tile.items())
    sizes = [prod(tile.values()) for tile in found]
    assert sizes == sorted(sizes, reverse=True)
