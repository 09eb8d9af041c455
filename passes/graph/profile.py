"""
Instruments a graph for a profile: it observes every value of floats that is not constant.

Observations are operations with a side effect, so later passes keep the values. No backend has code
for them; to run the function, they become further results of it.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects import func
from xdsl.dialects.builtin import (
    ArrayAttr,
    DictionaryAttr,
    FunctionType,
    ModuleOp,
    StringAttr,
)
from xdsl.ir import Attribute, BlockArgument, OpResult, SSAValue
from xdsl.passes import ModulePass

from ...glow_dialects.glow.profile import ProfileOp
from ..levels import GRAPH
from ..visited_operation import each, visit
from .rewriting import attribute_dictionaries
from .value_keys import ValueKey, profiled_values

PROFILED = "glow.profiled"
"""The attribute of arguments and results that are profiled: the name, operator and keys."""
_NAME = "glow.name"


@dataclass(frozen=True)
class ProfilePass(ModulePass):
    """Observes every float value of a graph that is not constant, for a profile."""

    name = "glow-profile"
    level = GRAPH

    as_outputs: bool = False
    """
    Whether values become further results of the function, which every backend can compute, instead
    of operands of `glow.profile`. Operands of existing `glow.profile` nodes become results too.
    """

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for function in each(op.ops):
            if not isinstance(function, func.FuncOp) or not _is_graph(function):
                continue
            _observe(function)
            if self.as_outputs:
                _make_outputs(function)


def _is_graph(function: func.FuncOp) -> bool:
    return len(function.body.blocks) == 1 and isinstance(function.body.block.last_op, func.ReturnOp)


def _observe(function: func.FuncOp) -> None:
    """
    Inserts an observation after each value that has none. The observations of arguments are at the
    start.
    """
    block = function.body.block
    for value, key in reversed(profiled_values(function).items()):
        visit(value.op if isinstance(value, OpResult) else function)
        if any(isinstance(u.operation, ProfileOp) for u in value.uses):
            continue
        node = ProfileOp.create(operands=[value], properties=_properties(key))
        if isinstance(value, OpResult):
            node.location = value.op.location
            block.insert_op_after(node, value.op)
        else:
            assert block.first_op is not None
            block.insert_op_before(node, block.first_op)


def _properties(key: ValueKey) -> dict[str, Attribute]:
    return {
        "value": StringAttr(key.name),
        "operator": StringAttr(key.operator),
        "key": StringAttr(key.key),
        "local_key": StringAttr(key.local_key),
    }


def _make_outputs(function: func.FuncOp) -> None:
    """Replaces observations by results; of arguments and of results, by attributes of those."""
    block, types = function.body.block, function.function_type
    arguments = attribute_dictionaries(function.arg_attrs, len(types.inputs))
    results = attribute_dictionaries(function.res_attrs, len(types.outputs))
    end = block.last_op
    assert end is not None
    returned: list[SSAValue] = list(end.operands)
    for node in each([o for o in block.ops if isinstance(o, ProfileOp)]):
        about = DictionaryAttr(node.properties)
        value = node.input
        if isinstance(value, BlockArgument):
            arguments[value.index] |= {PROFILED: about}
        elif value in returned:
            results[returned.index(value)] |= {PROFILED: about}
        else:
            returned.append(value)
            results.append({_NAME: StringAttr(f"profile.{node.value.data}"), PROFILED: about})
        node.detach()
        node.erase()
    end.operands = returned
    function.properties["function_type"] = FunctionType.from_lists(
        list(types.inputs), [v.type for v in returned]
    )
    function.properties["arg_attrs"] = ArrayAttr([DictionaryAttr(a) for a in arguments])
    function.properties["res_attrs"] = ArrayAttr([DictionaryAttr(a) for a in results])


def profiled_places(
    function: func.FuncOp,
) -> tuple[dict[int, ValueKey], dict[int, ValueKey]]:
    """
    Returns the arguments and results that are profiled, of a function with profiles as results.
    """
    places = [
        {
            index: _key(about)
            for index, a in enumerate(attributes.data if attributes is not None else ())
            if isinstance(about := a.data.get(PROFILED), DictionaryAttr)
        }
        for attributes in (function.arg_attrs, function.res_attrs)
    ]
    return places[0], places[1]


def _key(about: DictionaryAttr) -> ValueKey:
    texts = {n: a.data for n, a in about.data.items() if isinstance(a, StringAttr)}
    return ValueKey(texts["value"], texts["operator"], texts["key"], texts["local_key"])
