"""The planner of the arena: proven against brute force on random lifetimes."""

from __future__ import annotations

from glow.passes.instructions.memory_planner import (
    Lifetime,
    align,
    check_no_overlap,
    lower_bound,
    plan_arena,
)
from hypothesis import given, settings
from hypothesis import strategies as st

lifetimes = st.lists(
    st.builds(
        lambda start, length, size: Lifetime(start, start + length, size),
        st.integers(0, 40),
        st.integers(0, 15),
        st.integers(0, 300),
    ),
    max_size=40,
)


def meet(a: Lifetime, b: Lifetime) -> bool:
    return a.start <= b.end and b.start <= a.end


def overlaps(buffers: list[Lifetime], offsets: list[int]) -> bool:
    return any(
        meet(a, b) and x < y + b.size and y < x + a.size
        for i, (a, x) in enumerate(zip(buffers, offsets, strict=True))
        for b, y in list(zip(buffers, offsets, strict=True))[:i]
        if a.size and b.size
    )


@settings(deadline=None)
@given(lifetimes, st.sampled_from([1, 16, 64]))
def test_plan(buffers: list[Lifetime], alignment: int):
    plan = plan_arena(buffers, alignment)
    assert check_no_overlap(buffers, plan.offsets) is None
    assert not overlaps(buffers, list(plan.offsets))
    assert all(offset % alignment == 0 for offset in plan.offsets)
    ends = [o + b.size for o, b in zip(plan.offsets, buffers, strict=True)]
    assert max(ends, default=0) <= plan.size
    assert plan.size >= lower_bound(buffers)


@given(lifetimes)
def test_lower_bound(buffers: list[Lifetime]):
    times = range(60)
    want = max(sum(b.size for b in buffers if b.start <= t <= b.end) for t in times)
    assert lower_bound(buffers) == want


@given(st.data(), lifetimes)
def test_check_finds_overlaps(data: st.DataObject, buffers: list[Lifetime]):
    offsets = data.draw(
        st.lists(st.integers(0, 4000), min_size=len(buffers), max_size=len(buffers))
    )
    found = check_no_overlap(buffers, offsets)
    assert (found is not None) == overlaps(buffers, offsets)
    if found is not None:
        pair = list(found)
        assert overlaps([buffers[i] for i in pair], [offsets[i] for i in pair])


def test_a_case_that_needs_a_good_order():
    """First come, first served needs 5 units; the bound of 4 is reached."""
    unit = 64
    buffers = [
        Lifetime(0, 1, unit),
        Lifetime(0, 3, unit),
        Lifetime(2, 5, 2 * unit),
        Lifetime(4, 7, 2 * unit),
        Lifetime(6, 7, 2 * unit),
    ]
    assert plan_arena(buffers).size == lower_bound(buffers) == 4 * unit


def test_everything_alive_at_once():
    """Many buffers that all conflict are planned without trying every order."""
    buffers = [Lifetime(0, 1, 10 * (i % 7 + 1)) for i in range(1000)]
    plan = plan_arena(buffers, 1)
    assert plan.size == lower_bound(buffers)
    assert check_no_overlap(buffers, plan.offsets) is None


def test_align():
    assert [align(n, 64) for n in (0, 1, 64, 65)] == [0, 64, 64, 128]
