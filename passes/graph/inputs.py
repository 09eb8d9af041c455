"""Further inputs of graphs."""

from __future__ import annotations

from collections.abc import Mapping

from xdsl.dialects import func
from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, FunctionType, StringAttr, TensorType
from xdsl.ir import Attribute, SSAValue

from ...errors import CompileError, at_operation
from ...glow_dialects.glow_inst.memory import NAME
from .rewriting import attribute_dictionaries


def with_input(function: func.FuncOp, t: TensorType, about: Mapping[str, Attribute]) -> SSAValue:
    """
    Adds an input behind the others, whose name is in its attributes `about`. Raises CompileError if
    the name is taken.
    """
    attributes = attribute_dictionaries(function.arg_attrs, len(function.args))
    name = about[NAME]
    assert isinstance(name, StringAttr)
    if any(other.get(NAME) == name for other in attributes):
        raise at_operation(
            CompileError(f"an input is already called {name.data}: give the count another name"),
            function,
        )
    block = function.body.block
    made = block.insert_arg(t, len(block.args))
    made.name_hint = name.data if name.data.isidentifier() else None
    function.properties["arg_attrs"] = ArrayAttr(
        DictionaryAttr(each) for each in (*attributes, about)
    )
    function.properties["function_type"] = FunctionType.from_lists(
        [a.type for a in block.args], function.function_type.outputs.data
    )
    return made
