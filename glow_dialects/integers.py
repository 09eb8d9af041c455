"""
Integer element types: their signs, their values and their short names.

MLIR's types of integers are signless, signed or unsigned. Here the signless ones hold signed
numbers, except for truth values (i1). This is the one place that says so.
"""

from __future__ import annotations

from xdsl.dialects.builtin import IntegerType, Signedness, i1


def unsigned(width: int) -> IntegerType:
    """Returns the type of unsigned integers of some bits."""
    return IntegerType(width, Signedness.UNSIGNED)


u8, u16, u32, u64 = map(unsigned, (8, 16, 32, 64))


def is_unsigned_integer(t: IntegerType) -> bool:
    """Returns whether no number of a type is negative: types that say so, and i1."""
    return t == i1 or t.signedness.data is Signedness.UNSIGNED


def integer_range(t: IntegerType) -> tuple[int, int]:
    """Returns the smallest and the largest number of a type."""
    width = t.width.data
    if is_unsigned_integer(t):
        return 0, 2**width - 1
    return -(2 ** (width - 1)), 2 ** (width - 1) - 1


def short_name(t: IntegerType) -> str:
    """Returns the name of a type in formulas, claims and quantized types: `i8`, `u8`."""
    says_so = t.signedness.data is Signedness.UNSIGNED
    return f"{'u' if says_so else 'i'}{t.width.data}"


def of_short_name(name: str) -> IntegerType | None:
    """Returns the type of a name such as `i8` or `u8`; None if there is none."""
    if name[:1] not in ("i", "u") or not name[1:].isdigit():
        return None
    width = int(name[1:])
    return unsigned(width) if name[0] == "u" else IntegerType(width)
