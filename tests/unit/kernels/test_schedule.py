"""Nests are simplified without change of meaning, and schedules fit the machine."""

from __future__ import annotations

import itertools
from dataclasses import replace
from math import prod

import pytest
from glow.glow_dialects.glow_nest.affine import Affine, Buffer, Dim, View, lookup
from glow.glow_dialects.glow_nest.body import Body
from glow.glow_dialects.glow_nest.nest import Combine, Nest, Reduction
from glow.glow_dialects.glow_nest.schedule import Reduce
from glow.glow_dialects.glow_nest.simplification import simplified
from glow.glow_dialects.machine import MachineDescription
from glow.glow_dialects.scalar import Expr, exp
from glow.lowering.host_machine import host_machine
from glow.lowering.kernels.schedules.schedule import choose_schedule
from glow.lowering.kernels.threads.split import spans_of
from hypothesis import given
from hypothesis import strategies as st
from xdsl.dialects.builtin import f32

MACHINES = [
    MachineDescription(512, 32),
    MachineDescription(256, 16),
    MachineDescription(128, 16, False),
]


def view(*shape: int) -> View:
    return View.dense(Buffer(f32, 0, prod(shape)), shape)


def copying(dims: list[Dim], write, *reads) -> Nest:
    return Nest(tuple(dims), (write,), Body.passing(f32), reads)


def places(nest: Nest) -> list[tuple[int, ...]]:
    """Returns the places of what each point reads for each of its writes, and of the write."""
    dims = (*nest.parallel, *nest.reduced)
    reads = [a for a in nest.accesses() if not any(a is w for w in nest.writes)]
    found = []
    for point in itertools.product(*(range(d.size) for d in dims)):
        values = dict(zip(dims, point, strict=True))
        read = [_place(a.place, values) for a in reads]
        for write, result in zip(nest.writes, nest.body.results, strict=True):
            # a field of a record passes one of the values
            used = read if result.index is None or len(nest.writes) == 1 else [read[result.index]]
            found.append((*used, _place(write.place, values)))
    return sorted(found)


def _place(place: Affine, values: dict[Dim, int]) -> int:
    total = place.constant
    for dim, stride in place.terms.items():
        value = values[dim]
        total += stride * value if isinstance(stride, int) else stride[value]
    return total


def reduced(nest: Nest, machine: MachineDescription) -> Reduce:
    schedule = choose_schedule(nest, machine)
    assert isinstance(schedule, Reduce)
    return schedule


sizes = st.lists(st.integers(1, 5), min_size=1, max_size=4)


@given(sizes, st.data())
def test_simplified_nests_visit_the_same_places(shape: list[int], data: st.DataObject):
    dims = [Dim(f"d{i}", s) for i, s in enumerate(shape)]
    strides = st.sampled_from([-6, -1, 0, 1, 2, 5, 25])
    read = View(Buffer(f32, -1000, 1000), tuple(shape), tuple(data.draw(strides) for _ in shape), 7)
    order = data.draw(st.permutations(range(len(shape))))
    target = view(*[shape[i] for i in order])
    nest = copying(dims, target[[dims[i] for i in order]], read[dims])
    simple = simplified(nest)
    assert places(simple) == places(nest)
    assert all(d.size > 1 for d in simple.parallel)


def test_equal_neighbours_become_a_record():
    dims = [Dim("i", 2), Dim("j", 2)]
    read = View(Buffer(f32, 0, 10), (2, 2), (1, 0), 7)
    nest = copying(dims, view(2, 2)[dims], read[dims])
    simple = simplified(nest)
    assert len(simple.writes) == 2
    assert places(simple) == places(nest)


def test_dense_dimensions_become_one():
    dims = [Dim("i", 3), Dim("j", 1), Dim("k", 5)]
    a, b = view(3, 1, 5), view(3, 1, 5)
    (dim,) = simplified(copying(dims, a[dims], b[dims])).parallel
    assert dim.size == 15


def test_a_broadcast_operand_keeps_dimensions_apart():
    dims = [Dim("i", 3), Dim("k", 5)]
    a, b = view(3, 5), View(Buffer(f32, 0, 3), (3, 5), (1, 0))
    assert [d.size for d in simplified(copying(dims, a[dims], b[dims])).parallel] == [3, 5]


def test_tables_are_affine_forms():
    k = Dim("k", 3)
    index = lookup(k, [5, 7, 0]) + k * 2
    assert index.terms[k] == (5, 9, 4)


