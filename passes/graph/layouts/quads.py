"""The integer types that are multiplied in groups of adjacent elements."""

from __future__ import annotations

from xdsl.dialects.builtin import i8, i16
from xdsl.ir import Attribute

from ....glow_dialects.elements import storage_type
from ....glow_dialects.integers import u8

QUAD = 4
_PRODUCTS = ((u8, i8), (i8, i8), (i16, i16))


def are_factors(x: Attribute, weights: Attribute) -> bool:
    """
    Returns whether elements of these types, or their storage types, are multiplied as integers.
    """
    return (storage_type(x), storage_type(weights)) in _PRODUCTS
