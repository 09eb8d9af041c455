"""
Moves transposes towards the results of the network, where they meet and cancel.

Frontends that convert between channel orders leave transposes around many nodes. A node whose
operands are transposed alike can work on the operands before they are transposed, with its axes
renamed, and its result is transposed instead. Step by step a transpose sinks below data-parallel
nodes, concatenations, pads, slices, reductions and softmax; a matrix product and a formula read a
transposed operand as it is. Where two transposes meet they become one, or nothing. Constant
operands are transposed the other way (which `glow-fold-constants` does at compile time), and so are
broadcasts, if that moves only dimensions of size 1 or constants.

A transpose only sinks if its operand's transpose then vanishes, that is, if the node is its only
user, so their number never grows. Each step moves one nearer to the results, so this ends. At last,
transposes that only move dimensions of size 1 become reshapes, which cost nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, TensorType
from xdsl.ir import SSAValue
from xdsl.passes import ModulePass

from ...glow_dialects.formula.indices import operand_names
from ...glow_dialects.formula.parser import parse
from ...glow_dialects.formula.rewriting import with_order
from ...glow_dialects.glow import NODES
from ...glow_dialects.glow.base import DataParallel, Node
from ...glow_dialects.glow.constant import ConstantOp, SplatOp
from ...glow_dialects.glow.generic import GenericOp
from ...glow_dialects.glow.matrix import MatMulOp
from ...glow_dialects.glow.normalization import LogSoftmaxOp, SoftmaxOp
from ...glow_dialects.glow.quantization import DequantizeOp, QuantizeOp
from ...glow_dialects.glow.reduction import (
    ReduceMaxOp,
    ReduceMeanOp,
    ReduceMinOp,
    ReduceProdOp,
    ReduceSumOp,
    Reduction,
)
from ...glow_dialects.glow.shape import (
    BroadcastOp,
    ConcatOp,
    PadOp,
    ReshapeOp,
    SliceOp,
    TransposeOp,
)
from ...glow_dialects.operator import element_of, shape_of, with_shape
from ...glow_dialects.quant import QuantizedType
from ..levels import GRAPH
from .permutations import (
    Permutation,
    compose,
    inverse,
    is_identity,
    moves_only_ones,
    permuted,
    remaining,
)
from .rewriting import Build, RuleTable, apply_rules, defining_op, is_constant

SINKING = RuleTable()
RESHAPING = RuleTable()
sinking = SINKING.rule


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


@sinking(PadOp)
def sink_below_pad(node: PadOp, build: Build) -> SSAValue | None:
    p = common_permutation(node, node.operands)
    if p is None:
        return None
    low, high = (permuted(a.get_values(), inverse(p)) for a in (node.low, node.high))
    x = untransposed(build, node.input, p)
    return transpose(build, build(PadOp, x, low=low, high=high, value=node.value), p)


@sinking(SliceOp)
def sink_below_slice(node: SliceOp, build: Build) -> SSAValue | None:
    p = common_permutation(node, node.operands)
    if p is None:
        return None
    starts, sizes, strides = (
        permuted(a.get_values(), inverse(p)) for a in (node.starts, node.sizes, node.strides)
    )
    x = untransposed(build, node.input, p)
    sliced = build(SliceOp, x, starts=starts, sizes=sizes, strides=strides)
    return transpose(build, sliced, p)


@sinking(ReduceSumOp, ReduceMeanOp, ReduceMaxOp, ReduceMinOp, ReduceProdOp)
def sink_below_reduction(node: Reduction, build: Build) -> SSAValue | None:
    p = common_permutation(node, node.operands)
    if p is None:
        return None
    axes, keep = node.axes.get_values(), node.keep_dims
    x = untransposed(build, node.input, p)
    reduced = build(type(node), x, axes=sorted(p[a] for a in axes), keep_dims=keep)
    return transpose(build, reduced, p if keep.value.data else remaining(p, axes))


@sinking(SoftmaxOp, LogSoftmaxOp)
def sink_below_softmax(node: SoftmaxOp | LogSoftmaxOp, build: Build) -> SSAValue | None:
    p = common_permutation(node, node.operands)
    if p is None:
        return None
    x = untransposed(build, node.input, p)
    return transpose(build, build(type(node), x, axis=p[node.axis.value.data]), p)


def _swaps_matrices(value: SSAValue) -> TransposeOp | None:
    """Returns the transpose that makes `value` if it only swaps the last two dimensions."""
    found = defining_op(value, TransposeOp)
    if found is None:
        return None
    *batch, rows, columns = range(len(shape_of(value.type)))
    return found if permutation_of(found) == (*batch, columns, rows) else None


@sinking(MatMulOp)
def read_transposed_matrices(node: MatMulOp, build: Build) -> SSAValue | None:
    lhs, rhs = _swaps_matrices(node.lhs), _swaps_matrices(node.rhs)
    if lhs is None and rhs is None:
        return None
    return build(
        MatMulOp,
        node.lhs if lhs is None else lhs.input,
        node.rhs if rhs is None else rhs.input,
        transpose_lhs=bool(node.transpose_lhs.value.data) != (lhs is not None),
        transpose_rhs=bool(node.transpose_rhs.value.data) != (rhs is not None),
    )


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
    return build.reshape(source, result.get_shape())


@dataclass(frozen=True)
class SinkTransposesPass(ModulePass):
    """Move transposes towards the results, and merge or cancel those that meet."""

    name = "glow-sink-transposes"
    level = GRAPH

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        apply_rules(op, SINKING)
        apply_rules(op, RESHAPING)
