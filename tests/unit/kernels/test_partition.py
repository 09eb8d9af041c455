"""Division of work between threads, and where they must wait for each other."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from math import prod

from glow.glow_dialects.elements import strided_memref
from glow.glow_dialects.glow_inst.memory import AllocActivationOp, TensorViewOp
from glow.glow_dialects.glow_nest.affine import Buffer, Dim, View
from glow.glow_dialects.glow_nest.body import Body
from glow.glow_dialects.glow_nest.nest import Nest, Repeat
from glow.glow_dialects.glow_nest.schedule import Elementwise, VectorSchedule
from glow.lowering.kernels.threads.divided_loops import divided_loops
from glow.lowering.kernels.threads.hazards import Hazards, MemoryUse, Region, any_meet
from glow.lowering.kernels.threads.split import (
    Split,
    TileOrder,
    TileSpan,
    busy,
    choose_split,
    is_balanced,
    portions_of,
)
from hypothesis import given
from hypothesis import strategies as st
from xdsl.dialects.builtin import MemRefType, f32


def elementwise(*sizes: int) -> tuple[Nest, VectorSchedule, list[list[TileSpan]]]:
    dims = tuple(Dim(f"d{i}", size) for i, size in enumerate(sizes))
    x, y = (View.dense(Buffer(f32, 0, 1 << 20, parameter=i), sizes) for i in range(2))
    nest = Nest(dims, (y[dims],), Body.passing(f32), (x[dims],))
    spans = [[TileSpan(0, size, 1)] for size in sizes]
    return nest, Elementwise(order=dims), spans


def test_busy_threads():
    assert busy(8, 2) == 1.0
    assert busy(3, 2) == 0.75
    assert busy(0, 2) == 1.0
    assert not is_balanced(3, 2)
    assert is_balanced(7, 2)


@given(st.integers(1, 5000), st.integers(2, 70))
def test_portions_are_all_units_and_the_small_ones_are_small(units: int, threads: int):
    large, small = portions_of(units, threads)
    if not small:
        assert units < 2 * threads
        return
    for thread in range(threads):
        part = (thread + 1) * units // threads - thread * units // threads
        assert 0 <= part - large
        assert small == 1 or -(-(part - large) // small) <= max(1, part // 2)
    assert small <= -(-units // threads) - large


def test_the_outermost_balanced_loop_is_divided():
    assert choose_split(*elementwise(4, 100, 16), 2) == Split(0, 0)
    assert choose_split(*elementwise(3, 100, 16), 2) == Split(1, 1)


def test_loops_that_are_unbalanced_alone_are_divided_together():
    split = choose_split(*elementwise(3, 3, 3, 1000), 5)
    assert split is not None
    assert split.last < 3 or split.first == 3
    assert choose_split(*elementwise(5, 5, 400), 2) is not None


def test_much_work_is_divided_so_that_it_can_be_drawn():
    """As two units it cannot, and as one range of more it can."""
    assert choose_split(*elementwise(2, 301, 4000), 2) == Split(0, 1, drawn=True)
    assert choose_split(*elementwise(2, 30, 20), 2) == Split(0, 0)


def test_little_work_is_for_one_thread():
    assert choose_split(*elementwise(8, 8), 2) is None


def test_tiles_of_different_code_are_one_range():
    nest, schedule, spans = elementwise(3, 40, 51)
    listed = [TileSpan(0, 1, 1, range(start, start + 10)) for start in range(0, 40, 10)]
    tile = [TileSpan(0, 51, 51)]
    assert choose_split(nest, schedule, [spans[0], listed, tile], 4) == Split(0, 1)
    assert choose_split(nest, schedule, [spans[0], listed, tile], 3) == Split(0, 0)


@given(
    st.lists(
        st.lists(
            st.builds(
                lambda tiles, step: TileSpan(0, tiles * step, step),
                st.integers(1, 5),
                st.integers(1, 9),
            ),
            min_size=1,
            max_size=3,
        ),
        min_size=1,
        max_size=3,
    ),
    st.integers(1, 7),
)
def test_a_portion_has_the_tiles_that_begin_in_it(spans: list[list[TileSpan]], threads: int):
    order = TileOrder(spans)
    sizes = [prod(s.elements for s in tile) for tile in tiles_in_order(spans)]
    assert (order.tiles, order.elements()) == (len(sizes), sum(sizes))
    starts = [sum(sizes[:i]) for i in range(len(sizes))]
    for thread in range(threads + 1):
        place = thread * sum(sizes) // threads
        begun = [size for start, size in zip(starts, sizes, strict=True) if start < place]
        assert order.begun(place) == sum(begun)


def tiles_in_order(spans: list[list[TileSpan]]) -> Iterator[tuple[TileSpan, ...]]:
    """Yields the spans of each tile of nested loops, in the order of the loops."""
    return product(*[[s for s in loop for _ in range(s.tiles)] for loop in spans])


# loops of several steps


def steps(scratch_is_covered: bool, depends: bool) -> list[Repeat]:
    """Copies, for each n, a row of x into scratch, then scratch into a row of y."""
    n, i, part = Dim("n", 6), Dim("i", 8), Dim("p", 8 if scratch_is_covered else 7)
    x, y = (View.dense(Buffer(f32, 0, 48, parameter=i), (6, 8)) for i in range(2))
    scratch = View.dense(Buffer(f32, 0, 8), (8,))
    fill = Nest((part,), (scratch[part,],), Body.passing(f32), (x[n, part],))
    row = 0 if depends else n
    use = Nest((i,), (y[row, i],), Body.passing(f32), (scratch[i,],))
    return [Repeat(n, [fill, use])]


def test_independent_iterations_get_scratch_of_their_own():
    (loop,) = kernel = steps(scratch_is_covered=True, depends=False)
    divided = divided_loops(kernel, 2)[loop]
    assert divided.loops == (loop,)
    assert [b.parameter for b in divided.private] == [None]


def test_dependent_iterations_are_not_divided():
    for covered, depends in ((False, False), (True, True)):
        assert not divided_loops(steps(covered, depends), 2)


def test_nested_loops_are_divided_together():
    outer, inner, i = Dim("o", 3), Dim("n", 5), Dim("i", 8)
    y = View.dense(Buffer(f32, 0, 120, parameter=0), (3, 5, 8))
    body = Nest((i,), (y[outer, inner, i],), Body.passing(f32))
    loops = Repeat(inner, [body])
    kernel = [Repeat(outer, [loops])]
    assert divided_loops(kernel, 2)[kernel[0]].loops == (kernel[0], loops)
    assert divided_loops(kernel, 3)[kernel[0]].loops == (kernel[0],)


# kernels one after the other


def region(start: int, end: int, segment: str = "arena") -> Region:
    return Region(segment, start, end)


def work(reads: list[Region], writes: list[Region], alone: bool = False) -> MemoryUse[Region]:
    return MemoryUse(reads, writes, alone)


def test_barriers_stand_between_dependent_kernels_only():
    a, b, c = region(0, 10), region(10, 20), region(20, 30)
    hazards = Hazards(any_meet)
    assert not hazards.need_barrier(work([a], [b]))
    assert not hazards.need_barrier(work([a], [c]))
    assert hazards.need_barrier(work([region(15, 16)], [region(30, 40)]))
    assert not hazards.need_barrier(work([b], [region(0, 5, "output")]))
    assert hazards.need_barrier(work([], [b]))


def test_parts_of_one_buffer_that_share_no_element_need_no_barrier():
    """The border of an image and its inside; and the whole, which meets both."""
    whole = AllocActivationOp.create(result_types=[MemRefType(f32, (4, 5))]).result
    types = {
        "top": strided_memref(f32, (1, 5), (5, 1)),
        "left": strided_memref(f32, (3, 1), (5, 1), 5),
        "inside": strided_memref(f32, (3, 4), (5, 1), 6),
    }
    views = {
        name: TensorViewOp.create(operands=[whole], result_types=[t]).result
        for name, t in types.items()
    }
    parts = {name: Region("arena", 64, 144, v) for name, v in views.items()}
    hazards = Hazards(any_meet)
    assert not hazards.need_barrier(work([], [parts["inside"]]))
    assert not hazards.need_barrier(work([], [parts["top"]], alone=True))
    assert not hazards.need_barrier(work([], [parts["left"]]))
    assert hazards.need_barrier(work([Region("arena", 64, 144, whole)], []))
    # another buffer at the same place, or memory that is no buffer
    other = AllocActivationOp.create(result_types=[MemRefType(f32, (20,))]).result
    assert hazards.need_barrier(work([], [Region("arena", 64, 144, other)]))
    assert hazards.need_barrier(work([region(140, 150)], []))


def test_one_thread_needs_no_barrier_to_follow_itself():
    a, b = region(0, 10), region(10, 20)
    hazards = Hazards(any_meet)
    assert not hazards.need_barrier(work([], [a], alone=True))
    assert not hazards.need_barrier(work([a], [b], alone=True))
    assert hazards.need_barrier(work([b], [region(20, 30)]))


def test_a_barrier_inside_a_kernel_counts_for_those_before():
    a, b, c = (region(10 * i, 10 * i + 10) for i in range(3))
    hazards = Hazards(any_meet)
    assert not hazards.need_barrier(work([], [a]))
    assert not hazards.need_barrier(work([], [b]))
    hazards.passed_barrier()
    assert not hazards.need_barrier(work([a], [c]))
    assert hazards.need_barrier(work([b], [c]))
