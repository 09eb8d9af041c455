"""Sizes, strides and extents of memrefs, against numpy."""

from __future__ import annotations

import itertools
import operator

import numpy as np
import pytest
from glow.glow_dialects.elements import (
    element_bytes,
    extent,
    is_contiguous,
    lowest_index,
    row_major_strides,
    strided_memref,
    type_bytes,
)
from hypothesis import given
from hypothesis import strategies as st
from xdsl.dialects.builtin import IndexType, MemRefType, TensorType, bf16, f32, f64, i1
from xdsl.utils.exceptions import VerifyException

DIMENSIONS = st.lists(st.tuples(st.integers(0, 4), st.integers(-7, 7)), max_size=4)


def indices(shape: list[int], strides: list[int], offset: int) -> np.ndarray:
    """Returns the index in the buffer of every element."""
    places = itertools.product(*map(range, shape))
    return np.array([offset + sum(map(operator.mul, strides, p)) for p in places], int)


@given(DIMENSIONS, st.integers(0, 9))
def test_extent_and_lowest_index(dimensions: list[tuple[int, int]], offset: int):
    shape, strides = [d for d, _ in dimensions], [s for _, s in dimensions]
    t = strided_memref(f32, shape, strides, offset)
    reached = indices(shape, strides, offset)
    assert extent(t) == (reached.max() + 1 if reached.size else 0)
    assert lowest_index(t) == (reached.min() if reached.size else 0)
    assert type_bytes(t) == 4 * extent(t)


@given(st.lists(st.integers(1, 5), max_size=4))
def test_row_major(shape: list[int]):
    assert row_major_strides(shape) == tuple(s // 8 for s in np.empty(shape).strides)
    dense = strided_memref(f64, shape, row_major_strides(shape))
    assert dense == MemRefType(f64, shape)
    assert is_contiguous(dense)
    assert extent(dense) == int(np.prod(shape))


@given(DIMENSIONS)
def test_contiguous_means_row_major_order(dimensions: list[tuple[int, int]]):
    shape, strides = [d for d, _ in dimensions], [s for _, s in dimensions]
    reached = indices(shape, strides, 0)
    dense = np.arange(reached.size)
    if reached.size:
        assert is_contiguous(strided_memref(f32, shape, strides)) == np.array_equal(reached, dense)


def test_element_bytes():
    assert [element_bytes(t) for t in (i1, bf16, f32, f64)] == [1, 2, 4, 8]
    assert type_bytes(TensorType(i1, [3, 3])) == 9
    with pytest.raises(VerifyException, match="element type of fixed size, found index"):
        element_bytes(IndexType())
