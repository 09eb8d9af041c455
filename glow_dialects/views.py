"""
Arithmetic on views: one view seen through another, and whether two views share elements.

A view is a memref type: sizes, strides and an offset, counted in elements from the start of a dense
buffer. An index into a dense buffer of shape `S` is a number in the mixed radix `S`; a view that is
a box of coordinates in that radix keeps its form when the buffer itself moves into a view.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from xdsl.dialects.builtin import MemRefType
from xdsl.ir import Attribute

from .elements import (
    extent,
    lowest_index,
    memref_type,
    num_elements,
    offset_of,
    row_major_strides,
    strided_memref,
    strides_of,
)
from .identity_cache import cached_by_identity


def view_type(
    element: Attribute, shape: Sequence[int], strides: Sequence[int], offset: int = 0
) -> MemRefType:
    """
    Returns the memref type of a view in its one canonical form.

    The stride of a dimension of size 1 has no meaning; it is given the value that makes the
    dimension dense over the next one, so that views of the same elements have equal types.
    """
    canonical = list(strides)
    dense = 1
    for i in range(len(shape) - 1, -1, -1):
        if shape[i] == 1:
            canonical[i] = dense
        dense = canonical[i] * shape[i]
    return strided_memref(element, shape, canonical, offset)


def broadcast_view(t: MemRefType, shape: Sequence[int]) -> MemRefType:
    """Returns the elements of `t` repeated to `shape`, as numpy's `broadcast_to`."""
    added = len(shape) - t.get_num_dims()
    sizes = (1,) * added + t.get_shape()
    strides = (0,) * added + strides_of(t)
    repeated = [
        0 if have == 1 and want != 1 else stride
        for have, want, stride in zip(sizes, shape, strides, strict=True)
    ]
    return view_type(t.element_type, shape, repeated, offset_of(t))


def transposed_view(t: MemRefType, order: Sequence[int]) -> MemRefType:
    """Returns the elements of `t` with its dimensions in another order."""
    shape, strides = t.get_shape(), strides_of(t)
    turned = [strides[d] for d in order]
    return view_type(t.element_type, [shape[d] for d in order], turned, offset_of(t))


def slice_view(
    t: MemRefType, starts: Sequence[int], sizes: Sequence[int], steps: Sequence[int]
) -> MemRefType:
    """
    Returns `sizes[d]` elements of each dimension `d` of `t`, from `starts[d]` on, `steps[d]` apart.
    """
    if 0 in sizes:
        return view_type(t.element_type, sizes, row_major_strides(sizes))
    strides = strides_of(t)
    offset = offset_of(t) + sum(a * s for a, s in zip(starts, strides, strict=True))
    stepped = [a * s for a, s in zip(steps, strides, strict=True)]
    return view_type(t.element_type, sizes, stepped, offset)


@dataclass(frozen=True)
class _Dimension:
    """Dimensions of a buffer that one stride walks: `dense` apart in order, `stride` in memory."""

    size: int
    dense: int
    stride: int


@cached_by_identity
def _dimensions(t: MemRefType, merge: bool) -> Sequence[_Dimension]:
    """
    Returns the dimensions of size above 1; neighbours that are dense over each other merge on
    request.
    """
    found: list[_Dimension] = []
    shape = t.get_shape()
    for size, dense, stride in zip(shape, row_major_strides(shape), strides_of(t), strict=True):
        if size == 1:
            continue
        if merge and found and found[-1].stride == stride * size:
            size *= found.pop().size
        found.append(_Dimension(size, dense, stride))
    return tuple(found)


def _place(dimensions: Sequence[_Dimension], size: int, stride: int) -> tuple[int, int] | None:
    """Returns the dimension in which `stride` moves, and by how many of its indices."""
    for k, d in enumerate(dimensions):
        if d.dense <= abs(stride):
            steps = abs(stride) // d.dense * (1 if stride > 0 else -1)
            fits = stride % d.dense == 0 and abs(steps) * (size - 1) < d.size
            return (k, steps) if fits else None
    return None


