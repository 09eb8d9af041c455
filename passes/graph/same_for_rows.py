"""
The comparison of the graphs of a network for several numbers of rows.

The frontend makes a graph for each number. In graphs that say the same, types and shapes differ
where they state the number, and constants with a part for each row begin alike. A number that
follows from the number of rows and is in the graph itself, such as the divisor of a mean over rows,
would be that of the largest number of rows in a program for all.

A dimension that is rows is bound if some input with rows reaches it. Other ones, such as those of a
constant mask, have all rows at any time: so a node that joins rows needs bound ones.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product, zip_longest

import numpy as np
from xdsl.dialects import func
from xdsl.dialects.builtin import DenseArrayBase, TensorType
from xdsl.ir import Attribute, Operation, SSAValue

from ...errors import CompileError
from ...glow_dialects.formula.facts import divided_dimension
from ...glow_dialects.formula.statement import Loop, Read, Statement
from ...glow_dialects.glow.base import DataParallel, Node, OnlyMovesData
from ...glow_dialects.glow.constant import ConstantOp
from ...glow_dialects.glow.shape import BroadcastOp, GatherOp
from ...glow_dialects.glow.structured import Structured
from ...glow_dialects.operator import shape_of
from ...semantics.registry import evaluate, has_meaning
from .rewriting import failure


def expect_same_for_rows(
    large: func.FuncOp, small: func.FuncOp, rows: tuple[int, int], symbol: str
) -> None:
    """
    Checks that two graphs, for `rows[0]` and for fewer, `rows[1]`, rows, are the same but for the
    number, which is called `symbol`. Raises CompileError that names the node that is not.
    """
    comparison = _Comparison(rows, symbol)
    for a, b in zip(large.args, small.args, strict=True):
        comparison.same[a] = b
        if comparison.has_rows(a, b):
            comparison.bound.add(a)
    for a, b in zip_longest(_nodes(large), _nodes(small)):
        if a is None or b is None:
            more = a or b
            assert more is not None
            raise comparison.error(more, "one graph has more nodes")
        comparison.visit(a, b)


def rows_of_results(
    large: func.FuncOp, small: func.FuncOp, rows: tuple[int, int], symbol: str
) -> list[list[int]]:
    """
    Returns the dimensions of each result of such graphs that have the size of the rows. Raises
    CompileError for one that depends on it otherwise.
    """
    (end, other) = (graph.body.block.last_op for graph in (large, small))
    assert isinstance(end, func.ReturnOp)
    assert isinstance(other, func.ReturnOp)
    found: list[list[int]] = []
    for a, b in zip(end.operands, other.operands, strict=True):
        dims = list(_row_dims(a, b))
        if any(shape_of(v.type)[d] != n for v, n in zip((a, b), rows) for d in dims):
            raise failure(
                end,
                f"expected results whose sizes are {symbol} or do not depend on it, found {a.type}",
            )
        found.append(dims)
    return found


def _nodes(function: func.FuncOp) -> Sequence[Operation]:
    """Returns the operations of a graph that depend on its inputs, and those without operands."""
    depending: set[SSAValue] = set(function.args)
    found: list[Operation] = []
    for op in function.body.block.ops:
        own = isinstance(op, Node) and not op.operands and not has_meaning(type(op))
        if own or not depending.isdisjoint(op.operands) or isinstance(op, func.ReturnOp):
            depending.update(op.results)
            found.append(op)
    return found


class _Comparison:
    def __init__(self, rows: tuple[int, int], symbol: str):
        self._most, self._fewer = rows
        self._symbol = symbol
        self.same: dict[SSAValue, SSAValue] = {}
        """The value of the smaller graph for each of the large one."""
        self.bound: set[SSAValue] = set()
        """Values of the large graph all of whose rows are bound."""

    def has_rows(self, large: SSAValue, small: SSAValue) -> bool:
        return large.type != small.type

    def visit(self, large: Operation, small: Operation) -> None:
        """Compares two nodes whose operands come before them."""
        if large.name != small.name or len(large.operands) != len(small.operands):
            raise self.error(large, f"it is {large.name} and {small.name}")
        for a, b in zip(large.operands, small.operands, strict=True):
            self._expect_operand(large, a, b)
        self._expect_properties(large, small)
        if large.regions:
            raise failure(large, f"expected no branches and loops in a program of {self._symbol}")
        for a, b in zip(large.results, small.results, strict=True):
            if not self._is_scaled(a.type, b.type):
                raise self.error(large, f"its result is {a.type} and {b.type}")
            self.same[a] = b
        self._bind(large, small)

    def error(self, op: Operation, found: str) -> CompileError:
        return failure(
            op,
            f"expected the same for all sizes of {self._symbol}; for {self._most} and for "
            f"{self._fewer}, {found}",
        )

    # numbers

    def _is_scaled(self, large: Attribute, small: Attribute) -> bool:
        """Returns whether types are equal, or differ in sizes in proportion to the rows."""
        if large == small:
            return True
        if not isinstance(large, TensorType) or not isinstance(small, TensorType):
            return False
        same_kind = large.element_type == small.element_type
        return same_kind and self._are_scaled(large.get_shape(), small.get_shape())

    def _are_scaled(self, large: Sequence[int], small: Sequence[int]) -> bool:
        return len(large) == len(small) and all(
            a == b or a * self._fewer == b * self._most for a, b in zip(large, small, strict=True)
        )

    def _expect_properties(self, large: Operation, small: Operation) -> None:
        for name in sorted({*large.properties, *small.properties}):
            a, b = large.properties.get(name), small.properties.get(name)
            if a == b:
                continue
            shapes = large.has_trait(OnlyMovesData) and name in ("shape", "sizes")
            numbers = [x.get_values() if isinstance(x, DenseArrayBase) else () for x in (a, b)]
            if not (shapes and numbers[0] and self._are_scaled(*numbers)):  # pyright: ignore
                raise self.error(large, f"{name} is {a} and {b}")

    def _expect_operand(self, op: Operation, large: SSAValue, small: SSAValue) -> None:
        if large in self.same:
            if self.same[large] is not small:
                raise self.error(op, "its operands are not the same")
            return
        owners = large.owner, small.owner
        if all(isinstance(o, ConstantOp) for o in owners) and owners[0].is_structurally_equivalent(  # pyright: ignore
            owners[1]
        ):
            return  # the weights of a network are the same bytes
        a, b = _array(large), _array(small)
        if a is None or b is None or not self._is_scaled(large.type, small.type):
            raise self.error(op, f"a constant is {large.type} and {small.type}")
        first = a[tuple(map(slice, b.shape))]
        if not np.array_equal(first, b, equal_nan=b.dtype.kind == "f"):
            raise self.error(op, "a constant has other elements, so it depends on the size")

    # rows

    def _bind(self, large: Operation, small: Operation) -> None:
        """Finds out whether the rows of a result are bound, and those that a node joins."""
        pairs = zip(large.operands, small.operands, strict=True)
        rows = [a for a, b in pairs if self.has_rows(a, b)]
        bound = [a for a in rows if a in self.bound]
        if isinstance(large, DataParallel):
            is_bound = bool(bound)
        elif isinstance(large, BroadcastOp):
            (value,) = large.operands
            repeated = len(_row_dims(large.results[0], small.results[0]))
            is_bound = bool(bound) and len(_row_dims(value, self.same[value])) == repeated
        elif isinstance(large, Structured):
            is_bound = self._binds(large, small)
        else:
            is_bound = bool(rows) and len(bound) == len(rows)
            moves = large.has_trait(OnlyMovesData) or isinstance(large, func.ReturnOp)
            if rows and not bound and not moves and not _looks_up(large, rows):
                raise self._unbound(large)
        if is_bound:
            self.bound.update(large.results)

    def _binds(self, op: Structured, small: Operation) -> bool:
        """
        Returns whether all rows of the result are bound, by the formula of a node. Raises
        CompileError if it joins rows that are not.
        """
        pairs = zip(op.operands, small.operands, strict=True)
        rows = {i: dims for i, (a, b) in enumerate(pairs) if (dims := _row_dims(a, b))}
        joined = {(i, d) for i, each in rows.items() for d in each}
        ends = {i for i in rows if op.operands[i] in self.bound}
        bound, statement = set[int](), op.statement(op.call)
        for chosen in product(*([None, *each] for each in rows.values())):
            parts = {i: d for i, d in zip(rows, chosen, strict=True) if d is not None}
            if parts and (found := divided_dimension(statement, parts)) is not None:
                joined.difference_update(parts.items())
                if not ends.isdisjoint(parts):
                    bound.add(found)
        limited = _loops(statement, [(i, d) for i in ends for d in rows[i]])
        if not limited.issuperset(_loops(statement, [at for at in joined if at[0] not in ends])):
            raise self._unbound(op)
        return bound.issuperset(_row_dims(op.results[0], small.results[0]))

    def _unbound(self, op: Operation) -> CompileError:
        return failure(
            op,
            f"expected a value that depends on inputs of the size {self._symbol}, found one that "
            "only has this size",
        )


def _loops(statement: Statement, places: Sequence[tuple[int, int]]) -> set[Loop]:
    """Returns the loops in the indices of operands at places: operands, and dimensions of each."""
    return {
        loop
        for term in statement.terms()
        if isinstance(term, Read)
        for operand, dim in places
        if term.source == operand
        for loop in term.indices[dim].loops
    }


def _looks_up(op: Operation, rows: Sequence[SSAValue]) -> bool:
    """Returns whether a node has rows of indices only, each of which chooses an element."""
    return isinstance(op, GatherOp) and rows == [op.indices]


def _row_dims(large: SSAValue, small: SSAValue) -> Sequence[int]:
    """Returns the dimensions in which two values differ."""
    a, b = large.type, small.type
    assert isinstance(a, TensorType)
    assert isinstance(b, TensorType)
    pairs = zip(a.get_shape(), b.get_shape(), strict=True)
    return [d for d, (x, y) in enumerate(pairs) if x != y]


def _array(value: SSAValue) -> np.ndarray | None:
    """Returns the elements of a value that depends on no inputs; None if they are not known."""
    node = value.owner
    if not isinstance(node, Node) or not has_meaning(type(node)):
        return None
    given = [_array(operand) for operand in node.operands]
    known = [array for array in given if array is not None]
    if len(known) < len(given):
        return None
    return evaluate(node.call, known)[node.results.index(value)]  # pyright: ignore
