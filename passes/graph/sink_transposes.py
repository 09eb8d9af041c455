"""
Moves transposes towards the results of the network, where they meet and cancel.

Frontends that convert between channel orders leave transposes around many nodes. A node whose
operands are transposed alike can work on the operands before they are transposed, with its axes
renamed, and its result is transposed instead. Step by step a transpose sinks below data-parallel
nodes, concatenations, and operators whose formula says the same for another order of dimensions
(pads, slices, reductions, softmax). A matrix product reads a transposed operand as it is, and so
does `glow.generic` if it still reads along vectors, or reads few elements. Where two transposes
meet they become one, or nothing. Constant operands are transposed the other way (which
`glow-fold-constants` does at compile time), and so are broadcasts, if that moves only dimensions of
size 1 or constants.

First, nodes between transposes are moved together where that saves bytes to be transposed (see
`transpose_regions`). After that, a transpose only sinks if its operand's transpose then vanishes,
that is, if the node is its only user, so their number never grows. Each step moves one nearer to
the results, so this ends. At last, transposes that only move dimensions of size 1 become reshapes,
which cost nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, TensorType
from xdsl.ir import SSAValue
from xdsl.passes import ModulePass

from ...glow_dialects.elements import element_bytes, num_elements
from ...glow_dialects.formula.facts import reads, vector_sizes
from ...glow_dialects.formula.indices import operand_names
from ...glow_dialects.formula.parser import parse
from ...glow_dialects.formula.rewriting import with_order
from ...glow_dialects.glow import NODES
from ...glow_dialects.glow.base import DataParallel, Node
from ...glow_dialects.glow.generic import GenericOp
from ...glow_dialects.glow.shape import ConcatOp, ReshapeOp, TransposeOp
from ...glow_dialects.glow.structured import Structured
from ...glow_dialects.operator import element_of, shape_of
from ...glow_dialects.timings import TIMINGS
from ..levels import GRAPH
from .permutations import Permutation, compose, is_identity, moves_only_ones
from .reordering import (
    can_reorder,
    can_untranspose,
    moved_properties,
    moving_transpose,
    permutation_of,
    reorderings,
    transpose,
    untransposed,
)
from .rewriting import Build, RuleTable, apply_rules, defining_op, has_symbols, is_constant
from .transpose_regions import reorder_regions

SINKING = RuleTable()
RESHAPING = RuleTable()
sinking = SINKING.rule
_MOST_GROWTH = 4
"""The largest ratio of a result to its operand for which a transpose moves below."""


def vanishes(found: TransposeOp, node: Node) -> bool:
    """Returns whether nothing but `node` uses the transpose."""
    return all(use.operation is node for use in found.result.uses)


def common_permutation(node: Node, operands: Sequence[SSAValue]) -> Permutation | None:
    """Returns the one permutation of all transposed operands, if only `node` uses them."""
    found = [t for operand in operands if (t := moving_transpose(operand)) is not None]
    permutations = {permutation_of(t) for t in found}
    if len(permutations) != 1 or not all(vanishes(t, node) for t in found):
        return None
    return permutations.pop()


@sinking(TransposeOp)
def merge_transposes(node: TransposeOp, build: Build) -> SSAValue | None:
    inner = defining_op(node.input, TransposeOp)
    if inner is not None:
        return transpose(build, inner.input, compose(permutation_of(inner), permutation_of(node)))
    return node.input if is_identity(permutation_of(node)) else None


@sinking(*(n for n in NODES if issubclass(n, DataParallel)), ConcatOp)
def sink_below_alike(node: Node, build: Build) -> SSAValue | None:
    """
    Moves the transpose of all operands below a node that reads them alike, unless that moves more
    bytes: a dequantization makes four of one.
    """
    p = common_permutation(node, node.operands)
    properties = None if p is None else moved_properties(node, p)
    if p is None or properties is None:
        return None
    before = {t.result for o in node.operands if (t := moving_transpose(o)) is not None}
    if _width(node.results[0]) > sum(map(_width, before)):
        return None
    if not all(can_untranspose(operand, p) for operand in node.operands):
        return None
    operands = [untransposed(build, operand, p) for operand in node.operands]
    return transpose(build, build.like(node, *operands, **properties), p)  # pyright: ignore[reportArgumentType]


def _width(value: SSAValue) -> int:
    """Returns the bytes of an element."""
    return element_bytes(element_of(value.type))


@sinking(*filter(can_reorder, NODES))
def sink_below_formula(node: Structured, build: Build) -> SSAValue | None:
    """
    Returns a node whose formula says the same of operands that are not transposed, perhaps with its
    axes renamed or a flag changed.
    """
    found = {i: t for i, o in enumerate(node.operands) if (t := defining_op(o, TransposeOp))}
    for chosen in _to_absorb(found):
        for properties, order in reorderings(node, {i: permutation_of(found[i]) for i in chosen}):
            if is_identity(order) or _pays(node, found, chosen):
                read = [found[i].input if i in chosen else o for i, o in enumerate(node.operands)]
                made = build(type(node), *read, **properties)  # pyright: ignore[reportArgumentType]
                return transpose(build, made, order)
    return None


def _to_absorb(found: Mapping[int, TransposeOp]) -> list[set[int]]:
    """Returns the sets of operands whose transposes may move together: all, or each by itself."""
    alone = [{i} for i in found]
    return alone if len(found) < 2 else [set(found), *alone]


def _pays(node: Structured, found: Mapping[int, TransposeOp], chosen: AbstractSet[int]) -> bool:
    """Returns whether transposes vanish for that of a result which is not much larger."""
    if any(is_constant(found[i].input) or not vanishes(found[i], node) for i in chosen):
        return False
    largest = max(num_elements(shape_of(found[i].result.type)) for i in chosen)
    return num_elements(shape_of(node.results[0].type)) <= _MOST_GROWTH * largest


@sinking(GenericOp)
def read_transposed_operands(node: GenericOp, build: Build) -> SSAValue | None:
    """Returns a formula that reads the operands of transposes, with its indices in their order."""
    formula = parse(GenericOp.formula_of(node.call))
    constants = GenericOp.numbers(node.call)
    names = [n for n in operand_names(formula) if n not in constants]
    operands, last = list(node.inputs), dict[int, int]()
    for number, (name, value) in enumerate(zip(names, operands, strict=True)):
        found = moving_transpose(value)
        if found is None:
            continue
        places = {number: _last_moved(found), **last}
        changed = with_order(formula, name, permutation_of(found))
        if changed is not None and _repays_reading(node, number, places):
            formula, operands[number], last = changed, found.input, places
    if operands == list(node.inputs):
        return None
    given = {"constants": node.constants} if node.constants is not None else {}
    result = node.result.type
    assert isinstance(result, TensorType)
    return build(GenericOp, *operands, result_types=[result], formula=str(formula), **given)


def _last_moved(found: TransposeOp) -> int:
    """Returns the dimension of the result along which the operand lies in memory."""
    several = [d for d, size in enumerate(shape_of(found.input.type)) if size != 1]
    return permutation_of(found).index(several[-1])


def _repays_reading(node: GenericOp, number: int, last: Mapping[int, int]) -> bool:
    """
    Returns whether a formula reads an operand as fast without its transpose: along vectors, or
    fewer elements than the transpose moves. `last` are the dimensions along which operands lie.
    """
    if has_symbols(node):
        return True
    statement = node.statement(node.call)
    before = {operand: d for operand, d in last.items() if operand != number}
    sizes = zip(vector_sizes(statement, before), vector_sizes(statement, last), strict=True)
    moved = num_elements(shape_of(node.inputs[number].type))
    return (
        all(now >= min(size, TIMINGS.long_vector_loop) for size, now in sizes)
        or reads(statement, number) * TIMINGS.far_lane <= moved
    )


@RESHAPING.rule(TransposeOp)
def transpose_of_ones(node: TransposeOp, build: Build) -> SSAValue | None:
    if not moves_only_ones(permutation_of(node), shape_of(node.input.type)):
        return None
    result = node.result.type
    assert isinstance(result, TensorType)
    source = node.input.owner.input if isinstance(node.input.owner, ReshapeOp) else node.input
    return build.reshape(source, shape_of(result))


@dataclass(frozen=True)
class SinkTransposesPass(ModulePass):
    """Moves transposes towards the results, and merges or cancels those that meet."""

    name = "glow-sink-transposes"
    level = GRAPH

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        reorder_regions(op)
        apply_rules(op, SINKING)
        apply_rules(op, RESHAPING)
