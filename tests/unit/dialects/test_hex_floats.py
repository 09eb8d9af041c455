"""Floats that print as bits keep their value through text."""

from __future__ import annotations

import struct

import numpy as np
import pytest
from glow.context import make_context
from xdsl.dialects.builtin import DenseIntOrFPElementsAttr, TensorType, bf16, f16, f32, f64
from xdsl.parser import Parser
from xdsl.utils.exceptions import ParseError

SPECIAL = [float("inf"), float("-inf"), 12582912.0, -1234567.0, 16777216.0, 0.0, -0.0, 1e-45]


def through_text(values: list[float], t) -> tuple[float, ...]:
    attribute = DenseIntOrFPElementsAttr.from_list(TensorType(t, [len(values)]), values)
    again = Parser(make_context(), str(attribute)).parse_attribute()
    assert again == attribute
    assert isinstance(again, DenseIntOrFPElementsAttr)
    return tuple(again.get_values())  # pyright: ignore


@pytest.mark.parametrize("t", [f32, f64], ids=str)
def test_special_values(t):
    for values in ([v] for v in SPECIAL):
        assert through_text(values, t) == tuple(t.unpack(t.pack(values), 1))
    through_text(SPECIAL, t)


@pytest.mark.parametrize("t", [f16, bf16], ids=str)
def test_infinities_of_16_bits(t):
    assert through_text([float("inf"), 1.5, float("-inf")], t) == (
        float("inf"),
        1.5,
        float("-inf"),
    )


def test_any_bits(rng: np.random.Generator):
    bits = rng.integers(0, 2**32, 90, dtype=np.uint32)
    values = [v for v in bits.view(np.float32).tolist() if v == v]
    assert [struct.pack("<f", v) for v in through_text(values, f32)] == [
        struct.pack("<f", v) for v in values
    ]


def test_nan_and_too_many_bits():
    parse = Parser(make_context(), "dense<0x7fc00000> : tensor<f32>").parse_attribute()
    assert isinstance(parse, DenseIntOrFPElementsAttr)
    assert np.isnan(parse.get_values()[0])  # pyright: ignore
    with pytest.raises(ParseError, match="at most 32 bits"):
        Parser(make_context(), "dense<0x7fc000000> : tensor<f32>").parse_attribute()


def test_integers_are_as_before():
    attribute = Parser(make_context(), "dense<[0x10, -3]> : tensor<2xi32>").parse_attribute()
    assert isinstance(attribute, DenseIntOrFPElementsAttr)
    assert tuple(attribute.get_values()) == (16, -3)
