"""
The conversions that remain in a graph that computes with integers, with reasons.

A conversion in the last operation of a loop that stores a product costs no pass over memory. A
graph is analysed after `glow-legalize-quantized`, where a product of integers has results of i32,
and a cast makes real numbers of them.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass

from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import BlockArgument, Operation, SSAValue

from ..glow_dialects.elements import is_float, is_integer
from ..glow_dialects.glow.base import DataParallel, Node
from ..glow_dialects.glow.control import WithBodies
from ..glow_dialects.glow.logic import CastOp
from ..glow_dialects.glow.quantization import DequantizeOp, QuantizeOp, StorageCastOp
from ..glow_dialects.glow.shape import BroadcastOp
from ..glow_dialects.operator import element_of
from ..passes.graph.rewriting import is_constant
from ..runtime.signature import main_function
from .roles import roles_of

_LISTED = 5
BEHIND_PRODUCT = "stored by an integer product"
"""The reason of conversions that cost nothing to speak of."""


@dataclass(frozen=True)
class Conversion:
    """One conversion between real and stored numbers."""

    value: str
    """The name of its result."""
    to_integers: bool
    why: str


def remaining_conversions(module: ModuleOp) -> list[Conversion]:
    """Returns the conversions of a graph that computes with integers, in order."""
    main = main_function(module)
    found: list[Conversion] = []
    for op in main.body.block.ops:
        reason = _reason(op)
        if reason is not None:
            found.append(Conversion(_name(op), isinstance(op, QuantizeOp), reason))
    return found


def _name(op: Operation) -> str:
    """Returns the name of the result, else of an operand, else of a user."""
    before, after = op, op
    while not (before.results[0].name_hint or after.results[0].name_hint):
        source, uses = before.operands[0], list(after.results[0].uses)
        if isinstance(source, BlockArgument):
            return source.name_hint or "an input"
        assert isinstance(source.owner, Operation)
        before = source.owner
        if len(uses) == 1 and uses[0].operation.results:
            after = uses[0].operation
    return before.results[0].name_hint or after.results[0].name_hint or ""


def conversion_lines(conversions: list[Conversion]) -> list[str]:
    """Returns the conversions as text: the count for each reason, with the first names."""
    by_reason: dict[tuple[bool, str], list[str]] = defaultdict(list)
    for c in conversions:
        by_reason[c.to_integers, c.why].append(c.value)
    lines = [f"conversions that remain: {len(conversions)}"]
    for (to_integers, why), names in by_reason.items():
        listed = ", ".join(names[:_LISTED]) + (", ..." if len(names) > _LISTED else "")
        kind = "to" if to_integers else "from"
        lines.append(f"  {len(names)} {kind} integers, {why}: {listed}")
    return lines


def _reason(op: Operation) -> str | None:
    """
    Returns the reason why an operation converts; None if it does not, or if another one counts for
    it.
    """
    match op:
        case QuantizeOp():
            return _why_quantized(op)
        case DequantizeOp() if not is_constant(op.input):
            return _why_real(op)
        case CastOp() if _is_accumulator(op.input) and is_float(element_of(op.result.type)):
            # as a rule a quantization follows in the same loop, which is counted
            return None if _is_quantized_again(op.result) else _why_real(op)
        case _:
            return None


def _is_accumulator(value: SSAValue) -> bool:
    return roles_of(value.owner) is not None and is_integer(element_of(value.type))


def _is_quantized_again(value: SSAValue) -> bool:
    """Returns whether the elementwise operators on a value end in a quantization."""
    value = _end_of_chain(value)
    return value.has_one_use() and isinstance(next(iter(value.uses)).operation, QuantizeOp)


def _end_of_chain(value: SSAValue) -> SSAValue:
    """Returns the results of consecutive elementwise operators on a value, up to a quantization."""
    while value.has_one_use():
        user = next(iter(value.uses)).operation
        if not isinstance(user, DataParallel) or isinstance(user, QuantizeOp):
            break
        value = user.results[0]
    return value


def _why_real(op: Operation) -> str:
    value = op.results[0]
    if not _is_quantized_again(value):
        value = _end_of_chain(value)
    readers = sorted({_reader(use.operation) for use in value.uses})
    return f"for {', '.join(readers)}" if readers else "though nothing reads it"


def _reader(op: Operation) -> str:
    match op:
        case func.ReturnOp():
            return "the network's results"
        case QuantizeOp():
            return "another scale"
        case DataParallel():
            return f"{op.name}, computed in float in registers"
        case _:
            return f"{op.name}, computed in float"


def _why_quantized(op: QuantizeOp) -> str:
    makers = sorted(set(_makers(op.input)))
    if makers == [BEHIND_PRODUCT]:
        return BEHIND_PRODUCT
    return f"from {', '.join(makers)}"


def _makers(value: SSAValue) -> Iterator[str]:
    """Yields the values from which elementwise operators make a value."""
    pending, seen = [value], {value}
    while pending:
        value = pending.pop()
        found = None if is_constant(value) else _maker(value)
        if isinstance(found, str):
            yield found
        elif found is not None:
            pending += [v for v in found.operands if v not in seen]
            seen.update(found.operands)


def _maker(value: SSAValue) -> str | Node:
    """Returns the origin of a value in words; the node itself if it is elementwise."""
    match value.owner:
        case DequantizeOp() | StorageCastOp():
            return "stored numbers of another scale"
        case CastOp(input=source) if _is_accumulator(source):
            return BEHIND_PRODUCT
        case (DataParallel() | BroadcastOp()) as node:
            return node
        case (Node() | WithBodies()) as node:
            return f"{node.name}, computed in float"
        case _:
            assert isinstance(value, BlockArgument)
            return "the network's inputs"
