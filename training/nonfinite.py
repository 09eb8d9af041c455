"""The search for the first node of a training step whose result is not finite."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np
from xdsl.dialects.builtin import FunctionType, ModuleOp
from xdsl.ir import SSAValue

from ..glow_dialects.elements import is_float
from ..glow_dialects.glow.base import Node
from ..glow_dialects.operator import element_of
from ..runtime.interpreter import interpret
from ..runtime.signature import main_function


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
    search = _Search()
    try:
        with np.errstate(all="ignore"):
            interpret(module, inputs, search.look)
    except _Found as found:
        return str(found)
    if search.infinite:
        return search.infinite
    graph, values = _with_all_results(module)
    try:
        for value, array in zip(values, run(graph), strict=True):
            search.look(value, array)
    except _Found as found:
        return f"{found} in compiled code, and all is finite in the interpreter"
    if search.infinite:
        return f"{search.infinite} in compiled code, and all is finite in the interpreter"
    return "every value is finite when the step is repeated"


class _Search:
    """The search among values in the order of their computation."""

    def __init__(self) -> None:
        self.infinite = ""
        """Words for the first value with an infinity."""

    def look(self, value: SSAValue, array: np.ndarray) -> None:
        """Raises _Found if the array of a value has a NaN."""
        if array.dtype.kind != "f":
            return
        if np.isnan(array).any():
            raise _Found(f"{_label(value)} has a NaN")
        if not self.infinite and np.isinf(array).any():
            self.infinite = f"{_label(value)} has an infinity"


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
    inputs, outputs = function.function_type.inputs.data, [value.type for value in values]
    function.properties["function_type"] = FunctionType.from_lists(inputs, outputs)
    function.properties.pop("res_attrs", None)
    return module, values


def _label(value: SSAValue) -> str:
    name = f"%{value.name_hint}" if value.name_hint else "without a name"
    owner = value.owner
    if not isinstance(owner, Node):
        return f"the input {name}"
    operands = ", ".join(f"%{o.name_hint}" if o.name_hint else f"{o.type}" for o in owner.operands)
    return f"the result {value.type} of {owner.name} {name} of {operands or 'nothing'}"
