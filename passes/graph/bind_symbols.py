"""
Gives symbols their sizes: makes of a graph with symbolic dimensions one with fewer or none of them.

Sizes of types, and of properties such as those of a slice, are computed for the given sizes of
symbols. What has none keeps its symbol. A graph without symbols is what all later stages take.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from xdsl.context import Context
from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, FunctionType, ModuleOp, TensorType
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import Rewriter

from ...errors import GlowError
from ...glow_dialects.dims import DimsAttr, is_symbolic, sizes_at, symbols_in
from ...glow_dialects.extents import Extent, Size
from ...glow_dialects.glow.sizes import SizesOp
from ...glow_dialects.operator import element_of, shape_of, to_attribute, with_shape
from ...glow_dialects.symbol import Symbol
from ...semantics.arrays import make_constant, numpy_dtype
from ...wording import did_you_mean
from ..levels import GRAPH
from ..visited_operation import each


def bind_symbols(module: ModuleOp, sizes: Mapping[str, int]) -> None:
    """
    Gives symbols of all graphs of a module their sizes. Raises GlowError for symbols that are not
    there, and for sizes out of their ranges.
    """
    symbols = module_symbols(module)
    for name, size in sizes.items():
        _expect(symbols, name, size)
    for op in each(list(module.walk())):
        _bind(op, sizes)


def module_symbols(module: ModuleOp) -> dict[str, Symbol]:
    """
    Returns the symbols of the types in a module, by name. Raises VerifyException for one with two
    ranges.
    """
    found: list[Size] = []
    for op in module.walk():
        for value in (*op.results, *(a for r in op.regions for b in r.blocks for a in b.args)):
            if is_symbolic(value.type):
                found += [size for size in shape_of(value.type) if isinstance(size, Extent)]
    return symbols_in(found)


def _expect(symbols: Mapping[str, Symbol], name: str, size: int) -> None:
    symbol = symbols.get(name)
    if symbol is None:
        known = f"the symbols are {', '.join(symbols)}" if symbols else "there are none"
        raise GlowError(f"no symbol is called {name!r}{did_you_mean(name, symbols)}; {known}")
    if size < symbol.low or (symbol.high is not None and size > symbol.high):
        raise GlowError(f"symbol {name!r} is {size}: expected a size {symbol.range_text}")


def _bind(op: Operation, sizes: Mapping[str, int]) -> None:
    for name, attribute in op.properties.items():
        if isinstance(attribute, DimsAttr):
            op.properties[name] = to_attribute(sizes_at(attribute.data, sizes))
    if isinstance(op, SizesOp) and not isinstance(op.values, DimsAttr):
        _make_constant(op)
        return
    for value in op.results:
        _bind_value(value, sizes)
    for region in op.regions:
        for block in region.blocks:
            for argument in block.args:
                _bind_value(argument, sizes)
    if isinstance(op, FuncOp):
        _bind_function(op, sizes)


def _bind_function(function: FuncOp, sizes: Mapping[str, int]) -> None:
    for name in ("arg_attrs", "res_attrs"):
        if name in function.properties:
            function.properties[name] = _bound_attribute(function.properties[name], sizes)
    types = function.function_type
    function.properties["function_type"] = FunctionType.from_lists(
        [_bound(t, sizes) for t in types.inputs], [_bound(t, sizes) for t in types.outputs]
    )


def _make_constant(op: SizesOp) -> None:
    """Replaces integers none of which depends on symbols any more."""
    t = op.result.type
    array = np.array(op.call.ints("values"), numpy_dtype(element_of(t))).reshape(shape_of(t))
    constant = make_constant(array, element=element_of(t))
    constant.result.name_hint = op.result.name_hint
    Rewriter.replace_op(op, constant)


def _bound_attribute(attribute: Attribute, sizes: Mapping[str, int]) -> Attribute:
    """Returns an attribute with sizes of symbols in it, such as those of ranges of indices."""
    match attribute:
        case DimsAttr():
            return to_attribute(sizes_at(attribute.data, sizes))
        case ArrayAttr():
            return ArrayAttr([_bound_attribute(each, sizes) for each in attribute])
        case DictionaryAttr():
            entries = attribute.data.items()
            return DictionaryAttr({name: _bound_attribute(each, sizes) for name, each in entries})
        case _:
            return attribute


def _bind_value(value: SSAValue, sizes: Mapping[str, int]) -> None:
    if is_symbolic(value.type):
        Rewriter.replace_value_with_new_type(value, _bound(value.type, sizes))


def _bound(t: Attribute, sizes: Mapping[str, int]) -> Attribute:
    """Returns a type with sizes of symbols."""
    if not isinstance(t, TensorType) or not is_symbolic(t):
        return t
    return with_shape(element_of(t), sizes_at(shape_of(t), sizes))  # pyright: ignore


@dataclass(frozen=True)
class BindSymbolsPass(ModulePass):
    """Gives symbols their sizes."""

    name = "glow-bind-symbols"
    level = GRAPH

    symbols: tuple[str, ...] = ()
    """The symbols that get sizes."""
    sizes: tuple[int, ...] = ()
    """Their sizes, in the same order."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        if len(self.symbols) != len(self.sizes) or len(set(self.symbols)) < len(self.symbols):
            raise GlowError(
                "expected different symbols and a size for each, found symbols "
                f"{', '.join(self.symbols) or 'none'} and sizes "
                f"{', '.join(map(str, self.sizes)) or 'none'}"
            )
        bind_symbols(op, dict(zip(self.symbols, self.sizes, strict=True)))
