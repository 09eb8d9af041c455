"""Quantized types: print and parse, and what they say about storage."""

from __future__ import annotations

import math

import pytest
from glow.context import make_context
from glow.glow_dialects.elements import element_bytes, storage_type, type_bytes
from glow.glow_dialects.integers import integer_range
from glow.glow_dialects.quant import QuantizedType
from hypothesis import given
from hypothesis import strategies as st
from xdsl.dialects.builtin import (
    IntegerType,
    MemRefType,
    Signedness,
    TensorType,
    bf16,
    f16,
    f32,
    f64,
    i8,
)
from xdsl.parser import Parser
from xdsl.utils.exceptions import VerifyException

CONTEXT = make_context()


@st.composite
def quantized_types(draw: st.DrawFn) -> QuantizedType:
    signedness = draw(st.sampled_from([Signedness.SIGNLESS, Signedness.UNSIGNED]))
    storage = IntegerType(draw(st.integers(2, 32)), signedness)
    low, high = integer_range(storage)
    bounds = sorted(draw(st.tuples(st.integers(low, high), st.integers(low, high))))
    axis = draw(st.none() | st.integers(0, 5))
    count = 1 if axis is None else draw(st.integers(1, 4))
    scale = st.floats(0.0, exclude_min=True, allow_infinity=False, allow_nan=False)
    return QuantizedType(
        storage,
        draw(st.sampled_from([f16, bf16, f32, f64])),
        draw(st.lists(scale, min_size=count, max_size=count)),
        draw(st.lists(st.integers(low, high), min_size=count, max_size=count)),
        axis,
        (bounds[0], bounds[1]) if bounds[0] < bounds[1] else None,
    )


@given(quantized_types())
def test_print_and_parse(t: QuantizedType):
    assert Parser(CONTEXT, str(t)).parse_type() == t
    tensor = TensorType(t, [3, 2])
    assert Parser(CONTEXT, str(tensor)).parse_type() == tensor


@given(quantized_types())
def test_element_size(t: QuantizedType):
    assert element_bytes(t) == math.ceil(t.storage.width.data / 8)
    assert type_bytes(MemRefType(t, [3, 5])) == 15 * element_bytes(t)
    assert storage_type(t) == t.storage


def test_lengths_must_agree():
    with pytest.raises(VerifyException, match=r"as many zero points as scales \(2\), found 3"):
        QuantizedType(i8, f32, [0.1, 0.2], [1, 2, 3], axis=0)
    with pytest.raises(VerifyException, match="one scale without an axis, found 2"):
        QuantizedType(i8, f32, [0.1, 0.2])
    with pytest.raises(VerifyException, match="such as i8 or u8, found si8"):
        QuantizedType(IntegerType(8, Signedness.SIGNED), f32, 0.1)
