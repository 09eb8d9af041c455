"""The attributes of arguments and results of a function that say what its callers need to know."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import DictionaryAttr, IntegerAttr, StringAttr, UnitAttr, i64
from xdsl.ir import Attribute

from .python_values import to_attribute

RANGES = "glow.ranges"
"""
The attribute of an argument that states ranges of indices in it, or of a result that has the
extremes of indices which the network computes.
"""
RANDOM_STATE = "glow.random"
"""The attribute of the argument that random numbers follow from."""
USED = "glow.count"
"""
The attribute of a result of which data decides how much is used: along which axis, and the number
of the result that says how much.
"""
STEPS = "glow.limit"
"""The attribute of a result that says whether a loop had too many steps: which loop."""
VERDICTS = (RANGES, STEPS)
"""The attributes of results that say whether others are valid, which no caller sees."""


def range_attribute(
    low: Sequence[int],
    high: Sequence[int],
    user: str,
    total: int | None = None,
    ascending: bool = False,
    what: str | None = None,
) -> DictionaryAttr:
    """Returns one of the `RANGES`, which has the fields of `interface.index_range.IndexRange`."""
    entries: dict[str, Attribute] = {
        "low": to_attribute(low),
        "high": to_attribute(high),
        "user": StringAttr(user),
    }
    if total is not None:
        entries["total"] = IntegerAttr(total, i64)
    if ascending:
        entries["ascending"] = UnitAttr()
    if what is not None:
        entries["what"] = StringAttr(what)
    return DictionaryAttr(entries)
