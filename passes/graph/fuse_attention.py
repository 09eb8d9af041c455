"""
Recognises attention: the product of a softmax of a product.

`softmax(q @ k^T * scale + mask) @ v` becomes one node, whose kernel need not write the scores of
all positions to memory. Scale and mask may be missing, the scale may be a divisor, and q and k may
be scaled instead of their product. The matrices may have one or two dimensions before them (images,
or images and heads), and the softmax is along the last one. Where zeros replace the NaN of rows
without a position, the node is `safe`. Heads of keys and values that are repeated, for groups of
heads of the query, are read once. Nothing else may use the values in between.

The node has positions before heads in its operands, as networks compute them. So a transposed
operand loses its transpose here, and those that become necessary meet their inverses.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import SSAValue
from xdsl.passes import ModulePass

from ...glow_dialects.elements import is_float
from ...glow_dialects.glow.arithmetic import AddOp, DivOp, MulOp
from ...glow_dialects.glow.attention import AttentionOp, MaskedAttentionOp
from ...glow_dialects.glow.logic import EqualOp, NotOp, SelectOp
from ...glow_dialects.glow.matrix import MatMulOp
from ...glow_dialects.glow.normalization import SoftmaxOp
from ...glow_dialects.glow.shape import BroadcastOp, ReshapeOp, TransposeOp
from ...glow_dialects.operator import element_of, shape_of
from ..levels import GRAPH
from .permutations import Permutation, compose
from .reordering import permutation_of, transpose
from .rewriting import Build, RuleTable, apply_rules, defining_op, splat_value

_HEADS_LAST_BUT_ONE = (0, 2, 1, 3)


@dataclass(frozen=True)
class Scores:
    """A product `product * scale + mask`."""

    product: MatMulOp
    left: SSAValue
    right: SSAValue
    """The operands of the product, without their scales."""
    scale: float
    masks: tuple[SSAValue, ...] = ()
    """The values that are added to the product, in this order."""


def scores_of(value: SSAValue) -> Scores | None:
    """Returns the computation of `value`, if these are scores that nothing else uses."""
    found = _scaled_product(value)
    if found is not None:
        product, scale = found
        left, of_left = _scaled(product.lhs)
        right, of_right = _scaled(product.rhs)
        return Scores(product, left, right, scale * of_left * of_right)
    add = defining_op(value, AddOp)
    if add is None or not value.has_one_use():
        return None
    for side, mask in ((add.lhs, add.rhs), (add.rhs, add.lhs)):
        scores = scores_of(side)
        if scores is not None:
            return replace(scores, masks=(*scores.masks, mask))
    return None


def _scaled_product(value: SSAValue) -> tuple[MatMulOp, float] | None:
    """Returns a product and the number that it is multiplied with."""
    if not value.has_one_use():
        return None
    number, factor = _scaled(value)
    product = defining_op(number, MatMulOp)
    if product is None or not number.has_one_use():
        return None
    return product, factor


def _scaled(value: SSAValue) -> tuple[SSAValue, float]:
    """Returns what is multiplied with a number, and the number; `value` and 1 if nothing is."""
    owner = value.owner
    if isinstance(owner, DivOp):
        divisor = splat_value(owner.rhs)
        return (owner.lhs, 1 / float(divisor)) if divisor else (value, 1.0)
    if isinstance(owner, MulOp):
        for number, other in ((owner.lhs, owner.rhs), (owner.rhs, owner.lhs)):
            factor = splat_value(other)
            if factor is not None:
                return number, float(factor)
    return value, 1.0


def _softmax_of(weights: SSAValue) -> tuple[SoftmaxOp | None, bool]:
    """
    Returns the softmax that weights are, unless something else uses it, and whether zeros replace
    NaN in it, as in PyTorch's exports.
    """
    if not weights.has_one_use():
        return None, False
    choice = defining_op(weights, SelectOp)
    if choice is None:
        return defining_op(weights, SoftmaxOp), False
    kept, zero, condition = choice.then, choice.otherwise, choice.condition
    is_nan = defining_op(condition, NotOp)
    if is_nan is not None:
        kept, zero, condition = zero, kept, is_nan.input
    equal, softmax = defining_op(condition, EqualOp), defining_op(kept, SoftmaxOp)
    if equal is None or softmax is None or splat_value(zero) != 0:
        return None, False
    uses = {equal, choice}
    if any(o is not kept for o in equal.operands) or {u.operation for u in kept.uses} != uses:
        return None, False
    return softmax, True


def _transposed(build: Build, value: SSAValue, permutation: Permutation) -> SSAValue:
    """Returns `value` transposed; two transposes in a row become at most one."""
    inner = defining_op(value, TransposeOp)
    if inner is not None:
        value, permutation = inner.input, compose(permutation_of(inner), permutation)
    return transpose(build, value, permutation)


def _by_position(build: Build, value: SSAValue, transposed: bool) -> SSAValue:
    """Matrices [images, (heads,) positions, width] as [images, positions, heads, width]."""
    shape = shape_of(value.type)
    if len(shape) == 3:
        if transposed:
            value = _transposed(build, value, (0, 2, 1))
            shape = shape_of(value.type)
        return build.reshape(value, [shape[0], shape[1], 1, shape[2]])
    permutation = (0, 3, 1, 2) if transposed else _HEADS_LAST_BUT_ONE
    return _transposed(build, value, permutation)


def _shared(key: SSAValue, value: SSAValue, build: Build) -> tuple[SSAValue, SSAValue]:
    """
    Returns key and value [images, positions, heads, width] before each of their heads is repeated
    for a group of heads of the query; as they are if none is.
    """
    heads = shape_of(key.type)[2]
    single = [_unrepeated(operand, build) for operand in (key, value)]
    counts = {shape_of(operand.type)[2] for operand in single}
    return (single[0], single[1]) if counts != {heads} and len(counts) == 1 else (key, value)


def _unrepeated(value: SSAValue, build: Build) -> SSAValue:
    """Returns [images, positions, heads, width] before its heads are repeated."""
    turn = defining_op(value, TransposeOp)
    order = tuple(range(4)) if turn is None else permutation_of(turn)
    joined = defining_op(value if turn is None else turn.input, ReshapeOp)
    repeated = None if joined is None else defining_op(joined.input, BroadcastOp)
    if joined is None or repeated is None:
        return value
    apart, whole = shape_of(repeated.input.type), shape_of(joined.result.type)
    axis = order[2]
    groups = apart[axis] if axis < len(apart) else 0
    if apart != (*whole[:axis], groups, 1, *whole[axis + 1 :]):
        return value
    if shape_of(repeated.result.type)[: axis + 1] != apart[: axis + 1]:
        return value
    single, shape = repeated.input, (*whole[:axis], groups, *whole[axis + 1 :])
    added = defining_op(single, ReshapeOp)
    if added is not None and shape_of(added.input.type) == shape:
        single = added.input
    single = build.reshape(single, shape)
    return _transposed(build, single, order)


def attention(node: MatMulOp, build: Build) -> SSAValue | None:
    """Returns a product whose left operand is a softmax of scores."""
    softmax, is_safe = _softmax_of(node.lhs)
    shape = shape_of(node.result.type)
    if softmax is None or node.transpose_lhs.value.data:
        return None
    if len(shape) not in (3, 4) or softmax.axis.value.data != len(shape) - 1:
        return None
    scores = scores_of(softmax.input)
    if scores is None or not is_float(element_of(node.result.type)):
        return None
    product = scores.product
    operands = [
        _by_position(build, scores.left, bool(product.transpose_lhs.value.data)),
        *_shared(
            _by_position(build, scores.right, not product.transpose_rhs.value.data),
            _by_position(build, node.rhs, bool(node.transpose_rhs.value.data)),
            build,
        ),
    ]
    if scores.masks:
        mask = build.sum(scores.masks)
        if len(shape) == 3:
            mask = build.reshape(mask, [shape[0], 1, *shape_of(mask.type)[1:]])
        operands.append(mask)
    operator = MaskedAttentionOp if scores.masks else AttentionOp
    result = build(operator, *operands, scale=scores.scale, safe=is_safe)
    if len(shape) == 3:
        return build.reshape(result, shape)
    return build(TransposeOp, result, permutation=_HEADS_LAST_BUT_ONE)


@dataclass(frozen=True)
class FuseAttentionPass(ModulePass):
    """Makes one node of attention."""

    name = "glow-fuse-attention"
    level = GRAPH

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        table = RuleTable()
        table.rule(MatMulOp)(attention)
        apply_rules(op, table)
