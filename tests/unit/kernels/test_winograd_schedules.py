"""The schedules of Winograd convolutions: blocks of tiles, chunks, and what is prefetched."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import product
from math import prod
from typing import Any

import pytest
from glow.glow_dialects.costs import prefetched_bytes
from glow.glow_dialects.glow_cpu.winograd import TILES
from glow.glow_dialects.glow_nest.affine import Affine, Buffer, Dim, View
from glow.glow_dialects.glow_nest.body import Body
from glow.glow_dialects.glow_nest.nest import Combine, Nest, Reduction
from glow.glow_dialects.glow_nest.schedule import RegisterTile
from glow.glow_dialects.glow_nest.simplification import simplified
from glow.glow_dialects.machine import MachineDescription
from glow.glow_dialects.timings import TIMINGS
from glow.lowering.kernels.schedules.best_schedule import best_schedule
from glow.lowering.kernels.schedules.register_tile import tiled_product
from glow.lowering.kernels.schedules.tile_blocks import (
    choose_blocks,
    edges,
    spans,
)
from hypothesis import given
from hypothesis import strategies as st
from xdsl.dialects.builtin import f32

L2 = MachineDescription(l2_bytes=2 << 20)
SIZES = st.sampled_from([16, 64, 96, 256, 512])


@given(
    st.tuples(st.integers(1, 120), st.integers(1, 120)),
    st.sampled_from(TILES),
    st.tuples(SIZES, SIZES),
    st.integers(1, 3),
)
def test_near_blocks(counts: tuple[int, int], tile: int, channels: tuple[int, int], threads: int):
    """They cover all tiles, and stay near with all filters; or they are the usual ones."""
    planes, cache = (tile + 2) ** 2, L2.l2_bytes
    inputs, outputs = channels
    sizes = (planes * (6 * inputs + 4 * outputs), planes * 6 * inputs * outputs, L2, threads)
    chosen = choose_blocks(counts, (tile, tile), *sizes, near=True)
    rows, columns = (sum(s.blocks * s.tiles for s in spans) for spans in chosen.spans)
    assert (rows, columns) == tuple(-(-n // tile) for n in counts)
    is_near = chosen.tiles * sizes[0] + sizes[1] <= cache and chosen.count % threads == 0
    assert is_near or chosen == choose_blocks(counts, (tile, tile), *sizes)


@given(st.integers(1, 300), st.sampled_from(TILES), st.integers(1, 80))
def test_spans_cover_every_output_once(outputs: int, tile: int, most: int):
    written: list[int] = []
    for span in spans(outputs, tile, most):
        assert span.tiles <= most
        for block in range(span.blocks):
            first = span.start + block * span.tiles
            for edge in edges(span, tile):
                for t in range(edge.tiles):
                    at = (first + edge.start + t) * tile
                    written += range(at, at + edge.outputs)
    assert written == list(range(outputs))


@given(
    st.tuples(st.integers(1, 120), st.integers(1, 120)),
    st.sampled_from(TILES),
    st.integers(1, 64),
    st.integers(1, 64),
)
def test_blocks_fit(counts: tuple[int, int], tile: int, inputs: int, outputs: int):
    """They are as many as there must be, and not larger than the image."""
    plane = (tile + 2) ** 2 * 4
    tile_bytes, filter_bytes = plane * 16 * (inputs + outputs), plane * 256 * inputs * outputs
    blocks = choose_blocks(counts, (tile, tile), tile_bytes, filter_bytes, L2)
    rows, columns = (-(-n // tile) for n in counts)
    assert 1 <= blocks.tiles <= rows * columns
    assert blocks.count * blocks.tiles >= rows * columns
    assert blocks.tiles * tile_bytes <= TIMINGS.block_l2_caches * (2 << 20) or blocks.tiles == 1


def test_large_filters_are_read_once():
    """All 49 tiles in one block where the filters are 38 MB, rows of them where they are small."""
    large = choose_blocks((28, 28), (4, 4), 36 * 4 * 1024, 36 * 4 * 512 * 512, L2)
    assert (large.count, large.tiles) == (1, 49)
    small = choose_blocks((56, 56), (4, 4), 36 * 4 * 128, 36 * 4 * 64 * 64, L2)
    assert small.count > 1
    assert list(map(len, small.spans)) == [1, 1]


def test_points_do_not_grow_numbers():
    """No coefficient of B^T or A^T is larger than 4, so that rounding stays small."""
    from glow.semantics.cook_toom import winograd_transforms

    t = winograd_transforms(4)
    assert max(abs(c) for row in (*t.inputs, *t.outputs) for c in row) < Fraction(4)


@given(st.integers(1, 60), st.integers(2, 40), st.integers(1, 12), st.booleans())
def test_prefetch_covers_the_next_filters(tiles: int, outputs: int, inputs: int, raw: bool):
    """
    While all tiles meet some filters, the cache lines of as many that follow are prefetched, except
    perhaps the last few, because of rounding.
    """
    image = View.dense(Buffer(f32, 0, 1 << 30), (inputs, tiles, 16))
    filters = View.dense(Buffer(f32, 0, 1 << 30, parameter=1), (outputs, inputs * 16, 16))
    result = View.dense(Buffer(f32, 0, 1 << 30), (outputs, tiles, 16))
    o, t, c, lane, out = (
        Dim(name, size)
        for name, size in zip("otclk", (outputs, tiles, inputs, 16, 16), strict=True)
    )
    channel = Affine({c: 16, lane: 1})
    products = Reduction(
        Combine.ADD,
        f32,
        (image[[c, t, lane]], filters[[o, channel, out]]),
    )
    write = (result[[o, t, out]],)
    dims, sums = (o, t, out), (c, lane)
    nest = Nest(dims, write, Body.passing(f32), reduction=products, reduced=sums, raw=raw)
    nest, schedule = best_schedule(simplified(nest), MachineDescription())
    assert isinstance(schedule, RegisterTile)
    assert nest.reduction is not None
    pixels = [d for d in schedule.parts if image[[c, d, lane]].stride(d) and d.name == "t"]
    parts = schedule.parts[pixels[0]] if pixels else ()
    if not parts:
        assert not schedule.prefetch_lines
        return
    missing, _ = missing_lines(nest, schedule, pixels)
    chunks = 1 if schedule.chunks is None else schedule.chunks.number.size
    assert missing <= chunks * (tiles // 16 + 1)


def missing_lines(nest: Nest, schedule: RegisterTile, pixels: Sequence[Dim]) -> tuple[int, int]:
    """
    Returns how many cache lines of the next filters are not prefetched while all pixels meet some,
    the last dimension of which is cut into tiles; and how many there are.
    """
    assert schedule.prefetch_lines is not None
    prefetched = schedule.prefetch_lines.accesses(nest)
    (block,) = (d for d in schedule.parts if d.name == "o")
    panel = schedule.parts[block][0].tile * prod(d.size for d in nest.reduced) * 16
    *rows, last = pixels
    starts = [i for p in schedule.parts[last] for i in range(p.start, p.stop, p.tile)]
    dims = (*pixels, *nest.reduced)
    lines: set[int] = set()
    before, behind = ([range(d.size) for d in some] for some in (rows, nest.reduced))
    for place in product(*before, starts, *behind):
        for access in prefetched:
            at = access.place.constant
            for dim, i in zip(dims, place, strict=True):
                stride = access.stride(dim)
                assert isinstance(stride, int)
                at += stride * i
            lines.add(at // 16)
    return len(set(range(panel // 16, 2 * panel // 16)) - lines), panel // 16


@given(st.integers(2, 30), st.integers(2, 30), st.integers(1, 8))
def test_prefetch_covers_the_next_filters_of_images(rows: int, columns: int, inputs: int):
    """As before, where pixels lie in rows, or in a list of the pixels of all rows."""
    machine = replace(MachineDescription(), l2_bytes=2 << 20)
    outputs = prefetched_bytes(machine) // (inputs << 10) + 2
    image = View.dense(Buffer(f32, 0, 1 << 30, parameter=0), (inputs, rows, columns, 16))
    filters = View.dense(Buffer(f32, 0, 1 << 30, parameter=1), (outputs, inputs * 16, 16))
    # with a border, so that rows are no single range
    result = View.dense(Buffer(f32, 0, 1 << 30, parameter=2), (outputs, rows, columns + 2, 16))
    sizes = (outputs, rows, columns, inputs, 16, 16)
    o, y, x, c, lane, out = (Dim(n, s) for n, s in zip("oyxclk", sizes, strict=True))
    reads = image[[c, y, x, lane]], filters[[o, Affine({c: 16, lane: 1}), out]]
    products = Reduction(Combine.ADD, f32, reads)
    write, dims, sums = (result[[o, y, x, out]],), (o, y, x, out), (c, lane)
    nest = Nest(dims, write, Body.passing(f32), reduction=products, reduced=sums)
    nest, schedule = best_schedule(simplified(nest), machine)
    assert isinstance(schedule, RegisterTile)
    assert nest.reduction is not None
    pixels = [d for d in schedule.order if set(d.name) <= set("yx")]
    assert (len(pixels) == 1) == (schedule.listed is not None)
    if schedule.prefetch_lines is None:
        (block,) = (d for d in schedule.parts if d.name == "o")
        assert schedule.parts[block][0].tile * inputs * 256 < 4 * rows * columns
        return
    missing, lines = missing_lines(nest, schedule, pixels)
    # a share for each pixel is whole elements, of which there are at least four
    assert missing <= lines // 5 + 1


@pytest.mark.parametrize(
    ("inputs", "tiles", "kind", "is_cut"),
    [
        (512, 49, {"raw": True}, True),
        (512, 49, {}, True),
        (80, 49, {"raw": True}, False),
        (592, 49, {"raw": True}, False),
        (512, 49, {"in_place": True}, False),
        (512, 4, {"raw": True}, False),
    ],
    ids=["far", "body", "near", "prime number of blocks", "in place", "few tiles"],
)
def test_chunks_stay_in_the_first_cache(
    inputs: int, tiles: int, kind: Mapping[str, Any], is_cut: bool
):
    """Sums are cut where all filters that a tile meets do not."""
    machine = MachineDescription()
    image = View.dense(Buffer(f32, 0, 1 << 30), (inputs // 16, tiles, 16))
    filters = View.dense(Buffer(f32, 0, 1 << 30, parameter=1), (16, inputs, 16))
    result = View.dense(Buffer(f32, 0, 1 << 30), (16, tiles, 16))
    o, t, c, lane, out = (
        Dim(name, size)
        for name, size in zip("otclk", (16, tiles, inputs // 16, 16, 16), strict=True)
    )
    reads = image[[c, t, lane]], filters[[o, Affine({c: 16, lane: 1}), out]]
    products = Reduction(Combine.ADD, f32, reads)
    write, dims, sums = (result[[o, t, out]],), (o, t, out), (c, lane)
    nest = Nest(dims, write, Body.passing(f32), reduction=products, reduced=sums, **kind)
    found = tiled_product(simplified(nest), machine)
    assert found is not None
    changed, schedule = found.nest, found.schedule
    assert isinstance(schedule, RegisterTile)
    assert prod(d.size for d in changed.reduced) == inputs
    assert (schedule.chunks is not None) == is_cut
    if schedule.chunks is not None:
        (blocks,) = (schedule.parts[d][0].tile for d in schedule.parts if d.name == "o")
        steps = inputs // schedule.chunks.number.size
        assert blocks * 16 * 4 * steps < machine.l1_bytes < blocks * 16 * 4 * inputs


def test_threads_share_blocks_of_little_work():
    """The last of 14 rows of tiles writes less; the channels are few, then many."""
    little = choose_blocks((55, 55), (4, 4), 36 * 4 * 80, 36 * 4 * 16 * 64, L2, threads=2)
    assert little.is_shared(2)
    assert not choose_blocks((55, 55), (4, 4), 36 * 4 * 80, 36 * 4 * 16 * 64, L2).is_shared(2)
    many = (56, 56), (4, 4), 36 * 4 * 512, 36 * 4 * 256 * 256, L2
    assert choose_blocks(*many, threads=2) == choose_blocks(*many)
