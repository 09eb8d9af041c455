"""The test whether accesses meet, against a trial of all values of their loop variables."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

from glow.glow_dialects.glow_nest.affine import Access, Affine, Buffer, Dim, Indirect, View
from glow.glow_dialects.glow_nest.body import Body
from glow.glow_dialects.glow_nest.nest import Listing, Nest, NumberList, Repeat, RepeatListed
from glow.lowering.kernels.threads.overlap import is_self_contained, may_meet
from hypothesis import given
from hypothesis import strategies as st
from xdsl.dialects.builtin import f32, i32

SHARED = Dim("p", 3)


def elements(access: Access, fixed: int | None = None) -> set[int]:
    """Returns the elements for all values of loop variables, or for one of `SHARED`."""
    dims = [d for d in access.place.terms if fixed is None or d is not SHARED]
    start = access.place.constant
    if fixed is not None:
        start += fixed * access.stride(SHARED)  # pyright: ignore
    return {
        start + sum(access.stride(d) * i for d, i in zip(dims, point, strict=True))  # pyright: ignore
        for point in product(*(range(d.size) for d in dims))
    }


@st.composite
def accesses(draw: st.DrawFn) -> tuple[Access, Access]:
    """Returns two accesses of one buffer with the same or other strides."""
    buffer = Buffer(f32, 0, 10_000)
    strides = draw(st.lists(st.integers(-3, 40), min_size=1, max_size=3))
    found = []
    for _ in range(2):
        own = draw(st.one_of(st.just(strides), st.lists(st.integers(0, 40), max_size=3)))
        terms = {Dim(f"d{i}", draw(st.integers(1, 4))): s for i, s in enumerate(own)}
        if draw(st.booleans()):
            terms[SHARED] = draw(st.sampled_from([1, 4, 12, 100]))
        found.append(Access(buffer, Affine(terms, draw(st.integers(0, 60)))))
    return found[0], found[1]


@given(accesses())
def test_what_is_apart_never_meets(pair: tuple[Access, Access]):
    a, b = pair
    if not may_meet([a], [b]):
        assert not elements(a) & elements(b)


@given(accesses())
def test_iterations_that_are_apart_never_meet(pair: tuple[Access, Access]):
    a, b = pair
    if not may_meet([a], [b], SHARED):
        for p, q in product(range(SHARED.size), repeat=2):
            if p != q:
                assert not elements(a, p) & elements(b, q)


def view(*shape: int) -> View:
    size = 1
    for d in shape:
        size *= d
    return View.dense(Buffer(f32, 0, size), shape)


def test_parts_of_a_view_are_apart():
    x, (i, j, k) = view(4, 6, 8), (Dim("i", 2), Dim("j", 6), Dim("k", 8))
    assert not may_meet([x[i, j, k]], [x[i + 2, j, k]])
    assert may_meet([x[i, j, k]], [x[i + 1, j, k]])
    half = Dim("h", 4)
    assert not may_meet([x[i, j, half]], [x[i, j, half + 4]])
    assert may_meet([x[i, j, half]], [x[i, j, half + 3]])
    assert not may_meet([x[i, j, k]], [view(4, 6, 8)[i, j, k]])


def test_columns_of_panels_are_apart():
    y, p, r, j = view(7, 40), Dim("p", 5), Dim("r", 7), Dim("j", 8)
    panel = y[r, Affine({p: 8, j: 1})]
    assert not may_meet([panel], [panel], p)
    assert may_meet([panel], [panel])
    wide = y[r, Affine({p: 7, j: 1})]
    assert may_meet([wide], [wide], p)


def nest(write: Access, *reads: Access) -> Nest:
    return Nest((), (write,), Body.passing(f32), reads)


def test_panels_of_parts_of_the_rows_are_apart():
    """Rows from 264 on, in blocks of 48, and those from 504 on, each with panels of 16 columns."""
    p, b, i, j = Dim("p", 96), Dim("b", 5), Dim("i", 48), Dim("j", 16)
    rest = Dim("i", 8)
    view = View.dense(Buffer(f32, 0, 512 * 1536), (512, 1536))
    columns = Affine({p: 16, j: 1})
    blocks = view[[Affine({b: 48, i: 1}, 264), columns]]
    last = view[[Affine({rest: 1}, 504), columns]]
    assert not may_meet([blocks, last], [blocks, last], p)
    wide = view[[Affine({rest: 1}, 504), Affine({p: 16, Dim("k", 17): 1})]]
    assert may_meet([blocks], [wide], p)


def test_scratch_that_is_written_before_it_is_read():
    x, y = view(12), view(12)
    scratch = View.dense(Buffer(f32, 0, 12), (12,))
    i, low, high = Dim("i", 12), Dim("l", 5), Dim("h", 7)
    fill = [nest(scratch[low,]), nest(scratch[high + 5,])]
    use = nest(y[i,], scratch[i,])
    assert is_self_contained([*fill, use], scratch.buffer)
    assert not is_self_contained([fill[1], use], scratch.buffer)
    assert not is_self_contained([use, *fill], scratch.buffer)
    loop = Repeat(Dim("n", 2), [fill[0], use])
    assert not is_self_contained([loop], scratch.buffer)
    assert is_self_contained([nest(scratch[i,], x[i,]), loop], scratch.buffer)
    assert is_self_contained([loop], scratch.buffer, without=loop)
    backwards = nest(scratch[(i * -1) + 11,])
    assert is_self_contained([backwards, use], scratch.buffer)


def test_scratch_that_is_used_twice_is_not_that_of_a_loop():
    """A loop that writes what was written before leaves something for those who read it."""
    scratch, x, i = (
        View.dense(Buffer(f32, 0, 8), (8,)),
        View.dense(Buffer(f32, 0, 8), (8,)),
        Dim("i", 8),
    )
    again = Repeat(Dim("n", 2), [nest(scratch[i,], x[i,])])
    first, use = nest(scratch[i,], x[i,]), nest(x[i,], scratch[i,])
    assert not is_self_contained([first, again, use], scratch.buffer, without=again)
    assert is_self_contained([first, use, again], scratch.buffer, without=again)


def test_indices_name_any_of_their_elements():
    scratch, x, i = (
        View.dense(Buffer(f32, 0, 8), (8,)),
        View.dense(Buffer(f32, 0, 8), (8,)),
        Dim("i", 8),
    )
    places = View.dense(Buffer(i32, 0, 8), (8,))
    named = replace(scratch[0,], indirect=Indirect(places[i,], 8, 1))
    fill, half = nest(scratch[i,], x[i,]), nest(scratch[Dim("h", 4),], x[0,])
    assert is_self_contained([fill, nest(x[i,], named)], scratch.buffer)
    assert not is_self_contained([half, nest(x[i,], named)], scratch.buffer)
    assert not is_self_contained([nest(named, x[i,]), nest(x[i,], scratch[i,])], scratch.buffer)


def test_lists_are_written_and_read():
    x, y, sums = view(12), view(12), View.dense(Buffer(f32, 0, 3), (3,))
    numbers, number = View.dense(Buffer(i32, 0, 12), (12,)), View.dense(Buffer(i32, 0, 1), ())
    i, j = Dim("i", 12), Dim("j", 3)
    made = NumberList(i, numbers[i,], number[()])
    listing = Listing(made, x[i,])
    loop = RepeatListed((Dim("n", 12),), made)
    loop.steps.append(nest(sums[j,], sums[j,]))
    assert is_self_contained([listing, loop], numbers.buffer)
    assert is_self_contained([listing, loop], number.buffer)
    assert not is_self_contained([loop], number.buffer)
    fill, use = nest(sums[j,]), nest(y[j,], sums[j,])
    assert is_self_contained([fill, listing, loop, use], sums.buffer)
    # the loop may run for nothing
    loop.steps[:] = [fill]
    assert not is_self_contained([listing, loop, use], sums.buffer)
