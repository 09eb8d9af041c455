"""
One program for any number of rows up to a maximum, such as texts of any length.

The graph states the maximum, and the number of rows is a further input of the program. Memory and
its strides are those of the maximum. The loops of kernels end with the rows of a call: which loops
these are follows from the dimensions of inputs that are rows, as `lowering.kernels.row_limits`
finds it.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects import func
from xdsl.dialects.builtin import (
    ArrayAttr,
    DenseArrayBase,
    DictionaryAttr,
    ModuleOp,
    StringAttr,
    UnitAttr,
    i64,
)
from xdsl.ir import Attribute
from xdsl.passes import ModulePass

from ...errors import CompileError, at_operation
from ...glow_dialects.glow.control import STEP
from ...glow_dialects.glow_inst.memory import NAME
from ...glow_dialects.operator import shape_of
from ...glow_dialects.row_attributes import COUNT, ROWS
from ..levels import GRAPH
from ..visited_operation import each
from .inputs import with_input
from .rewriting import attribute_dictionaries, expect_static


@dataclass(frozen=True)
class LimitRowsPass(ModulePass):
    """
    Makes the number of rows an input of the program. Elements of results behind the rows of a call
    are without meaning. What a graph computes for a number of rows must be what the same graph of
    so many rows computes: no constant may depend on the number.
    """

    name = "glow-limit-rows"
    level = GRAPH

    rows: tuple[str, ...] = ()
    """
    The dimensions of inputs that are rows, as `"x=1"` for dimension 1 of the input called x. All
    have the size that is the maximum.
    """
    count: str = "rows"
    """The name of the input, an i64, with the number of rows of a call, from 1 on."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for function in each(op.ops):
            if not isinstance(function, func.FuncOp) or function.is_declaration:
                continue
            if function.sym_name.data == "main":
                expect_static(function)
                _limit(function, self._dimensions(), self.count)

    def _dimensions(self) -> dict[str, list[int]]:
        """Returns the dimensions that are rows by the name of the input. Raises CompileError."""
        found: dict[str, list[int]] = {}
        for text in self.rows:
            name, _, number = text.rpartition("=")
            if not name or not number.isdecimal():
                raise CompileError(f'{self.name}: expected rows such as "x=1", found {text!r}')
            found.setdefault(name, []).append(int(number))
        return found


def _limit(function: func.FuncOp, dimensions: dict[str, list[int]], count: str) -> None:
    attributes = attribute_dictionaries(function.arg_attrs, len(function.args))
    names = [about.get(NAME) for about in attributes]
    sizes: dict[int, str] = {}
    made: list[dict[str, Attribute]] = [dict(about) for about in attributes]
    for name, dims in dimensions.items():
        if StringAttr(name) not in names:
            known = ", ".join(n.data for n in names if isinstance(n, StringAttr)) or "none"
            raise _error(function, f"expected rows of an input ({known}), found {name}")
        number = names.index(StringAttr(name))
        shape = shape_of(function.args[number].type)
        for d in dims:
            if d >= len(shape):
                raise _error(function, f"input {name} has no dimension {d}: its shape is {shape}")
            sizes.setdefault(shape[d], f"{name}={d}")
        made[number][ROWS] = DenseArrayBase.from_list(i64, dims)
    if len(sizes) != 1:
        found = ", ".join(f"{size} of {where}" for size, where in sizes.items()) or "none"
        raise _error(function, f"expected rows of one size, found {found}")
    function.properties["arg_attrs"] = ArrayAttr(map(DictionaryAttr, made))
    with_input(function, STEP, {NAME: StringAttr(count), COUNT: UnitAttr()})


def _error(function: func.FuncOp, message: str) -> CompileError:
    return at_operation(CompileError(message), function)
