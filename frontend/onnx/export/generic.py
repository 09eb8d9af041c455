"""Operators that are stated as a formula."""

from __future__ import annotations

from ....glow_dialects.formula.indices import operand_names
from ....glow_dialects.formula.parser import parse
from ....glow_dialects.glow.generic import GenericOp
from ....glow_dialects.glow.structured import Structured
from ....glow_dialects.operator import element_of, shape_of, to_python
from ..node import GLOW
from .elementwise import hint_of
from .writer import Writer, code_of, exporter


@exporter(GenericOp)
def generic(writer: Writer, node: GenericOp) -> str:
    constants = node.constants.data if node.constants is not None else {}
    return writer.emit(
        "Generic",
        *writer.inputs(node),
        hint=hint_of(node),
        domain=GLOW,
        formula=GenericOp.formula_of(node.call),
        element=code_of(element_of(node.result.type)),
        shape=list(shape_of(node.result.type)),
        **{name: to_python(value) for name, value in constants.items()},
    )


def as_formula(writer: Writer, node: Structured) -> str:
    """
    Returns the formula of an operator without a counterpart in ONNX, and the numbers that it names.
    """
    call, operator = node.call, type(node)
    formula, numbers = operator.formula_of(call), operator.numbers(call)
    names = [name for name, _ in node.get_irdl_definition().operands]
    order = [n for n in operand_names(parse(formula)) if n in names]
    inputs = dict(zip(names, writer.inputs(node), strict=True))
    return writer.emit(
        "Generic",
        *(inputs[name] for name in order),
        hint=hint_of(node),
        domain=GLOW,
        formula=formula,
        element=code_of(element_of(node.results[0].type)),
        shape=list(shape_of(node.results[0].type)),
        **{name: list(v) if isinstance(v, tuple) else v for name, v in numbers.items()},
    )
