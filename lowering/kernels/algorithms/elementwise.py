"""Data-parallel operators, alone or stacked, and operators that only move elements."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import Block, SSAValue

from ....glow_dialects.glow.base import DataParallel
from ....glow_dialects.glow.constant import SplatOp
from ....glow_dialects.glow.shape import GatherOp, TransposeOp
from ....glow_dialects.operator import Call, element_of
from ....glow_dialects.scalar import Expr, Primitive
from ....glow_dialects.timings import TIMINGS
from ..affine import Access, Dim, Indirect, View
from ..codegen.algebra import ArithAlgebra, Value
from ..nest import Body, Nest
from ..registry import Kernel, kernel, view_dims

_HEAVY = {
    *(Primitive.EXP, Primitive.LOG, Primitive.SIN, Primitive.COS, Primitive.TANH),
    *(Primitive.ERF, Primitive.POW),
}
_HEAVY_WEIGHT = TIMINGS.elementary_operations
"""About how many operations a transcendental function becomes."""


def scalar_body(call: Call) -> tuple[Body, int]:
    """The body that computes a data-parallel operator, and its weight."""
    operator = call.operator
    assert issubclass(operator, DataParallel)
    expr = operator.scalar(call)
    element = element_of(call.results[0])

    def body(alg: ArithAlgebra, values: Sequence[Value]) -> Sequence[Value]:
        return [alg.evaluate(expr, values, element)]

    return body, expression_weight(expr)


def expression_weight(expr: Expr) -> int:
    """About how many operations an expression becomes."""
    seen: set[Expr] = set()

    def visit(node: Expr) -> int:
        if node in seen or node.kind is None:
            return 0
        seen.add(node)
        own = _HEAVY_WEIGHT if node.kind in _HEAVY else 1
        return own + sum(map(visit, node.args))

    return visit(expr)


def block_body(block: Block) -> tuple[Body, int]:
    """The body of a stacked instruction or an epilogue, and its weight."""
    *nodes, last = block.ops
    weight = 0
    for node in nodes:
        if isinstance(node, DataParallel):
            weight += expression_weight(node.scalar(node.call))

    def body(alg: ArithAlgebra, values: Sequence[Value]) -> Sequence[Value]:
        known: dict[SSAValue, Value] = dict(zip(block.args, values, strict=True))
        for node in nodes:
            if isinstance(node, SplatOp):
                value = Call.get(node.call, "value")
                known[node.result] = alg.number(value, node.result.type)
                continue
            assert isinstance(node, DataParallel)
            arguments = [known[o] for o in node.operands]
            (result,) = node.results
            known[result] = alg.evaluate(node.scalar(node.call), arguments, result.type)
        return [known[o] for o in last.operands]

    return body, weight


def elementwise(
    k: Kernel,
    body: Body,
    writes: Sequence[View],
    reads: Sequence[View],
    in_place: bool,
    weight: int,
) -> None:
    """`writes = body(reads)` for each element."""
    dims = view_dims(writes[0])
    k.nest(
        Nest(
            dims,
            tuple(w[dims] for w in writes),
            body,
            tuple(r[dims] for r in reads),
            in_place=in_place,
            weight=weight,
        )
    )


def data_parallel(k: Kernel) -> None:
    body, weight = scalar_body(k.call)
    elementwise(k, body, k.results, k.operands, False, weight)


def copy(k: Kernel) -> None:
    dims = view_dims(k.result)
    k.copy(dims, k.result[dims], k.operands[0][dims])


@kernel(TransposeOp)
def transpose(k: Kernel) -> None:
    dims = view_dims(k.result)
    source: list[Dim] = [dims[0]] * len(dims) if dims else []
    for dim, axis in zip(dims, k.call.ints("permutation"), strict=True):
        source[axis] = dim
    k.copy(dims, k.result[dims], k.operands[0][source])


@kernel(SplatOp)
def splat(k: Kernel) -> None:
    k.fill(k.result, k.call.get("value"))


@kernel(GatherOp)
def gather(k: Kernel) -> None:
    data, indices = k.operands
    axis = k.call.int("axis")
    dims = view_dims(k.result)
    chosen = dims[axis : axis + indices.rank]
    direct = data[[*dims[:axis], 0, *dims[axis + indices.rank :]]]
    indirect = Indirect(indices[chosen], data.shape[axis], data.strides[axis])
    read = Access(data.buffer, direct.place, indirect)
    k.copy(dims, k.result[dims], read)
