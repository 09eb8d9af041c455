"""Python values as the attributes that operators use, and back."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

from xdsl.dialects.builtin import (
    ArrayAttr,
    DenseArrayBase,
    FloatAttr,
    IntegerAttr,
    IntegerType,
    StringAttr,
    f64,
    i1,
    i64,
)
from xdsl.ir import Attribute

from .dims import DimsAttr
from .extents import Extent, Size
from .integers import u64

Python: TypeAlias = "bool | int | float | str | Sequence[Size] | Sequence[float] | Attribute"


def to_attribute(value: Python) -> Attribute:
    """
    Returns a Python value as the attribute that operators use: i64 (u64 from 2**63 on), f64, i1,
    string or dense array; for lists in which sizes depend on symbols, `#glow.dims`.
    """
    match value:
        case Attribute():
            return value
        case bool():
            return IntegerAttr(int(value), i1)
        case int():
            return IntegerAttr(value, i64 if value < 1 << 63 else u64)
        case float():
            return FloatAttr(value, f64)
        case str():
            return StringAttr(value)
        case _ if any(isinstance(v, float) for v in value):
            return DenseArrayBase.from_list(f64, [float(v) for v in value])
        case _ if any(isinstance(v, Extent) for v in value):
            return DimsAttr(tuple(value))  # pyright: ignore
        case _:
            return DenseArrayBase.from_list(i64, [int(v) for v in value])


def to_python(attribute: Attribute) -> Any:
    """Returns the Python value of an attribute made by `to_attribute`; others stay as they are."""
    match attribute:
        case IntegerAttr(type=IntegerType(width=width)) if width.data == 1:
            return bool(attribute.value.data)
        case IntegerAttr():
            return attribute.value.data
        case FloatAttr():
            return attribute.value.data
        case StringAttr():
            return attribute.data
        case DenseArrayBase():
            return tuple(attribute.get_values())  # pyright: ignore
        case DimsAttr():
            return attribute.data
        case ArrayAttr():
            return tuple(to_python(a) for a in attribute)
        case _:
            return attribute
