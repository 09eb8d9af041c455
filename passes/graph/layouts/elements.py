"""Operators that work on each element, or on each channel, of blocked tensors."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import prod
from typing import Any, cast

import numpy as np
from xdsl.dialects.builtin import f64
from xdsl.ir import Operation
from xdsl.utils.exceptions import VerifyException

from ....glow_dialects.formula.facts import divided_dimension
from ....glow_dialects.formula.statement import (
    Apply,
    Constant,
    Convert,
    Read,
    Reduce,
    Stage,
    Statement,
    Term,
    points,
)
from ....glow_dialects.glow import NODES
from ....glow_dialects.glow.base import DataParallel, OnlyMovesData
from ....glow_dialects.glow.convolution import ConvolutionOp
from ....glow_dialects.glow.indexing import IntLookupTableOp
from ....glow_dialects.glow.normalization import GroupNormOp
from ....glow_dialects.glow.pooling import Windowed
from ....glow_dialects.glow.resampling import ResampleOp
from ....glow_dialects.glow.shape import BroadcastOp
from ....glow_dialects.glow.structured import Structured
from ....glow_dialects.glow_cpu.blocked import num_blocks
from ....glow_dialects.operator import Call, element_of, shape_of, with_shape
from ....glow_dialects.scalar import Primitive
from ....semantics.arrays import constant_of, numpy_dtype
from ....semantics.numpy_algebra import NumpyAlgebra
from ....semantics.registry import evaluate
from ..rewriting import ignores_places
from .state import CHANNEL, Blocked, Layouts, rule, rule_of

_ALGEBRA = NumpyAlgebra(f64)
_REPEATED: Mapping[Primitive, Callable[[np.float64, int], np.float64]] = {
    Primitive.ADD: lambda x, n: x * n,
    Primitive.MUL: lambda x, n: x**n,
    Primitive.MAXIMUM: lambda x, n: x,
    Primitive.MINIMUM: lambda x, n: x,
}
"""The results of reductions of so many equal numbers."""

_RULED = (Windowed, ConvolutionOp, ResampleOp, GroupNormOp, IntLookupTableOp)
"""Operators with formulas that have rules of their own."""


def says_all(operator: type[Structured]) -> bool:
    """Returns whether nothing but the formula decides how an operator works on blocked tensors."""
    return not (
        operator.DECLARES_RESULT
        or operator.has_trait(OnlyMovesData)
        or issubclass(operator, _RULED)
    )


def fill_of(node: DataParallel, operands: Sequence[Blocked]) -> float | None:
    """
    Returns the result of a node in lanes without a channel; None if it is unknown or not finite.
    """
    call = type(node).on_elements(node.call)
    arrays: list[np.ndarray] = []
    for blocked, element in zip(operands, call.operands, strict=True):
        if blocked.fill is None:
            return None
        arrays.append(np.full(1, blocked.fill).astype(numpy_dtype(element)))
    (result,) = evaluate(call, arrays)
    value = float(result[0])
    return value if np.isfinite(value) else None


@rule(*[node for node in NODES if issubclass(node, DataParallel)])
def data_parallel(layouts: Layouts, node: DataParallel) -> Blocked | None:
    """
    Returns a data-parallel node computes in the layout of its blocked operands; the other operands
    take that layout. Lanes of no channel must stay finite: a filter multiplies them by zero.
    """
    shape = shape_of(node.results[0].type)
    if len(shape) < 3 or not ignores_places(node):
        return None
    if not layouts.prefers_blocks(node.operands, node.results[0]):
        return None
    block = layouts.common_block(node.operands)
    if block is None:
        return None
    is_full = shape[1] % block == 0
    operands = [layouts.packed(v, block) for v in node.operands]
    fill = 0.0 if is_full else fill_of(node, operands)
    if fill is None:
        return None
    values = [o.value for o in operands]
    element = element_of(node.results[0].type)
    result = with_shape(element, shape_of(values[0].type))
    y = layouts.add(type(node), *values, result_types=[result], **node.properties)
    return Blocked(y, shape[1], fill)


@rule(IntLookupTableOp)
def looked_up(layouts: Layouts, node: IntLookupTableOp) -> Blocked | None:
    """Looks up blocked bytes, as data-parallel nodes compute them."""
    x = layouts.blocked(node.input)
    if x is None:
        return None
    table = constant_of(node.mapping)
    fill = None if x.fill is None or table is None else float(table[int(x.fill)])
    y = layouts.add(IntLookupTableOp, x.value, layouts.plain(node.mapping))
    return Blocked(y, x.channels, fill)


@rule(BroadcastOp)
def broadcast(layouts: Layouts, node: BroadcastOp) -> Blocked | None:
    """Broadcasts along the spatial dimensions of a blocked tensor."""
    x = layouts.blocked(node.input)
    shape, source = shape_of(node.result.type), shape_of(node.input.type)
    if x is None or len(source) != len(shape) or source[1] != shape[1]:
        return None
    repeated = [shape[0], shape_of(x.value.type)[1], *shape[2:], x.block]
    result = with_shape(element_of(node.result.type), repeated)
    return Blocked(layouts.add(BroadcastOp, x.value, result_types=[result]), x.channels, x.fill)


def computes_channels(node: Structured, block: int) -> bool:
    """
    Returns whether the formula says that an operator computes each channel of its first operand by
    itself and leaves it where it is, and the same of a blocked operand for each block and each
    lane.
    """
    shape, result = shape_of(node.operands[0].type), shape_of(node.results[0].type)
    if len(shape) < 3 or len(result) < 2:
        return False
    if divided_dimension(node.statement(node.call), {0: CHANNEL}) != CHANNEL:
        return False
    operand = with_shape(element_of(node.operands[0].type), _blocked_shape(shape, block))
    call = Call(type(node), (operand, *node.call.operands[1:]), (), node.properties)
    try:
        (found,) = node.infer(call)
    except VerifyException:
        return False
    said, wanted = node.statement(call), _blocked_shape(result, block)
    dims = [divided_dimension(said, {0: d}) for d in (CHANNEL, len(shape))]
    return dims == [CHANNEL, len(result)] and shape_of(found) == tuple(wanted)


def _blocked_shape(shape: Sequence[int], block: int) -> list[int]:
    batch, channels, *sizes = shape
    return [batch, num_blocks(channels, block), *sizes, block]


@rule(*[n for n in NODES if issubclass(n, Structured) and says_all(n)])
def by_formula(layouts: Layouts, node: Structured) -> Blocked | None:
    """Converts an operator that computes each channel by itself, as a spatial reduction does."""
    x = layouts.blocked(node.operands[0])
    if x is None or not computes_channels(node, x.block):
        return None
    fill = 0.0 if x.is_full else fill_of_formula(node.statement(node.call), x.fill)
    if fill is None:
        return None
    shape = shape_of(node.results[0].type)
    grows = prod(shape) >= prod(shape_of(node.operands[0].type))
    # rows that lie together may be faster
    if grows and layouts.demand.get(node.results[0], 0) <= 0:
        return None
    others = [layouts.plain(v) for v in node.operands[1:]]
    properties = cast("Mapping[str, Any]", node.properties)
    y = layouts.add(type(node), x.value, *others, **properties)
    return Blocked(y, shape[CHANNEL], fill)


def works_on_blocks(op: Operation, block: int) -> bool:
    """Returns whether an operator has a rule for blocked tensors that may apply."""
    found = rule_of(type(op))
    if found is not by_formula:
        return found is not None
    return isinstance(op, Structured) and computes_channels(op, block)


def fill_of_formula(said: Statement, fill: float | None) -> float | None:
    """
    Returns the result of a formula where all elements that it reads are equal; None if it is not
    finite.
    """
    if fill is None:
        return None
    with np.errstate(all="ignore"):
        found = _of_equals(said.result.value, np.float64(fill))
    return None if found is None or not np.isfinite(found) else float(found)


def _of_equals(term: Term, fill: np.float64) -> np.float64 | None:
    match term:
        case Constant():
            return np.float64(term.value)
        case Read():
            inside = _of_equals(term.source.value, fill) if isinstance(term.source, Stage) else fill
            beyond = inside if term.outside is None else _of_equals(term.outside, fill)
            return inside if inside == beyond else None
        case Convert():
            return _of_equals(term.operand, fill)
        case Reduce():
            found = _of_equals(term.body, fill)
            return None if found is None else _REPEATED[term.combine](found, points(term.over))
        case Apply(kind=Primitive() as kind):
            given = [_of_equals(a, fill) for a in term.arguments]
            known = [np.asarray(g) for g in given if g is not None]
            return np.float64(_ALGEBRA.apply(kind, known)) if len(known) == len(given) else None
        case _:
            return None
