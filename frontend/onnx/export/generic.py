"""Operators that are stated as a formula."""

from __future__ import annotations

from ....glow_dialects.glow.generic import GenericOp
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
