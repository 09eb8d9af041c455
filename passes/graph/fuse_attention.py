"""
Recognises attention: the product of a softmax of a product.

`softmax(q @ k^T * scale + mask) @ v` becomes one node, whose kernel need not write the scores of
all positions to memory. Scale and mask may be missing, the scale may be a divisor, and q and k may
be scaled instead of their product. The matrices may have one or two dimensions before them (images,
or images and heads), and the softmax is along the last one. Where zeros replace the NaN of rows
without a position, the node is `safe`. Nothing else may use the values in between.

The node has positions before heads in its operands, as networks compute them. So a transposed
operand loses its transpose here, and those that become necessary meet their inverses.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

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
from ...glow_dialects.glow.shape import TransposeOp
from ...glow_dialects.operator import element_of, shape_of
from ..levels import GRAPH
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
    mask: SSAValue | None


def scores_of(value: SSAValue) -> Scores | None:
    """Returns the computation of `value`, if these are scores that nothing else uses."""
    mask = None
    add = defining_op(value, AddOp)
    if add is not None:
        for scaled, other in ((add.lhs, add.rhs), (add.rhs, add.lhs)):
            if _scaled_product(scaled) is not None:
                value, mask = scaled, other
                break
        else:
            return None
    found = _scaled_product(value)
    if found is None:
        return None
    product, scale = found
    left, of_left = _scaled(product.lhs)
    right, of_right = _scaled(product.rhs)
    return Scores(product, left, right, scale * of_left * of_right, mask)


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


def _transposed(build: Build, value: SSAValue, permutation: Sequence[int]) -> SSAValue:
    """Returns `value` transposed; two transposes in a row become at most one."""
    inner = defining_op(value, TransposeOp)
    if inner is not None:
        before = inner.call.ints("permutation")
        value, permutation = inner.input, [before[p] for p in permutation]
    if list(permutation) == list(range(len(permutation))):
        return value
    return build(TransposeOp, value, permutation=permutation)


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
        _by_position(build, scores.right, not product.transpose_rhs.value.data),
        _by_position(build, node.rhs, bool(node.transpose_rhs.value.data)),
    ]
    if scores.mask is None:
        result = build(AttentionOp, *operands, scale=scores.scale, safe=is_safe)
    else:
        mask = scores.mask
        if len(shape) == 3:
            mask = build.reshape(mask, [shape[0], 1, *shape_of(mask.type)[1:]])
        result = build(MaskedAttentionOp, *operands, mask, scale=scores.scale, safe=is_safe)
    if len(shape) == 3:
        return build.reshape(result, shape)
    return build(TransposeOp, result, permutation=_HEADS_LAST_BUT_ONE)


@dataclass(frozen=True)
class FuseAttentionPass(ModulePass):
    """Make one node of attention."""

    name = "glow-fuse-attention"
    level = GRAPH

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        table = RuleTable()
        table.rule(MatMulOp)(attention)
        apply_rules(op, table)