def _box(
    dimensions: Sequence[_Dimension], view: MemRefType
) -> tuple[list[tuple[int, int]], list[int]] | None:
    """
    Returns the range of coordinates that `view` reaches in each dimension, and the stride of each
    of its own dimensions, for a buffer with the layout `dimensions`. Returns None if it is not a
    box.
    """
    rest = offset_of(view)
    low: list[int] = []
    for d in dimensions:
        low.append(rest // d.dense)
        rest %= d.dense
    high = list(low)
    strides: list[int] = []
    for size, stride in zip(view.get_shape(), strides_of(view), strict=True):
        if size == 1 or stride == 0:
            strides.append(0)
            continue
        placed = _place(dimensions, size, stride)
        if placed is None:
            return None
        k, steps = placed
        low[k] += min(0, steps * (size - 1))
        high[k] += max(0, steps * (size - 1))
        strides.append(steps * dimensions[k].stride)
    if any(a < 0 or b >= d.size for a, b, d in zip(low, high, dimensions, strict=True)):
        return None
    return list(zip(low, high, strict=True)), strides


def view_through(outer: MemRefType, inner: MemRefType) -> MemRefType | None:
    """
    Returns the view of `outer`'s buffer that equals `inner`, a view of a dense buffer of `outer`'s
    shape.

    Returns None if strides cannot express it, as for a reshape that joins dimensions which are not
    dense over each other.
    """
    shape = inner.get_shape()
    if 0 in shape:
        return view_type(inner.element_type, shape, row_major_strides(shape))
    dimensions = _dimensions(outer, merge=True)
    box = _box(dimensions, inner)
    if box is None:
        return None
    strides = box[1]
    # the first element: the coordinates of the inner offset, before any negative stride moves down
    rest, start = offset_of(inner), offset_of(outer)
    for d in dimensions:
        start += rest // d.dense * d.stride
        rest %= d.dense
    return view_type(inner.element_type, shape, strides, start)


def is_whole(view: MemRefType, buffer: MemRefType) -> bool:
    """
    Returns true if `view` reaches each element of the dense `buffer` exactly once and in order.
    """
    return num_elements(view.get_shape()) == num_elements(buffer.get_shape()) and view_type(
        view.element_type, view.get_shape(), strides_of(view), offset_of(view)
    ) == memref_type(view.element_type, view.get_shape())


def may_overlap(a: MemRefType, b: MemRefType, buffer: MemRefType) -> bool:
    """
    Returns false if views `a` and `b` of the dense `buffer` certainly share no element.

    They do not if their index ranges are disjoint, or if both are boxes in the coordinates of the
    buffer, or in those that their own strides make, and these are disjoint in some dimension (the
    parts of a concatenation, which may have been reshaped).
    """
    end_a, end_b = extent(a), extent(b)
    if end_a <= lowest_index(b) or end_b <= lowest_index(a):
        return False
    places = _dimensions(buffer, merge=False)
    if _are_apart(_ranges(a, places), _ranges(b, places)):
        return False
    own = _dimensions_of_strides([*strides_of(a), *strides_of(b)], max(end_a, end_b))
    box_a, box_b = _box(own, a), _box(own, b)
    return box_a is None or box_b is None or not _are_apart(box_a[0], box_b[0])


def _dimensions_of_strides(strides: Sequence[int], extent: int) -> list[_Dimension]:
    """
    Returns the coordinate of `extent` elements in which each of these strides moves, if it moves in
    one.
    """
    found: list[_Dimension] = []
    end = extent
    for stride in sorted({abs(s) for s in strides} | {1}, reverse=True):
        if stride and (not found or end % stride == 0):
            found.append(_Dimension(-(-end // stride), stride, stride))
            end = stride
    return found


@cached_by_identity
def _ranges(view: MemRefType, dimensions: Sequence[_Dimension]) -> Sequence[tuple[int, int]]:
    """Returns the range of each coordinate that `view` reaches; nothing if it is not a box."""
    box = _box(dimensions, view)
    return () if box is None else tuple(box[0])


def _are_apart(a: Sequence[tuple[int, int]], b: Sequence[tuple[int, int]]) -> bool:
    """Returns whether the ranges of two boxes, if both are known, are disjoint in a dimension."""
    return any(x[1] < y[0] or y[1] < x[0] for x, y in zip(a, b, strict=False))


def borders(
    low: Sequence[int], sizes: Sequence[int], whole: Sequence[int]
) -> Iterator[tuple[list[int], list[int]]]:
    """
    Starts and sizes of disjoint boxes that cover `whole` but its inside: before and after each
    dimension, as wide as the inside along earlier dimensions and as the whole along later ones.
    """
    for d, size in enumerate(sizes):
        end = low[d] + size
        for start, length in ((0, low[d]), (end, whole[d] - end)):
            if length:
                later = len(sizes) - d - 1
                yield (
                    [*low[:d], start, *[0] * later],
                    [*sizes[:d], length, *whole[d + 1 :]],
                )
