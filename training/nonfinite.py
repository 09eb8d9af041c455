"""The search for the first node of a training step whose result is not finite."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias

import numpy as np
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import SSAValue

from ..glow_dialects.elements import is_float
from ..glow_dialects.glow.base import Node
from ..glow_dialects.operator import element_of
from ..passes.graph.states import without_states
from ..runtime.interpreter import interpret
from ..runtime.signature import main_function

_Observer: TypeAlias = Callable[[SSAValue, np.ndarray], None]


class _Found(Exception):
    pass


def first_nonfinite(
    module: ModuleOp,
    inputs: Mapping[str, np.ndarray],
    run: Callable[[ModuleOp], Sequence[np.ndarray]],
) -> str:
    """
    Returns words for the first value of a graph that has a NaN or an infinity: an input, or the
    result of a node. The graph runs again in the interpreter. If all is finite there, `run` runs
    the compiled program of a graph that returns the results of all nodes.

    An infinity counts only if no value has a NaN, because masks have infinities on purpose.
    """
    with np.errstate(all="ignore"):
        found = _first(lambda look: interpret(module, inputs, look))
    if found:
        return found
    graph, values = _with_all_results(module)

    def show(look: _Observer) -> None:
        for value, array in zip(values, run(graph), strict=True):
            look(value, array)

    if found := _first(show):
        return f"{found} in compiled code, and all is finite in the interpreter"
    return "every value is finite when the step is repeated"


def _first(show: Callable[[_Observer], object]) -> str:
    """
    Returns words for the first value with a NaN, or else with an infinity, among those that `show`
    shows in the order of their computation; no words if all are finite.
    """
    infinite: list[str] = []

    def look(value: SSAValue, array: np.ndarray) -> None:
        if array.dtype.kind != "f":
            return
        if np.isnan(array).any():
            raise _Found(f"{_label(value)} has a NaN")
        if not infinite and np.isinf(array).any():
            infinite.append(f"{_label(value)} has an infinity")

    try:
        show(look)
    except _Found as found:
        return str(found)
    return infinite[0] if infinite else ""


def _with_all_results(module: ModuleOp) -> tuple[ModuleOp, list[SSAValue]]:
    """Returns a copy of a graph that returns the results of all nodes, and these."""
    module = module.clone()
    function = main_function(module)
    block = function.body.block
    end = block.last_op
    assert end is not None
    values: list[SSAValue] = [
        result
        for node in block.ops
        if isinstance(node, Node)
        for result in node.results
        if is_float(element_of(result.type))
    ]
    end.operands = values
    without_states(function)
    function.update_function_type()
    function.properties.pop("res_attrs", None)
    return module, values


def _label(value: SSAValue) -> str:
    name = f"%{value.name_hint}" if value.name_hint else "without a name"
    owner = value.owner
    if not isinstance(owner, Node):
        return f"the input {name}"
    operands = ", ".join(f"%{o.name_hint}" if o.name_hint else f"{o.type}" for o in owner.operands)
    return f"the result {value.type} of {owner.name} {name} of {operands or 'nothing'}"