def product(m: int, k: int, n: int, transposed: bool) -> Nest:
    i, j, t = Dim("i", m), Dim("j", n), Dim("t", k)
    rhs = view(n, k)[[j, t]] if transposed else view(k, n)[[t, j]]
    reads = (view(m, k)[[i, t]], rhs)
    reduction = Reduction(Combine.ADD, f32, reads)
    return Nest((i, j), (view(m, n)[[i, j]],), Body.passing(f32), (), reduction, (t,))


@pytest.mark.parametrize("machine", MACHINES, ids=str)
@pytest.mark.parametrize(
    "shape", list(itertools.product([1, 7, 64], [1, 30, 512], [1, 12, 100])), ids=str
)
@pytest.mark.parametrize("transposed", [False, True])
def test_tiles_fit_into_registers(
    machine: MachineDescription, shape: tuple[int, int, int], transposed: bool
):
    nest = simplified(product(*shape, transposed))
    schedule = reduced(nest, machine)
    accumulators = prod(schedule.tile.values())
    assert accumulators + 2 <= machine.vector_registers or accumulators == 1
    assert schedule.lanes <= machine.lanes(32)
    for dim in (*nest.parallel, *nest.reduced):
        assert schedule.step(dim) <= dim.size, "a tile may be moved back, not be too large"


def test_products_are_vectorised_along_what_is_contiguous():
    machine = MachineDescription()
    plain = reduced(product(64, 64, 64, False), machine)
    assert plain.vector is not None
    assert plain.vector.name == "j"
    assert plain.lanes == 16
    assert prod(plain.tile.values()) >= 8
    row = reduced(simplified(product(1, 512, 64, True)), machine)
    assert row.vector is not None
    assert row.vector.name == "t"
    assert prod(row.tile.values()) >= 4, "several rows hide the latency of the additions"


def test_vectors_of_a_map_are_in_registers_together():
    """A step of a panel multiplies four vectors, and several panels share the factors."""
    panel, lane, block = Dim("p", 256), Dim("j", 8), Dim("b", 24)
    parts, factors = view(256, 24, 4, 8), view(24, 4)
    vectors = [parts[[panel, block, n, lane]] for n in range(4)]
    reads = (*vectors, *(factors[[block, n]] for n in range(4)))
    value = Expr.argument(0) * Expr.argument(4)
    for n in range(1, 4):
        value = value + Expr.argument(n) * Expr.argument(4 + n)
    summed = Reduction(Combine.ADD, f32, reads, Body((value,), (f32,) * 8))
    write = (view(256, 8)[[panel, lane]],)
    nest = Nest((panel, lane), write, Body.passing(f32), (), summed, (block,))
    for machine in MACHINES[:2]:
        schedule = reduced(nest, machine)
        panels = schedule.tile.get(panel, 1)
        assert panels > 1
        assert panels * len(vectors) <= machine.vector_registers


def test_heavy_bodies_are_not_unrolled():
    nest = product(64, 64, 64, False)
    value = Expr.argument(0)
    for _ in range(40):
        value = exp(value)
    heavy = replace(nest, body=Body((value,), (f32,)))
    assert not reduced(heavy, MachineDescription()).tile


def test_in_place_tiles_visit_each_row_once():
    nest = product(7, 64, 64, False)
    in_place = Nest(
        nest.parallel,
        nest.writes,
        nest.body,
        nest.writes,
        nest.reduction,
        nest.reduced,
        in_place=True,
    )
    schedule, rows = reduced(in_place, MachineDescription()), nest.parallel[0]
    assert schedule.tiles(rows) > 1
    spans = spans_of(in_place, schedule, rows)
    visited = [
        span.start + first + row
        for span in spans
        for first in range(0, span.stop, span.step)
        for row in range(span.elements)
    ]
    assert visited == list(range(7))


def test_long_bodies_take_two_vectors_together():
    x, y = view(64), view(64)
    value = exp(Expr.argument(0))
    narrow = MachineDescription(vector_bits=256, vector_registers=16)
    for size, machine, lanes in ((64, narrow, 16), (24, narrow, 8), (64, MachineDescription(), 16)):
        i = Dim("i", size)
        nest = Nest((i,), (y[[i]],), Body((value,), (f32,)), (x[[i]],))
        assert choose_schedule(nest, machine).lanes == lanes
        short = replace(nest, body=Body((Expr.argument(0) + 1.0,), (f32,)))
        assert choose_schedule(short, machine).lanes == machine.lanes(32)


def test_host_machine():
    machine = host_machine()
    assert machine.vector_bits in (128, 256, 512)
    assert machine.vector_registers in (16, 32)
