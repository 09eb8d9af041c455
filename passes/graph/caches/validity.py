"""
The proof that rows without content change nothing, and the masks that make it true.

The memory of a cache has rows that no token has filled yet. They change no result if scores of
attention are masked there, before their softmax: then weights are zero there, and so are the terms
of sums over rows. `mask_rows` follows the rows through a graph, masks each softmax over them, and
refuses what mixes rows in another way.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Any, TypeAlias

from xdsl.dialects.builtin import TensorType
from xdsl.ir import BlockArgument, Operation, SSAValue

from ....glow_dialects.glow.arithmetic import AddOp, MulOp
from ....glow_dialects.glow.attention import AttentionOp, MaskedAttentionOp
from ....glow_dialects.glow.base import DataParallel, Node
from ....glow_dialects.glow.constant import ConstantOp, SplatOp
from ....glow_dialects.glow.indexing import CumSumOp
from ....glow_dialects.glow.logic import CastOp, SelectOp
from ....glow_dialects.glow.matrix import MatMulOp
from ....glow_dialects.glow.normalization import SoftmaxOp
from ....glow_dialects.glow.reduction import ReduceSumOp
from ....glow_dialects.glow.shape import (
    BroadcastOp,
    ConcatOp,
    GatherOp,
    ReshapeOp,
    SliceOp,
    TransposeOp,
)
from ....glow_dialects.operator import element_of, shape_of
from ..rewriting import Build, splat_value
from .difference import Difference, RowAxis, refuse


class RowMasks:
    """The walk over a graph that masks rows."""

    def __init__(self, difference: Difference, valid: SSAValue, places: Collection[SSAValue]):
        """
        `valid` is f32[total]: 0 for each row with content, negative infinity for others. `places`
        are constants that are places of rows.
        """
        self._difference = difference
        self._valid = valid
        self._places = set(places)
        block = difference.main.body.block
        self._axis: dict[SSAValue, RowAxis] = {
            value: axis
            for value in (*block.args, *(r for op in block.ops for r in op.results))
            if value is not valid and (axis := _axis(difference, value)) is not None
        }
        self._zero: set[SSAValue] = {a for a in block.args if a in self._axis}
        """Values that are zero, or false, in rows without content: inputs are padded so."""

    def run(self) -> None:
        """Masks all rows without content. Raises UnsupportedError."""
        for op in list(self._difference.main.body.block.ops):
            if not isinstance(op, Node):
                continue
            if not self._places.isdisjoint(op.operands):
                self._follow_places(op)
            rows = {i: self._axis[v] for i, v in enumerate(op.operands) if v in self._axis}
            if rows:
                self._step(op, rows)

    def _step(self, op: Node, rows: dict[int, RowAxis]) -> None:
        """Looks at a node some of whose operands, by number, have rows."""
        if isinstance(op, DataParallel):
            self._elementwise(op)
            return
        for kind, rule in _RULES.items():
            if isinstance(op, kind):
                rule(self, op, rows)
                return
        raise refuse(op, "it may mix rows of caches")

    def _softmax(self, op: SoftmaxOp, rows: dict[int, RowAxis]) -> None:
        if op.axis.value.data == rows[0].axis:
            self._mask_scores(op)
            self._zero.add(op.result)

    def _sum(self, op: ReduceSumOp | CumSumOp, rows: dict[int, RowAxis]) -> None:
        if op.operands[0] not in self._zero:
            raise refuse(op, "it adds rows that may have no content")

    def _concat(self, op: ConcatOp, rows: dict[int, RowAxis]) -> None:
        whole = self._axis.get(op.result)
        if whole is None or {row.axis for row in rows.values()} != {whole.axis}:
            raise refuse(op, "it joins rows of caches with others")

    def _gather(self, op: GatherOp, rows: dict[int, RowAxis]) -> None:
        row = rows.get(0)
        if row and row.axis == op.axis.value.data and op.indices not in self._places:
            raise refuse(op, "it takes rows of a cache at computed places")

    def _move(self, op: BroadcastOp | TransposeOp, rows: dict[int, RowAxis]) -> None:
        if op.input in self._zero:
            self._zero.add(op.result)

    def _follow_places(self, op: Node) -> None:
        """Checks that places of rows do nothing but find rows."""
        if isinstance(op, BroadcastOp | TransposeOp | ReshapeOp):
            self._places.add(op.result)
            return
        row = self._axis.get(op.data) if isinstance(op, GatherOp) else None
        if not isinstance(op, GatherOp) or row is None or row.axis != op.axis.value.data:
            raise refuse(op, "it computes with the places of rows of a cache")

    def _elementwise(self, op: DataParallel) -> None:
        zero = [v in self._zero or splat_value(v) == 0 for v in op.operands]
        if (
            (isinstance(op, MulOp) and any(zero))
            or (isinstance(op, CastOp) and zero[0])
            or (isinstance(op, SelectOp) and all(zero[1:]))
        ):
            self._zero.add(op.results[0])

    def _reshape(self, op: ReshapeOp, given: dict[int, RowAxis]) -> None:
        row = given[0]
        after = self._axis.get(op.result)
        if after is None or _inner(op.input, row) != _inner(op.result, after):
            raise refuse(op, "it splits or joins rows of caches")
        if op.input in self._zero:
            self._zero.add(op.result)

    def _slice(self, op: SliceOp, given: dict[int, RowAxis]) -> None:
        row = given[0]
        start, rows = op.call.ints("starts")[row.axis], self._difference.rows
        size, taken = (shape_of(v.type)[row.axis] for v in (op.input, op.result))
        if (start, taken, size) == (rows.past, rows.new, rows.total):
            return
        if taken != size:
            raise refuse(op, "it takes some rows of a cache")
        if op.input in self._zero:
            self._zero.add(op.result)

    def _product(self, op: MatMulOp, rows: dict[int, RowAxis]) -> None:
        rank = len(shape_of(op.lhs.type))
        sums = (
            rank - 2 if op.transpose_lhs.value.data else rank - 1,
            rank - 1 if op.transpose_rhs.value.data else rank - 2,
        )
        if not any(row.axis == sums[i] for i, row in rows.items()):
            return
        if op.lhs not in self._zero and op.rhs not in self._zero:
            raise refuse(op, "it adds rows that may have no content")

    def _mask_scores(self, op: SoftmaxOp) -> None:
        build = Build()
        masked = build(AddOp, op.input, self._mask(build, op.input, self._axis[op.input].axis))
        self._insert(op, build)
        op.operands[0] = masked

    def _mask_attention(
        self, op: AttentionOp | MaskedAttentionOp, rows: dict[int, RowAxis]
    ) -> None:
        build = Build()
        (images, queries, heads, _), keys = shape_of(op.query.type), shape_of(op.key.type)[1]
        if keys != self._difference.rows.total or self._axis[op.key].axis != 1:
            raise refuse(op, "it attends to rows of another order")
        shape = [images, heads, queries, keys]
        like = build.splat(0.0, TensorType(element_of(op.query.type), shape))
        mask = self._mask(build, like, 3)
        if isinstance(op, MaskedAttentionOp):
            op.operands[3] = build(AddOp, op.mask, mask)
            self._insert(op, build)
            return
        operands = op.query, op.key, op.value, mask
        made = build(MaskedAttentionOp, *operands, scale=op.scale, safe=op.safe)
        self._insert(op, build)
        op.result.replace_all_uses_with(made)
        op.detach()
        op.erase()

    def _mask(self, build: Build, like: SSAValue, axis: int) -> SSAValue:
        """Returns what masks the scores `like`, whose dimension `axis` has rows."""
        element, shape = element_of(like.type), shape_of(like.type)
        count = self._difference.rows.total
        valid = self._valid
        if element != element_of(valid.type):
            valid = build(CastOp, valid, result_types=[TensorType(element, [count])])
        column = build.reshape(valid, [count if i == axis else 1 for i in range(len(shape))])
        return build.broadcast(column, shape)

    def _insert(self, op: Operation, build: Build) -> None:
        block = op.parent_block()
        assert block is not None
        block.insert_ops_before(build.ops, op)


_Rule: TypeAlias = Callable[[RowMasks, Any, dict[int, RowAxis]], None]
_RULES: Mapping[type[Node], _Rule] = {
    SoftmaxOp: RowMasks._softmax,
    AttentionOp: RowMasks._mask_attention,
    MaskedAttentionOp: RowMasks._mask_attention,
    MatMulOp: RowMasks._product,
    ReduceSumOp: RowMasks._sum,
    CumSumOp: RowMasks._sum,
    ReshapeOp: RowMasks._reshape,
    ConcatOp: RowMasks._concat,
    SliceOp: RowMasks._slice,
    GatherOp: RowMasks._gather,
    BroadcastOp: RowMasks._move,
    TransposeOp: RowMasks._move,
}
"""The rules of operators that may use rows of caches. Others may only compute each element."""


def _axis(difference: Difference, value: SSAValue) -> RowAxis | None:
    if isinstance(value, BlockArgument) or isinstance(value.owner, Node | ConstantOp | SplatOp):
        return difference.row_axis(value)
    return None


def _inner(value: SSAValue, row: RowAxis) -> int:
    """Returns the number of elements of one row."""
    count = 1
    for size in shape_of(value.type)[row.axis + 1 :]:
        count *= size
    return count
