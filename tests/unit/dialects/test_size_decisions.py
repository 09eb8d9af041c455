"""Decisions about sizes, and the conditions under which they hold for other sizes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from glow.glow_dialects.dims import with_symbols
from glow.glow_dialects.extents import UndecidedSizeError, symbol_size
from glow.glow_dialects.operator import shape_of
from glow.glow_dialects.size_decisions import Decisions, deciding
from xdsl.dialects.builtin import f32
from xdsl.utils.exceptions import VerifyException

N, M = symbol_size("n"), symbol_size("m")
ASKED: list[Callable[[Any, Any], object]] = [
    lambda n, m: n < m,
    lambda n, m: 2 * n - 3 >= m,
    lambda n, m: n == m,
    lambda n, m: (n, 4) == (m, 4),
    lambda n, m: m != 3 * n,
    lambda n, m: bool(n - m),
    lambda n, m: abs(n - m) > 2,
    lambda n, m: max(n, m) == n,
    lambda n, m: list(range(n)),
    lambda n, m: m / n,
    lambda n, m: m // n,
    lambda n, m: divmod(60, n),
    lambda n, m: float(n // 2),
    lambda n, m: np.zeros([n, m]).shape,
    lambda n, m: "x" * (n % 3),
]


def numbers(found: object, sizes: dict[str, int]) -> object:
    """Returns what is found with sizes in place of extents."""
    match found:
        case tuple() | list():
            return [numbers(each, sizes) for each in found]
        case int() | float() | str():
            return found
        case _:
            return found.at(sizes)  # pyright: ignore


@pytest.mark.parametrize("ask", ASKED)
def test_what_is_decided_holds_under_its_conditions(ask: Callable[[Any, Any], object]):
    for n in range(1, 9):
        for m in range(1, 9):
            own = {"n": n, "m": m}
            decisions = Decisions(own)
            with deciding(decisions):
                found = ask(N, M)
            assert all(condition.holds(own) for condition in decisions.conditions)
            for a in range(1, 9):
                for b in range(1, 9):
                    other = {"n": a, "m": b}
                    if all(condition.holds(other) for condition in decisions.conditions):
                        assert numbers(found, other) == numbers(ask(a, b), other)


def test_nothing_is_decided_elsewhere():
    with deciding(Decisions({"n": 3, "m": 3})):
        assert N == M
    assert N != M
    with pytest.raises(UndecidedSizeError):
        _ = N < M


def test_conditions_are_readable():
    decisions = Decisions({"n": 3, "m": 5})
    with deciding(decisions):
        assert (N < M, N == M, int(M), N + 1 > 0) == (True, False, 5, True)
    found = [str(condition) for condition in decisions.conditions]
    assert found == ["-m + n < 0", "not -m + n == 0", "m == 5"]


def test_a_size_that_may_be_negative():
    t = with_symbols(f32, (N - 2, 4))
    with pytest.raises(VerifyException, match="found n - 2, which may be -1"):
        shape_of(t)
    decisions = Decisions({"n": 5})
    with deciding(decisions):
        assert shape_of(t) == (N - 2, 4)
    (condition,) = decisions.conditions
    assert [condition.holds({"n": n}) for n in (1, 2, 3)] == [False, True, True]
    with deciding(Decisions({"n": 1})), pytest.raises(VerifyException):
        shape_of(t)
