"""The computations of instructions on elements, as expressions on stored numbers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.ir import Attribute, Block

from ...glow_dialects.elements import storage_type
from ...glow_dialects.glow.base import DataParallel
from ...glow_dialects.glow_inst.instruction import Instruction, OperatorInstruction
from ...glow_dialects.glow_inst.stacked import StackedOp
from ...glow_dialects.glow_nest.body import Body
from ...glow_dialects.glow_nest.body_text import body_of
from ...glow_dialects.operator import Call, element_of
from ...glow_dialects.scalar import arguments
from ...glow_dialects.substitution import substitute


@dataclass(frozen=True)
class Formula:
    """
    The computation of data-parallel nodes. Scales and zero points of quantized types are numbers in
    its body.
    """

    body: Body
    given: Sequence[Attribute]
    """The element types of the arguments, quantized ones among them."""
    made: Sequence[Attribute]
    """The element types of the results."""


def formula_of(op: Instruction) -> Formula | None:
    """
    Returns the formula of a data-parallel instruction or of several, or of what follows an
    operator; None if there is none.
    """
    match op:
        case StackedOp():
            return _of_block(op.body.block)
        case OperatorInstruction() if issubclass(op.OPERATOR, DataParallel):
            return _of_operator(op.OPERATOR, op.call)
        case OperatorInstruction() if op.epilogue is not None:
            return _of_block(op.epilogue.block)
        case _:
            return None


def _of_block(block: Block) -> Formula:
    last = block.last_op
    assert last is not None
    return Formula(body_of(block), [a.type for a in block.args], [v.type for v in last.operands])


def _of_operator(operator: type[DataParallel], call: Call) -> Formula:
    (made,) = map(element_of, call.results)
    element = storage_type(made)
    formula = substitute(operator.scalar(call), arguments(len(call.operands)), element)
    given = [element_of(t) for t in call.operands]
    return Formula(Body((formula,), (element,)), given, [made])
