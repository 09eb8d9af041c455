"""
Moves transposes towards the results of the network, where they meet and cancel.

Frontends that convert between channel orders leave transposes around many nodes. A node whose
operands are transposed alike can work on the operands before they are transposed, with its axes
renamed, and its result is transposed instead. Step by step a transpose sinks below data-parallel
nodes, concatenations, and operators whose formula says the same for another order of dimensions
(pads, slices, reductions, softmax); a matrix product and `glow.generic` read a transposed operand
as it is. Where two transposes meet they become one, or nothing. Constant
operands are transposed the other way (which `glow-fold-constants` does at compile time), and so are
broadcasts, if that moves only dimensions of size 1 or constants.

A transpose only sinks if its operand's transpose then vanishes, that is, if the node is its only
user, so their number never grows. Each step moves one nearer to the results, so this ends. At last,
transposes that only move dimensions of size 1 become reshapes, which cost nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, TensorType
from xdsl.ir import Attribute, SSAValue
from xdsl.passes import ModulePass
from xdsl.utils.exceptions import VerifyException

from ...glow_dialects.elements import num_elements
from ...glow_dialects.formula.indices import operand_names
from ...glow_dialects.formula.orders import order_of_result
from ...glow_dialects.formula.parser import parse
from ...glow_dialects.formula.rewriting import dimension_names, with_order
from ...glow_dialects.glow import NODES
from ...glow_dialects.glow.base import DataParallel, Node
from ...glow_dialects.glow.constant import ConstantOp, SplatOp
from ...glow_dialects.glow.generic import GenericOp
from ...glow_dialects.glow.quantization import DequantizeOp, QuantizeOp
from ...glow_dialects.glow.shape import BroadcastOp, ConcatOp, ReshapeOp, TransposeOp
from ...glow_dialects.glow.structured import Structured
from ...glow_dialects.operator import Call, element_of, shape_of, with_shape
from ...glow_dialects.python_values import to_attribute, to_python
from ...glow_dialects.quant import QuantizedType
from ...glow_dialects.syntax import PerDimension
from ..levels import GRAPH
from .permutations import (
    Permutation,
    compose,
    inverse,
    is_identity,
    moves_only_ones,
    permuted,
)
from .rewriting import Build, RuleTable, apply_rules, defining_op, is_constant

SINKING = RuleTable()
RESHAPING = RuleTable()
sinking = SINKING.rule
_MOST_GROWTH = 4
"""The largest ratio of a result to its operand for which a transpose moves below."""


def transpose(build: Build, value: SSAValue, p: Permutation) -> SSAValue:
    """Returns `value` transposed; `value` itself if `p` changes nothing."""
    return value if is_identity(p) else build(TransposeOp, value, permutation=p)


def permutation_of(node: TransposeOp) -> Permutation:
    return tuple(node.permutation.get_values())


def sinking_transpose(value: SSAValue) -> TransposeOp | None:
    """
    Returns the transpose that makes `value`, unless it is of a constant and vanishes at compile
    time.
    """
    found = defining_op(value, TransposeOp)
    return None if found is None or is_constant(found.input) else found


def vanishes(found: TransposeOp, node: Node) -> bool:
    """Returns whether nothing but `node` uses the transpose."""
    return all(use.operation is node for use in found.result.uses)


def common_permutation(node: Node, operands: Sequence[SSAValue]) -> Permutation | None:
    """Returns the one permutation of all transposed operands, if only `node` uses them."""
    found = [t for operand in operands if (t := sinking_transpose(operand)) is not None]
    permutations = {permutation_of(t) for t in found}
    if len(permutations) != 1 or not all(vanishes(t, node) for t in found):
        return None
    return permutations.pop()


def aligned_source(broadcast: BroadcastOp) -> list[int]:
    """Returns the shape of the operand of a broadcast, with ones up to the rank of the result."""
    source = shape_of(broadcast.input.type)
    return [1] * (len(shape_of(broadcast.result.type)) - len(source)) + list(source)


def can_untranspose(value: SSAValue, p: Permutation) -> bool:
    """Returns whether `value` before a transpose by `p` costs nothing when the network runs."""
    if isinstance(value.owner, TransposeOp | ConstantOp | SplatOp):
        return isinstance(value.owner, ConstantOp | SplatOp) or (
            is_constant(value.owner.input) or permutation_of(value.owner) == p
        )
    broadcast = defining_op(value, BroadcastOp)
    if broadcast is None:
        return False
    return is_constant(broadcast.input) or moves_only_ones(inverse(p), aligned_source(broadcast))


def untransposed(build: Build, value: SSAValue, p: Permutation) -> SSAValue:
    """Returns the value that gives `value` when it is transposed by `p`."""
    back = inverse(p)
    match value.owner:
        case TransposeOp() as node:
            return transpose(build, node.input, compose(permutation_of(node), back))
        case SplatOp() as splat:
            narrow = with_shape(element_of(value.type), permuted(shape_of(value.type), back))
            return build(SplatOp, result_types=[narrow], value=splat.value)
        case BroadcastOp() as broadcast:
            shape = aligned_source(broadcast)
            source = build.reshape(broadcast.input, shape)
            if moves_only_ones(back, shape):
                source = build.reshape(source, permuted(shape, back))
            else:
                source = transpose(build, source, back)
            return build.broadcast(source, permuted(shape_of(value.type), back))
        case _:
            return transpose(build, value, back)


def _can_reorder(operator: type[Structured]) -> bool:
    """
    Returns whether the formula says all about the result, and the operator is not the one that
    moves.
    """
    return not operator.DECLARES_RESULT and operator is not TransposeOp


@sinking(TransposeOp)
def merge_transposes(node: TransposeOp, build: Build) -> SSAValue | None:
    inner = defining_op(node.input, TransposeOp)
    if inner is not None:
        return transpose(build, inner.input, compose(permutation_of(inner), permutation_of(node)))
    return node.input if is_identity(permutation_of(node)) else None


@sinking(*[node for node in NODES if issubclass(node, DataParallel)])
def sink_below_elements(node: DataParallel, build: Build) -> SSAValue | None:
    p = common_permutation(node, node.operands)
    if p is None or not all(can_untranspose(operand, p) for operand in node.operands):
        return None
    operands = [untransposed(build, operand, p) for operand in node.operands]
    return transpose(build, build.like(node, *operands), p)


@sinking(QuantizeOp, DequantizeOp)
def sink_below_quantization(node: QuantizeOp | DequantizeOp, build: Build) -> SSAValue | None:
    """Moves a transpose below a quantization with one scale for the whole tensor."""
    p = common_permutation(node, node.operands)
    elements = (element_of(node.input.type), element_of(node.result.type))
    per_axis = any(isinstance(e, QuantizedType) and e.is_per_axis for e in elements)
    if p is None or per_axis:
        return None
    return transpose(build, build.like(node, untransposed(build, node.input, p)), p)


@sinking(ConcatOp)
def sink_below_concat(node: ConcatOp, build: Build) -> SSAValue | None:
    p = common_permutation(node, node.inputs)
    if p is None or not all(can_untranspose(operand, p) for operand in node.inputs):
        return None
    operands = [untransposed(build, operand, p) for operand in node.inputs]
    return transpose(build, build(ConcatOp, *operands, axis=p[node.axis.value.data]), p)


@sinking(*(n for n in NODES if issubclass(n, Structured) and _can_reorder(n)))
def sink_below_formula(node: Structured, build: Build) -> SSAValue | None:
    """
    Returns a node whose formula says the same of operands that are not transposed, perhaps with its
    axes renamed or a flag changed.
    """
    found = {i: t for i, o in enumerate(node.operands) if (t := defining_op(o, TransposeOp))}
    for chosen in _to_absorb(node, found):
        operands = [found[i].input if i in chosen else o for i, o in enumerate(node.operands)]
        orders = {i: permutation_of(found[i]) for i in chosen}
        for properties in _other_properties(node, orders):
            other = Call(type(node), tuple(o.type for o in operands), (), properties)
            order = _order_of_result(node.call, other, orders)
            if order is not None and (is_identity(order) or _pays(node, operands, found, chosen)):
                made = build(type(node), *operands, **properties)  # pyright: ignore[reportArgumentType]
                return transpose(build, made, order)
    return None


def _to_absorb(node: Node, found: Mapping[int, TransposeOp]) -> list[set[int]]:
    """Returns the sets of operands whose transposes may move together: all, or each by itself."""
    alone = [{i} for i in found]
    return alone if len(found) < 2 else [set(found), *alone]


def _other_properties(
    node: Structured, orders: Mapping[int, Permutation]
) -> Iterator[Mapping[str, Attribute]]:
    """
    Yields the properties that the node may have without the transposes: numbers for each dimension
    in another order and axes renamed as the first transpose says, or flags changed.
    """
    p = next(iter(orders.values()))
    axes = {name for name in dimension_names(parse(node.formula_of(node.call)))}
    renamed = dict(node.properties)
    for name, definition in type(node).get_irdl_definition().properties.items():
        value = to_python(node.properties[name]) if name in node.properties else None
        if name in axes and isinstance(value, int):
            renamed[name] = to_attribute(p[value])
        elif name in axes and isinstance(value, tuple):
            renamed[name] = to_attribute(tuple(sorted(p[int(a)] for a in value)))
        elif isinstance(value, tuple) and len(value) == len(p):
            if isinstance(definition.constr, PerDimension) and not definition.constr.besides:
                renamed[name] = to_attribute(tuple(permuted(value, inverse(p))))
    yield renamed
    flags = [name for name, value in node.properties.items() if isinstance(to_python(value), bool)]
    for name in flags:
        yield {**node.properties, name: to_attribute(not to_python(node.properties[name]))}


def _order_of_result(
    call: Call, other: Call, orders: Mapping[int, Permutation]
) -> tuple[int, ...] | None:
    operator = call.operator
    assert issubclass(operator, Structured)
    try:
        operator.infer(other)
        return order_of_result(operator.statement(call), operator.statement(other), orders)
    except VerifyException:
        return None


def _pays(
    node: Structured,
    operands: Sequence[SSAValue],
    found: Mapping[int, TransposeOp],
    chosen: AbstractSet[int],
) -> bool:
    """Returns whether transposes vanish for that of a result which is not much larger."""
    if any(is_constant(found[i].input) or not vanishes(found[i], node) for i in chosen):
        return False
    largest = max(num_elements(shape_of(operands[i].type)) for i in chosen)
    return num_elements(shape_of(node.results[0].type)) <= _MOST_GROWTH * largest


@sinking(GenericOp)
def read_transposed_operands(node: GenericOp, build: Build) -> SSAValue | None:
    """Returns a formula reads the operands of transposes, with its indices in their order."""
    formula = parse(GenericOp.formula_of(node.call))
    constants = GenericOp.numbers(node.call)
    names = [n for n in operand_names(formula) if n not in constants]
    operands = list(node.inputs)
    for number, (name, value) in enumerate(zip(names, operands, strict=True)):
        found = sinking_transpose(value)
        if found is None:
            continue
        changed = with_order(formula, name, permutation_of(found))
        if changed is not None:
            formula, operands[number] = changed, found.input
    if operands == list(node.inputs):
        return None
    given = {"constants": node.constants} if node.constants is not None else {}
    result = node.result.type
    assert isinstance(result, TensorType)
    return build(GenericOp, *operands, result_types=[result], formula=str(formula), **given)


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
    """Move transposes towards the results, and merge or cancel those that meet."""

    name = "glow-sink-transposes"
    level = GRAPH

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        apply_rules(op, SINKING)
        apply_rules(op, RESHAPING)
