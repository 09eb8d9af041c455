"""Extents compute what integers do, for all values of symbols, or say that they cannot."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import pytest
from glow.context import make_context
from glow.glow_dialects.dims import DimsAttr
from glow.glow_dialects.extents import (
    Size,
    UndecidedSizeError,
    bounds,
    symbol_size,
)
from glow.glow_dialects.extremes import greatest, least
from hypothesis import given
from hypothesis import strategies as st
from xdsl.parser import Parser

A, B, C = symbol_size("a"), symbol_size("b", 2, 9), symbol_size("c", 0, 5)
BINARY: dict[str, Callable[[Any, Any], Any]] = {
    **{"+": operator.add, "-": operator.sub, "*": operator.mul},
    **{"//": operator.floordiv, "%": operator.mod},
}
COMPARISONS: list[Callable[[Any, Any], Any]] = [
    *(operator.lt, operator.le, operator.gt, operator.ge),
    *(least, greatest),
]


def trees(depth: int = 3) -> st.SearchStrategy[Any]:
    """Expressions as nested tuples of an operator and two parts, symbols, and numbers."""
    leaves = st.one_of(st.sampled_from(["a", "b", "c"]), st.integers(-4, 9))
    if not depth:
        return leaves
    inner = trees(depth - 1)
    sums = st.tuples(st.sampled_from(["+", "-", "*"]), inner, inner)
    quotients = st.tuples(st.sampled_from(["//", "%"]), inner, st.integers(1, 6))
    return st.one_of(leaves, sums, quotients)


def computed(tree: Any, values: dict[str, Any]) -> Any:
    if isinstance(tree, tuple):
        sign, *parts = tree
        return BINARY[sign](*(computed(part, values) for part in parts))
    return values[tree] if isinstance(tree, str) else tree


def at(size: Size, values: dict[str, int]) -> Size:
    return size if isinstance(size, int) else size.at(values)


SIZES = st.fixed_dictionaries(
    {"a": st.integers(1, 40), "b": st.integers(2, 9), "c": st.integers(0, 5)}
)


@given(trees(), SIZES)
def test_arithmetic_is_that_of_integers(tree: Any, values: dict[str, int]) -> None:
    size = computed(tree, {"a": A, "b": B, "c": C})
    low, high = bounds(size)
    wanted = computed(tree, values)
    assert at(size, values) == wanted
    assert low <= wanted <= high
    halfway = size if isinstance(size, int) else size.at({"a": values["a"]})
    assert at(halfway, values) == wanted


@given(trees(2), trees(2), st.sampled_from(COMPARISONS), SIZES)
def test_comparisons_hold_for_all_values(
    left: Any, right: Any, compare: Callable[[Any, Any], Any], values: dict[str, int]
) -> None:
    symbols = {"a": A, "b": B, "c": C}
    try:
        found = compare(computed(left, symbols), computed(right, symbols))
    except UndecidedSizeError:
        return
    found = found if isinstance(found, bool) else at(found, values)
    assert found == compare(computed(left, values), computed(right, values))


@given(trees())
def test_text_is_read_back(tree: Any) -> None:
    attribute = DimsAttr((computed(tree, {"a": A, "b": B, "c": C}),))
    parser = Parser(make_context(), str(attribute))
    assert parser.parse_attribute() == attribute


@given(trees(2), trees(2))
def test_products_are_divided_exactly(left: Any, right: Any) -> None:
    symbols = {"a": A, "b": B, "c": C}
    a, b = computed(left, symbols), computed(right, symbols)
    if not isinstance(b, int) and not isinstance(a * b, int):
        assert a * b // b == a


@pytest.mark.parametrize(
    ("found", "wanted"),
    [
        (((A - 1) // 2 + 1 - 1) // 2 + 1, (A + 3) // 4),
        ((4 * A + 7) // 2, 2 * A + 3),
        (A * B - A >= 0, True),
        (2 * ((A + 1) // 2) - A >= 0, True),
        (9 - B >= 0, True),
        (B // 10, 0),
        (A - A, 0),
        (A != B, True),
        (bool(B - 1), True),
    ],
)
def test_simplified(found: object, wanted: object) -> None:
    assert found == wanted


@pytest.mark.parametrize(
    ("decision", "message"),
    [
        (lambda: A >= 3, "cannot tell whether a - 3 is negative: a is from 1; give a narrower"),
        (lambda: bool(C), "cannot tell whether c is 0: c is from 0 to 5"),
        (lambda: range(A * B), r"the number that a \* b is: a is from 1, b is from 2 to 9"),
        (lambda: float(A), "cannot tell the number that a is"),
        (lambda: A // B, "cannot tell a divided by b"),
        (lambda: 3 // A, "cannot tell 3 divided by a"),
        (lambda: A / 2, "cannot tell the real quotient of a"),
    ],
)
def test_undecided(decision: Callable[[], object], message: str) -> None:
    with pytest.raises(UndecidedSizeError, match=message):
        decision()
