"""The integer types that are multiplied in groups of adjacent elements, and the sizes of groups."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from xdsl.dialects.builtin import IntegerType, Signedness, i8, i16
from xdsl.ir import Attribute

from ....errors import CompileError
from ....glow_dialects.elements import storage_type

U8 = IntegerType(8, Signedness.UNSIGNED)
QUAD, PAIR = 4, 2
_PRODUCTS = ((U8, i8), (i8, i8), (i16, i16))
_BYTES = {"u8": U8, "i8": i8}


def are_factors(x: Attribute, weights: Attribute) -> bool:
    """Whether elements of these types, or what is stored of them, are multiplied as integers."""
    return (storage_type(x), storage_type(weights)) in _PRODUCTS


def terms_of(x: Attribute, quads: Collection[Attribute]) -> int:
    """The number of elements in a group, on a machine that adds groups of 4 products of `quads`."""
    return QUAD if storage_type(x) in quads else PAIR


def quads_option(names: Sequence[str]) -> list[Attribute]:
    """The types that the option `quads` of a pass names."""
    for name in names:
        if name not in _BYTES:
            raise CompileError(f"expected quads of {', '.join(_BYTES)}, found {name!r}")
    return [_BYTES[name] for name in names]
