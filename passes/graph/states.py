"""
States: arguments of a graph that keep a value between calls.

An argument with `glow.state = N : i64` is a state, and result N is its value at the next call. Both
have one type. A program has one argument for both, which it reads and writes (`glow-irgen`).
"""

from __future__ import annotations

from collections.abc import Mapping

from xdsl.dialects import func
from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, IntegerAttr, i64

from ...errors import CompileError, at_operation
from ...glow_dialects.glow_inst.memory import NAME, STATE
from ...glow_dialects.operator import text_of
from .rewriting import attribute_dictionaries


def states_of(graph: func.FuncOp) -> dict[int, int]:
    """
    Returns the numbers of the arguments of a graph that are states, with those of their results.
    Raises CompileError for a result that does not exist, has another type, or is that of two.
    """
    found: dict[int, int] = {}
    if graph.arg_attrs is None:
        return found
    inputs, outputs = graph.function_type.inputs.data, graph.function_type.outputs.data
    for i, about in enumerate(graph.arg_attrs.data):
        number = about.data.get(STATE)
        if number is None:
            continue
        result = number.value.data if isinstance(number, IntegerAttr) else -1
        where = f"argument {i} of @{graph.sym_name.data}: {STATE} = {number}"
        if not 0 <= result < len(outputs):
            raise _failure(graph, f"{where}: expected the number of a result")
        if result in found.values():
            raise _failure(graph, f"{where}: expected a result of one state, found that of two")
        if outputs[result] != inputs[i]:
            raise _failure(
                graph, f"{where}: expected a result of type {inputs[i]}, found {outputs[result]}"
            )
        found[i] = result
    return found


def set_states(graph: func.FuncOp, states: Mapping[int, int]) -> None:
    """Declares arguments as states, by number, with the numbers of their results."""
    given = attribute_dictionaries(graph.arg_attrs, len(graph.function_type.inputs))
    for i, result in states.items():
        given[i][STATE] = IntegerAttr(result, i64)
    graph.properties["arg_attrs"] = ArrayAttr(map(DictionaryAttr, given))


def set_named_states(graph: func.FuncOp, states: Mapping[str, str]) -> None:
    """
    Declares arguments as states, by name, with the names of their results. Raises CompileError if
    the types of a pair differ.
    """
    inputs, outputs = _numbers(graph.arg_attrs), _numbers(graph.res_attrs)
    set_states(graph, {inputs[name]: outputs[result] for name, result in states.items()})
    states_of(graph)


def without_states(graph: func.FuncOp) -> None:
    """Makes all arguments ordinary ones."""
    given = () if graph.arg_attrs is None else graph.arg_attrs.data
    graph.properties["arg_attrs"] = ArrayAttr(
        DictionaryAttr({name: value for name, value in about.data.items() if name != STATE})
        for about in given
    )


def _numbers(attributes: ArrayAttr[DictionaryAttr] | None) -> dict[str | None, int]:
    given = () if attributes is None else attributes.data
    return {text_of(about.data.get(NAME)): i for i, about in enumerate(given)}


def _failure(graph: func.FuncOp, message: str) -> CompileError:
    return at_operation(CompileError(message), graph)
