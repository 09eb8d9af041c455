"""
The parts of a network that depend on how many rows its caches have.

Nothing states them in a graph of static shapes. So two graphs of a network are compared, for `past`
rows and for one row less, whose nodes correspond one to one. A dimension that differs is that of
the rows: of the past ones, or of all, or a multiple of these (several sequences, flattened). The
memory of a cache has room for `past` rows, of which the first ones are used, and the new rows lie
behind the room. So the row that the smaller graph lacks is the last one of the room.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp, TensorType
from xdsl.ir import Operation, SSAValue

from ....errors import UnsupportedError
from ....glow_dialects.glow.base import Node
from ....glow_dialects.glow.constant import ConstantOp
from ....glow_dialects.glow.shape import BroadcastOp, SliceOp
from ....glow_dialects.operator import element_of, shape_of
from ....interface.cache_rows import Rows
from ....semantics.arrays import constant_array, make_constant
from ....semantics.registry import evaluate
from ...visited_operation import each
from ..fold_constants import is_foldable, known_array
from ..rewriting import erase_if_dead, is_constant, replace_node


@dataclass(frozen=True)
class RowAxis:
    """The dimension of a tensor that has rows of caches."""

    axis: int
    has_new: bool
    """Whether the new rows are among them."""


def main_of(module: ModuleOp) -> func.FuncOp:
    """Returns the function @main of an imported network."""
    (function,) = (op for op in module.ops if isinstance(op, func.FuncOp))
    return function


def where(op: Operation) -> str:
    """Returns the name of a node in errors."""
    hint = op.results[0].name_hint if op.results else None
    return f"{op.name} {hint!r}" if hint else op.name


def refuse(op: Operation, why: str) -> UnsupportedError:
    """Returns the error for a node that prevents caches in place."""
    return UnsupportedError(
        f"the caches cannot be updated in place: {where(op)}: {why}; without `states`, the model "
        "runs with caches as inputs and outputs"
    )


class Difference:
    """A graph beside one of the same network whose caches have one row less before the call."""

    def __init__(self, larger: ModuleOp, smaller: ModuleOp, rows: Rows):
        self.main = main_of(larger)
        self.rows = rows
        self._other: dict[SSAValue, SSAValue] = {}
        pairs = list(corresponding(self.main, main_of(smaller)))
        for op, other in pairs:
            self._other.update(zip(op.results, other.results, strict=True))
        for op, other in pairs:
            self._fold_rows(op, other)
        blocks = (self.main.body.block, main_of(smaller).body.block)
        self._other.update(zip(blocks[0].args, blocks[1].args, strict=True))

    def _fold_rows(self, op: Operation, other: Operation) -> None:
        """
        Replaces two corresponding nodes with rows by constants if they follow from constants, such
        as a mask of new rows by all rows, which is too large to be folded by the import.
        """
        if not isinstance(op, Node) or not isinstance(other, Node) or isinstance(op, BroadcastOp):
            return
        if len(op.results) != 1 or op.results[0].type == other.results[0].type:
            return
        both = op, other
        if not all(is_foldable(o) and all(map(is_constant, o.operands)) for o in both):
            return
        found: list[SSAValue] = []
        for node in both:
            (array,) = evaluate(node.call, [known_array(v) for v in node.operands])
            made = make_constant(array, element=element_of(node.results[0].type))
            operands = list(node.operands)
            found.append(made.results[0])
            replace_node(node, [made], made.results[0])
            erase_if_dead(operands)
        self._other[found[0]] = found[1]

    def row_axis(self, value: SSAValue) -> RowAxis | None:
        """Returns the dimension that has rows; None if there is none. Raises UnsupportedError."""
        shape, other = shape_of(value.type), shape_of(self._other[value].type)
        axes = [i for i, (a, b) in enumerate(zip(shape, other, strict=True)) if a != b]
        if not axes:
            return None
        size, smaller = shape[axes[0]], other[axes[0]]
        for rows, has_new in ((self.rows.total, True), (self.rows.past, False)):
            if len(axes) == 1 and size == (size - smaller) * rows:
                return RowAxis(axes[0], has_new)
        owner = value.owner
        assert isinstance(owner, Operation)
        raise refuse(owner, f"the shape {list(shape)} depends on the past in another way")

    def differing(self) -> Iterator[tuple[ConstantOp, np.ndarray, np.ndarray]]:
        """Yields the constants that depend on the past, with both their values."""
        for op in each(list(self.main.body.block.ops)):
            other = self._other[op.results[0]].owner if op.results else None
            if not isinstance(op, ConstantOp) or not isinstance(other, ConstantOp):
                continue
            if op.value == other.value and op.result.type == other.result.type:
                continue
            values = elements(op), elements(other)
            if values[0].shape != values[1].shape or not np.array_equal(*values, equal_nan=True):
                yield op, *values

    def moved_slices(self) -> Iterator[tuple[SliceOp, int]]:
        """
        Yields the slices of tensors without rows that begin one further for one row more, with the
        dimension: the rows of a table for the new tokens. Raises UnsupportedError for other nodes
        whose properties depend on the past.
        """
        for op in list(self.main.body.block.ops):
            other = self._other[op.results[0]].owner if op.results else op
            assert isinstance(other, Operation)
            if isinstance(op, ConstantOp) or op.properties == other.properties:
                continue
            if not isinstance(op, SliceOp) or not isinstance(other, SliceOp):
                raise refuse(op, "its properties depend on the past")
            if self.row_axis(op.input) is not None:
                continue
            starts = zip(op.call.ints("starts"), other.call.ints("starts"), strict=True)
            axes = [axis for axis, (a, b) in enumerate(starts) if a != b]
            shape = shape_of(op.result.type)
            if (
                len(axes) != 1
                or op.call.ints("sizes") != other.call.ints("sizes")
                or any(step != 1 for step in op.call.ints("strides"))
                or shape[axes[0]] != self.rows.new
                or op.call.ints("starts")[axes[0]] != other.call.ints("starts")[axes[0]] + 1
            ):
                raise refuse(op, "what it takes of a table depends on the past")
            yield op, axes[0]

    def kept(self, size: int, has_new: bool) -> np.ndarray:
        """
        Returns the places along a dimension of rows of the larger graph that the smaller one has.
        """
        count = self.rows.total if has_new else self.rows.past
        places = np.arange(size)
        return places[places % count != self.rows.past - 1]


def elements(op: ConstantOp) -> np.ndarray:
    """Returns the elements of a constant."""
    assert isinstance(op.result.type, TensorType)
    found = constant_array(op.value, op.result.type)
    return found.astype(np.float32) if found.dtype.kind == "V" else found


def corresponding(a: func.FuncOp, b: func.FuncOp) -> Iterator[tuple[Operation, Operation]]:
    """
    Yields the nodes of two graphs of one network in order. Raises UnsupportedError if they are not
    the same but for shapes and values.
    """
    left, right = list(a.body.block.ops), list(b.body.block.ops)
    number: dict[SSAValue, int] = {}
    for ops in (left, right):
        count = 0
        for value in (*ops[0].parent_block().args, *(r for op in ops for r in op.results)):  # pyright: ignore
            number[value] = count
            count += 1
    for op, other in zip(left, right, strict=False):
        same = type(op) is type(other) and len(left) == len(right)
        if not same or [number[v] for v in op.operands] != [number[v] for v in other.operands]:
            raise refuse(op, "another number of rows gives another graph")
        yield op, other
