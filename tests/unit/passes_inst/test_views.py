"""Arithmetic on views, against numpy's views of an array that holds its own indices."""

from __future__ import annotations

from math import prod

import numpy as np
from glow.glow_dialects.elements import offset_of, row_major_strides, strides_of
from glow.glow_dialects.views import (
    broadcast_view,
    is_whole,
    may_overlap,
    slice_view,
    view_through,
    view_type,
)
from hypothesis import given, settings
from hypothesis import strategies as st
from xdsl.dialects.builtin import MemRefType, f32

shapes = st.lists(st.integers(1, 4), min_size=1, max_size=4).map(tuple)


def indices(view: MemRefType) -> np.ndarray:
    """Returns the element index that each element of the view has in its buffer."""
    grid = np.indices(view.get_shape()).reshape(view.get_num_dims(), -1)
    flat = offset_of(view) + np.array(strides_of(view)) @ grid
    return flat.reshape(view.get_shape())


def dense(shape: tuple[int, ...]) -> MemRefType:
    return MemRefType(f32, shape)


@st.composite
def parts(draw: st.DrawFn, t: MemRefType) -> MemRefType:
    """Returns a slice of a view, with steps that may be negative."""
    starts, sizes, steps = [], [], []
    for size in t.get_shape():
        step = draw(st.sampled_from([1, 1, 2, -1]))
        count = draw(st.integers(1, -(-size // abs(step))))
        reach = (count - 1) * step
        low, high = max(0, -reach), size - 1 - max(0, reach)
        starts.append(draw(st.integers(low, high)))
        sizes.append(count)
        steps.append(step)
    return slice_view(t, starts, sizes, steps)


@st.composite
def views(draw: st.DrawFn, shape: tuple[int, ...]) -> MemRefType:
    """Returns a view of a dense buffer: a slice, reversed or repeated, perhaps after a reshape."""
    flat = draw(st.booleans())
    view = draw(parts(dense((prod(shape),) if flat else shape)))
    if draw(st.booleans()):
        view = broadcast_view(view, (draw(st.integers(1, 3)), *view.get_shape()))
    return view


@settings(deadline=None)
@given(st.data(), shapes)
def test_slices_and_broadcasts(data: st.DataObject, shape: tuple[int, ...]):
    view = data.draw(views(shape))
    again = data.draw(parts(view))
    assert set(indices(again).flat) <= set(indices(view).flat)
    wide = broadcast_view(view, (2, *view.get_shape()))
    np.testing.assert_array_equal(indices(wide), np.broadcast_to(indices(view), wide.get_shape()))


@settings(deadline=None)
@given(st.data(), shapes)
def test_view_through(data: st.DataObject, shape: tuple[int, ...]):
    """A view of a buffer that has moved into a view finds the same elements."""
    outer = data.draw(views(shape))
    inner = data.draw(views(outer.get_shape()))
    seen = view_through(outer, inner)
    if seen is not None:
        np.testing.assert_array_equal(indices(seen), indices(outer).reshape(-1)[indices(inner)])


@settings(deadline=None)
@given(st.data(), shapes)
def test_slices_always_compose(data: st.DataObject, shape: tuple[int, ...]):
    outer = data.draw(views(shape))
    inner = data.draw(parts(dense(outer.get_shape())))
    assert view_through(outer, inner) is not None


@settings(deadline=None)
@given(st.data(), shapes, shapes)
def test_reshapes_of_dense_parts_compose(
    data: st.DataObject, shape: tuple[int, ...], rows: tuple[int, ...]
):
    whole = dense((3, *shape))
    outer = slice_view(whole, [1] + [0] * len(shape), [2, *shape], [1] * (len(shape) + 1))
    inner = dense((prod(shape), 2))
    seen = view_through(outer, inner)
    assert seen is not None
    np.testing.assert_array_equal(indices(seen), indices(outer).reshape(-1, 2))


@settings(deadline=None, max_examples=300)
@given(st.data(), shapes)
def test_may_overlap_is_safe(data: st.DataObject, shape: tuple[int, ...]):
    a, b = data.draw(views(shape)), data.draw(views(shape))
    if set(indices(a).flat) & set(indices(b).flat):
        assert may_overlap(a, b, dense(shape))
        assert may_overlap(a, b, dense((prod(shape),)))


def test_parts_of_a_concatenation_do_not_overlap():
    whole = dense((2, 6, 3))
    a = slice_view(whole, (0, 0, 0), (2, 2, 3), (1, 1, 1))
    b = slice_view(whole, (0, 2, 0), (2, 4, 3), (1, 1, 1))
    assert not may_overlap(a, b, whole)
    assert may_overlap(a, slice_view(whole, (1, 1, 0), (1, 2, 3), (1, 1, 1)), whole)


def test_parts_of_a_concatenation_that_was_reshaped_do_not_overlap():
    whole = dense((36,))
    a = slice_view(dense((2, 6, 3)), (0, 0, 0), (2, 2, 3), (1, 1, 1))
    b = slice_view(dense((2, 6, 3)), (0, 2, 0), (2, 4, 3), (1, 1, 1))
    assert not may_overlap(a, b, whole)
    assert not may_overlap(a, b, dense((4, 9)))
    assert may_overlap(a, view_type(f32, (3, 4), (12, 1), 3), whole)
    # every second element, and those between
    odd, even = (view_type(f32, (3, 4), (8, 2), i) for i in (1, 0))
    assert not may_overlap(odd, even, dense((4, 6)))
    assert may_overlap(odd, view_type(f32, (3, 5), (8, 1), 2), dense((4, 6)))


@settings(deadline=None)
@given(st.data(), shapes)
def test_is_whole(data: st.DataObject, shape: tuple[int, ...]):
    view = data.draw(views(shape))
    want = list(indices(view).flat) == list(range(prod(shape)))
    assert is_whole(view, dense(shape)) == want


def test_canonical_strides():
    """Views of the same elements have the same type, whatever the strides of dimensions of 1."""
    assert view_type(f32, (1, 2), (99, 1)) == dense((1, 2))
    assert view_type(f32, (2, 1, 3), (3, 7, 1), 4) == view_type(f32, (2, 1, 3), (3, 3, 1), 4)
    assert view_type(f32, (2, 3), row_major_strides((2, 3))) == dense((2, 3))


def test_reshape_that_strides_cannot_express():
    part = slice_view(dense((4, 3)), (0, 0), (4, 2), (1, 1))
    assert view_through(part, dense((8,))) is None
    assert view_through(part, dense((2, 2, 2))) is not None
