"""Dominance on random control flow, against the definition."""

from __future__ import annotations

import pytest
from glow.passes.verify_dominance import verify_dominance
from hypothesis import given
from hypothesis import strategies as st
from xdsl.dialects import test
from xdsl.dialects.builtin import i32
from xdsl.dialects.func import FuncOp
from xdsl.ir import Block, Region
from xdsl.utils.exceptions import VerifyException


def function(successors: list[list[int]], definition: int, use: int) -> FuncOp:
    """
    Returns a function whose block i branches to successors[i]. One block defines a value, another
    one uses it.
    """
    blocks = [Block() for _ in successors]
    value = test.TestOp(result_types=[i32])
    if definition != use:
        blocks[definition].add_op(value)
    blocks[use].add_op(test.TestOp(operands=[value.results[0]]))
    if definition == use:
        blocks[use].add_op(value)
    for block, targets in zip(blocks, successors, strict=True):
        block.add_op(test.TestTermOp(successors=[blocks[t] for t in targets]))
    return FuncOp("f", ((), ()), Region(blocks))


def reachable(successors: list[list[int]], without: int | None = None) -> set[int]:
    """Returns blocks on a path from the entry that avoids one block."""
    seen: set[int] = set()
    stack = [0] if without != 0 else []
    while stack:
        block = stack.pop()
        if block not in seen:
            seen.add(block)
            stack += [s for s in successors[block] if s != without]
    return seen


@st.composite
def graphs(draw: st.DrawFn) -> tuple[list[list[int]], int, int]:
    n = draw(st.integers(2, 9))
    # no block branches to the entry
    block = st.integers(1, n - 1)
    successors = draw(st.lists(st.lists(block, max_size=3), min_size=n, max_size=n))
    return successors, draw(st.integers(0, n - 1)), draw(st.integers(0, n - 1))


@given(graphs())
def test_a_definition_dominates_if_every_path_to_the_use_meets_it(
    case: tuple[list[list[int]], int, int],
) -> None:
    successors, definition, use = case
    if use not in reachable(successors):
        verify_dominance(function(*case))
    elif definition != use and use not in reachable(successors, without=definition):
        verify_dominance(function(*case))
    else:
        with pytest.raises(VerifyException, match="before its use"):
            verify_dominance(function(*case))


def test_many_operations_and_many_blocks_are_no_problem() -> None:
    n = 20_000
    verify_dominance(function([[i + 1] for i in range(n)] + [[]], 0, n))
