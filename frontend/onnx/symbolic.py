"""
The import of a model for all sizes of its symbols that have the same graph as certain ones.

What an import decides about sizes holds for other sizes under conditions. Where these hold, the
graph is that of an import for the other sizes, once its symbols are bound (`bind_symbols`) and what
follows from sizes alone is folded (`fold_bound`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Block, Operation, OpResult, SSAValue
from xdsl.rewriter import Rewriter

from ...errors import GlowError
from ...glow_dialects.dims import is_symbolic, sizes_at
from ...glow_dialects.extents import symbol_size
from ...glow_dialects.glow.base import Node
from ...glow_dialects.glow.constant import ConstantOp, SplatOp
from ...glow_dialects.glow.generic import GenericOp
from ...glow_dialects.size_decisions import Condition, Decisions, deciding
from ...semantics import evaluate, make_constant
from .bodies import erase_dead
from .builder import Differentiate, GraphBuilder, element, known_array
from .checked_values import Indices
from .importer import import_onnx
from .load import Model


@dataclass(frozen=True)
class SymbolicImport:
    """A graph with symbols, and what has to hold for sizes of them."""

    module: ModuleOp
    conditions: Sequence[Condition]
    unchecked: Sequence[Indices]
    """Indices that follow from sizes."""
    ranges: Sequence[SSAValue]
    """The numbers of so many places as sizes say."""
    external: frozenset[str]
    """The files other than the model's with its weights."""

    def admits(self, sizes: Mapping[str, int]) -> bool:
        """Returns whether the graph is that for these sizes of all symbols."""
        return all(condition.holds(sizes) for condition in self.conditions)


def import_with_symbols(
    model: Model,
    sizes: Mapping[str, int],
    max_elements: int,
    differentiate: Differentiate | None = None,
) -> SymbolicImport:
    """
    Imports a model for sizes of all symbols, from 1, which stay symbols. Raises the errors of
    `import_onnx`.
    """
    decisions = Decisions(sizes)
    unchecked: list[Indices] = []
    external: set[str] = set()
    with deciding(decisions):
        module = import_onnx(
            model,
            {name: symbol_size(name) for name in sizes},  # pyright: ignore
            max_elements,
            external,
            differentiate=differentiate,
            unchecked=unchecked,
        )
    ranges = [
        op.results[0]
        for op in module.walk()
        if isinstance(op, GenericOp) and not op.operands and is_symbolic(op.result.type)
    ]
    return SymbolicImport(module, decisions.conditions, unchecked, ranges, frozenset(external))


def fold_bound(
    function: FuncOp,
    sizes: Mapping[str, int],
    made: SymbolicImport,
    places: Mapping[SSAValue, SSAValue],
) -> None:
    """
    Folds, in a graph whose symbols have `sizes`, what an import for these folds. `places` has the
    values of the graph by those with symbols. Raises ModelError for indices out of range.
    """
    block = function.body.block
    builder = GraphBuilder(block, 0)
    # binding gave results new types, and so made new results
    indices = [_result_now(places[each.value]) for each in made.unchecked]
    ranges = {_result_now(places[value]) for value in made.ranges}
    constants: dict[SSAValue, SSAValue] = {}
    for op in list(block.ops):
        if isinstance(op, Node) and len(op.results) == 1 and _may_be_constant(op):
            folded = _constant(op) if op.results[0] in ranges else builder.folded(op)
            if folded is not None:
                (old,), (new,) = op.results, folded.results
                new.name_hint = old.name_hint
                constants[old] = new
                Rewriter.replace_op(op, folded)
    for each, value in zip(made.unchecked, indices, strict=True):
        value = constants.get(value, value)
        known = known_array(value)
        if known is None:
            raise GlowError(f"the indices of {each.user} are not known")
        low, high = sizes_at(each.low, sizes), sizes_at(each.high, sizes)
        total = each.total if each.total is None else sizes_at([each.total], sizes)[0]
        replace(each, low=low, high=high, total=total).expect(known)  # pyright: ignore
    end = block.last_op
    assert end is not None
    block.detach_op(end)
    erase_dead(block, list(end.operands))
    block.add_op(end)


def _result_now(value: SSAValue) -> SSAValue:
    assert isinstance(value, OpResult)
    return value.op.results[value.index]


def _may_be_constant(op: Node) -> bool:
    """Returns whether a node may be one on constants, now that symbols are bound."""
    if isinstance(op, ConstantOp | SplatOp):
        return False
    return all(not isinstance(o.owner, Block) for o in op.operands)


def _constant(node: Node) -> Operation:
    (array,) = evaluate(node.call, [])
    return make_constant(np.ascontiguousarray(array), element=element(node.results[0]))
