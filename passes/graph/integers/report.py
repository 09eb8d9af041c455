"""The conversions between stored and real numbers that remain in a graph, with reasons."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import ReturnOp
from xdsl.ir import BlockArgument, Operation, SSAValue

from ....glow_dialects.elements import is_float, num_elements
from ....glow_dialects.glow.base import DataParallel, Node
from ....glow_dialects.glow.quantization import DequantizeOp, QuantizeOp
from ....glow_dialects.glow.shape import BroadcastOp, ReshapeOp
from ....glow_dialects.operator import element_of, shape_of
from ..rewriting import is_constant, tensor_nodes


class Reason(StrEnum):
    """The reason for a conversion."""

    ARGUMENT = "the network takes real numbers"
    RESULT = "the network gives real numbers"
    EPILOGUE = "behind a product of integers, in registers"
    ELEMENTWISE = "between stored numbers, in one loop"
    OPERATOR = "an operator computes real numbers"


@dataclass(frozen=True)
class Conversion:
    """A quantization or dequantization that is left."""

    name: str
    """The name of the result."""
    quantizes: bool
    elements: int
    reason: Reason
    operators: tuple[str, ...] = ()
    """The operators, for `Reason.OPERATOR`."""

    def __str__(self) -> str:
        kind = "quantize" if self.quantizes else "dequantize"
        reason = ", ".join(f"{o} computes real numbers" for o in self.operators) or self.reason
        return f"{kind} {self.name} ({self.elements} elements): {reason}"


def conversions(module: ModuleOp) -> list[Conversion]:
    """Returns all conversions of values that are not constant, in order."""
    return list(_found(module))


def _found(module: ModuleOp) -> Iterator[Conversion]:
    for node in tensor_nodes(module):
        if not isinstance(node, QuantizeOp | DequantizeOp) or is_constant(node.input):
            continue
        quantizes = isinstance(node, QuantizeOp)
        ends = set(_origins(node.input) if quantizes else _destinations(node.result))
        name = node.result.name_hint or node.input.name_hint or "?"
        size = num_elements(shape_of(node.result.type))
        operators = sorted({op.name for op in ends if isinstance(op, Node) and _is_real(op)})
        yield Conversion(name, quantizes, size, _reason(ends, operators), tuple(operators))


def _reason(ends: set[Operation | BlockArgument], operators: list[str]) -> Reason:
    if operators:
        return Reason.OPERATOR
    if any(isinstance(e, BlockArgument) for e in ends):
        return Reason.ARGUMENT
    if any(isinstance(e, ReturnOp) for e in ends):
        return Reason.RESULT
    if any(isinstance(e, Node) and not isinstance(e, DataParallel) for e in ends):
        return Reason.EPILOGUE
    return Reason.ELEMENTWISE


def _is_real(op: Operation) -> bool:
    """Returns whether an operator that is no conversion computes floats."""
    if isinstance(op, DataParallel):
        return False
    elements = [element_of(v.type) for v in (*op.operands, *op.results)]
    return any(is_float(e) for e in elements)


_TRANSPARENT = (DataParallel, BroadcastOp, ReshapeOp)


def _origins(value: SSAValue) -> Iterator[Operation | BlockArgument]:
    """Yields the values from which a value is computed element by element."""
    pending, seen = [value], set[SSAValue]()
    while pending:
        value = pending.pop()
        if value in seen or is_constant(value):
            continue
        seen.add(value)
        owner = value.owner
        if isinstance(value, BlockArgument):
            yield value
        elif isinstance(owner, _TRANSPARENT) and not isinstance(owner, DequantizeOp):
            pending += owner.operands
        elif isinstance(owner, Operation):
            yield owner


def _destinations(value: SSAValue) -> Iterator[Operation]:
    """Yields the values that are computed element by element from a value."""
    pending, seen = [value], set[SSAValue]()
    while pending:
        value = pending.pop()
        if value in seen:
            continue
        seen.add(value)
        for use in value.uses:
            user = use.operation
            if isinstance(user, _TRANSPARENT) and not isinstance(user, QuantizeOp):
                pending += user.results
            else:
                yield user
