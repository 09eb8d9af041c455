"""Schedulers of products compete by their estimated cycles."""

from __future__ import annotations

import pytest
from glow.glow_dialects import costs
from glow.glow_dialects.glow_nest.affine import Affine, Buffer, Dim, View
from glow.glow_dialects.glow_nest.body import Body
from glow.glow_dialects.glow_nest.nest import Combine, Nest, Reduction
from glow.glow_dialects.glow_nest.schedule import AmxTile, RegisterTile
from glow.glow_dialects.glow_nest.simplification import simplified
from glow.glow_dialects.instruction_kinds import DotKind
from glow.glow_dialects.machine import MachineDescription
from glow.lowering.kernels.schedules.amx_tile import amx_product
from glow.lowering.kernels.schedules.best_schedule import best_schedule, vector_schedule
from glow.lowering.kernels.schedules.register_tile import tiled_product
from hypothesis import given
from hypothesis import strategies as st
from xdsl.dialects.builtin import IntegerType, Signedness, i8, i32

U8 = IntegerType(8, Signedness.UNSIGNED)
TILES = MachineDescription(int8_dots=(DotKind.VPDPBUSD,), has_int8_tiles=True)


def byte_product(pixels: int, depth: int, outputs: int) -> Nest:
    """`y[o, p, lane] = sum(x[p, 4 * q + m] * w[o, q, lane, m])`"""
    x = View.dense(Buffer(U8, 0, 1 << 30, 0), (pixels, depth, 4))
    w = View.dense(Buffer(i8, 0, 1 << 30, 1), (outputs, depth, 16, 4))
    y = View.dense(Buffer(i32, 0, 1 << 30, 2), (outputs, pixels, 16))
    o, p, lane, q = (Dim(n, s) for n, s in zip("oplq", (outputs, pixels, 16, depth), strict=True))
    reads = x[[p, q, 0]], w[[o, q, lane, 0]]
    products = Reduction(Combine.ADD, i32, reads, terms=4)
    write = (y[[o, p, lane]],)
    return simplified(
        Nest((o, p, lane), write, Body.passing(i32), reduction=products, reduced=(q,))
    )


@given(st.integers(1, 80), st.integers(1, 40), st.integers(1, 9))
def test_the_cheapest_scheduler_wins(pixels: int, depth: int, outputs: int):
    nest = byte_product(pixels, depth, outputs)
    found = [c for s in (amx_product, tiled_product) if (c := s(nest, TILES)) is not None]
    assert found
    assert all(c.cycles > 0 for c in found)
    wanted = type(min(found, key=lambda c: c.cycles).schedule)
    assert type(best_schedule(nest, TILES)[1]) is wanted
    assert isinstance(vector_schedule(nest, TILES)[1], RegisterTile)


def test_tile_registers_are_for_much_work():
    assert isinstance(best_schedule(byte_product(49, 32, 4), TILES)[1], AmxTile)
    without = MachineDescription(int8_dots=(DotKind.VPDPBUSD,))
    assert isinstance(best_schedule(byte_product(49, 32, 4), without)[1], RegisterTile)


def test_products_of_groups_need_panels():
    nest = byte_product(8, 8, 2)
    narrow = MachineDescription(vector_bits=128)
    with pytest.raises(ValueError, match="panels of as many columns as vectors have"):
        best_schedule(nest, narrow)


@given(st.integers(1, 8), st.integers(1, 14), st.integers(1, 500), st.integers(0, 20))
def test_more_work_costs_more(filters: int, pixels: int, steps: int, weight: int):
    few, many = (MachineDescription(vector_registers=n) for n in (16, 32))
    for machine in (few, many):
        one = costs.tile(filters, pixels, 0.0, steps, weight, machine)
        assert 0 < one < costs.tile(filters, pixels, 0.0, steps + 1, weight, machine)
        assert one < costs.tile(filters, pixels, 1.0, steps, weight, machine)
        assert one < costs.tile(filters, pixels, 0.0, steps, weight + 1, machine)
        assert one <= costs.tile(filters, pixels, 0.0, steps, weight, machine, 1.0)
    # with few registers, broadcasts are instructions of their own
    assert one < costs.tile(filters, pixels, 0.0, steps, weight, few)


def test_filters_from_the_second_cache_want_many_pixels():
    machine = MachineDescription(256, 16)

    def cost(filters: int, pixels: int, from_l2: float) -> float:
        return costs.tile(filters, pixels, 0.0, 512, 0, machine, from_l2) / (filters * pixels)

    assert cost(2, 6, 0.0) < cost(2, 6, 1.0) < 1.05 * cost(2, 6, 0.0)
    assert cost(4, 3, 0.0) < 1.1 * cost(2, 6, 0.0)
    assert cost(4, 3, 1.0) > 1.3 * cost(2, 6, 1.0)


def test_lines_are_loaded_for_many_products():
    """A core loads fewer lines than shorter vectors, so a tile of two filters waits for pixels."""

    def cost(bits: int, registers: int, filters: int, pixels: int) -> float:
        machine = MachineDescription(bits, registers)
        return costs.tile(filters, pixels, 0.0, 512, 0, machine) / (filters * pixels)

    assert cost(512, 32, 4, 6) < 0.95 * cost(512, 32, 2, 14)
    assert cost(256, 32, 4, 6) > 0.95 * cost(256, 32, 2, 14)


def test_a_place_with_forms_in_the_place_of_loops():
    i, j, k = Dim("i", 12), Dim("j", 3), Dim("k", 4)
    place = Affine({i: 5, j: 7}, 2)
    assert place.at({i: j * 4 + k}) == Affine({j: 27, k: 5}, 2)
    assert place.at({i: k + 3}) == Affine({k: 5, j: 7}, 17)
    assert place.at({k: j * 2}) is place
    assert Affine({i: (1, 0) * 6}).at({j: k * 2}).terms == {i: (1, 0) * 6}
