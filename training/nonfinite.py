"""The search for the first node of a training step whose result is not finite."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import SSAValue

from ..glow_dialects.glow.base import Node
from ..runtime.interpreter import interpret


class _Found(Exception):
    pass


def first_nonfinite(module: ModuleOp, inputs: Mapping[str, np.ndarray]) -> str:
    """
    Returns words for the first value of a graph that has a NaN or an infinity: an input, or the
    result of a node. The graph runs again in the interpreter.

    An infinity counts only if no value has a NaN, because masks have infinities on purpose.
    """
    infinite: list[str] = []

    def observe(value: SSAValue, array: np.ndarray) -> None:
        if array.dtype.kind != "f":
            return
        if np.isnan(array).any():
            raise _Found(f"{_label(value)} has a NaN")
        if not infinite and np.isinf(array).any():
            infinite.append(f"{_label(value)} has an infinity")

    try:
        with np.errstate(all="ignore"):
            interpret(module, inputs, observe)
    except _Found as found:
        return str(found)
    return infinite[0] if infinite else "every value is finite when the step is repeated"


def _label(value: SSAValue) -> str:
    name = f"%{value.name_hint}" if value.name_hint else "without a name"
    owner = value.owner
    if not isinstance(owner, Node):
        return f"the input {name}"
    operands = ", ".join(f"%{o.name_hint}" if o.name_hint else f"{o.type}" for o in owner.operands)
    return f"the result {value.type} of {owner.name} {name} of {operands or 'nothing'}"
