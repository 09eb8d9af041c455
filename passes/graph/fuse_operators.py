"""
Recognises operators that frontends have decomposed: GELU, layer and RMS normalisation, and matrix
products that are stated as formulas.

- `x * (1 + erf(x / sqrt(2))) / 2`, its factors in any order, is a GELU.
- `x * (1 + tanh(u)) / 2`, as in the approximation of a GELU, is `x * sigmoid(2 * u)`.
- `d / sqrt(mean(d**2) + epsilon)`, the mean along the last dimensions, is an RMS normalisation of
  `d`, or a layer normalisation of `x` if `d = x - mean(x)`.
- `sum(t) a[i, t] * b[t, j]` of `glow.generic` is a matrix product, in any order of dimensions that
  needs no transpose of what is not constant (`formula_products.py`).
- A product and a sum with one number for each element of a row, after a normalisation without
  scale or bias, become its scale and bias.
- A group normalisation between two reshapes, of which the second undoes the first, normalises the
  groups of the channels before them. PyTorch exports its own so, as an instance normalisation.
- A product and a sum with one number for each channel, after a group normalisation, become a part
  of its scale and bias.

Other users of a value in between still get it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import isclose, sqrt

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, bf16, f16, f32
from xdsl.ir import Attribute, SSAValue
from xdsl.passes import ModulePass

from ...glow_dialects.elements import is_float
from ...glow_dialects.glow.activation import ErfOp, GeluOp, SigmoidOp, TanhOp
from ...glow_dialects.glow.arithmetic import AddOp, DivOp, MulOp, PowOp, ReciprocalOp, SqrtOp, SubOp
from ...glow_dialects.glow.generic import GenericOp
from ...glow_dialects.glow.normalization import GroupNormOp, LayerNormOp, RmsNormOp
from ...glow_dialects.glow.reduction import ReduceMeanOp
from ...glow_dialects.glow.shape import BroadcastOp, ReshapeOp
from ...glow_dialects.operator import element_of, shape_of, with_shape
from ..levels import GRAPH
from .formula_products import matrix_product
from .rewriting import Build, RuleTable, apply_rules, defining_op, splat_value

FUSIONS = RuleTable()
_PRECISION = 1e-6
"""
The largest relative deviation of a number from the one it approximates: frontends round to f32.
"""
_ROUNDING: dict[Attribute, float] = {f16: 2.0**-11, bf16: 2.0**-8}
"""That of numbers of 16 bits, which are rounded to their type."""


def _either_way(node: AddOp | MulOp) -> Iterator[tuple[SSAValue, SSAValue]]:
    yield node.lhs, node.rhs
    yield node.rhs, node.lhs


def _near(value: float | None, target: float, element: Attribute = f32) -> bool:
    tolerance = _ROUNDING.get(element, _PRECISION)
    return value is not None and isclose(value, target, rel_tol=tolerance)


# GELU


@FUSIONS.rule(MulOp, DivOp)
def gelu(node: MulOp | DivOp, build: Build) -> SSAValue | None:
    """Returns a product of `x`, a half, and `1 + erf(x / sqrt(2))` or `1 + tanh(u)`."""
    factors, number = _factors(node)
    if len(factors) != 2 or not _near(number, 0.5) or not is_float(element_of(node.result.type)):
        return None
    for x, other in (factors, factors[::-1]):
        function = _function_plus_one(other)
        if isinstance(function, ErfOp) and _is_scaled(function.input, x, sqrt(0.5)):
            return build(GeluOp, x)
        if isinstance(function, TanhOp) and other.has_one_use() and function.result.has_one_use():
            return build(MulOp, x, build(SigmoidOp, _twice(function.input, build)))
    return None


def _factors(node: MulOp | DivOp) -> tuple[list[SSAValue], float]:
    """
    Returns the factors of nested products and quotients, and the product of those that are numbers.
    """
    factors: list[SSAValue] = []
    number = 1.0
    pending: list[SSAValue] = [node.result]
    while pending and len(factors) <= 2:
        value = pending.pop()
        owner = value.owner
        inner = owner is node or value.has_one_use()
        constant = splat_value(value)
        if constant is not None:
            number *= constant
        elif isinstance(owner, MulOp) and inner:
            pending += owner.operands
        elif isinstance(owner, DivOp) and inner and (divisor := splat_value(owner.rhs)):
            number /= divisor
            pending.append(owner.lhs)
        else:
            factors.append(value)
    return factors, number


def _function_plus_one(value: SSAValue) -> ErfOp | TanhOp | None:
    """Returns the function of `1 + f(u)`."""
    add = defining_op(value, AddOp)
    for one, other in () if add is None else _either_way(add):
        if isinstance(other.owner, ErfOp | TanhOp) and splat_value(one) == 1:
            return other.owner
    return None


def _twice(value: SSAValue, build: Build) -> SSAValue:
    """Returns `value * 2`; a number that it is a product with is doubled."""
    product = defining_op(value, MulOp)
    for factor, other in () if product is None else _either_way(product):
        number = splat_value(factor)
        if number is not None:
            return build(MulOp, other, build.splat(2 * number, value.type))
    return build(AddOp, value, value)


def _is_scaled(value: SSAValue, x: SSAValue, factor: float) -> bool:
    """Returns whether `value` is `x * factor`."""
    owner, element = value.owner, element_of(value.type)
    if isinstance(owner, DivOp):
        return owner.lhs is x and _near(splat_value(owner.rhs), 1 / factor, element)
    if isinstance(owner, MulOp):
        return any(a is x and _near(splat_value(b), factor, element) for a, b in _either_way(owner))
    return False


FUSIONS.rule(GenericOp)(matrix_product)


# normalisation


@FUSIONS.rule(DivOp)
def quotient(node: DivOp, build: Build) -> SSAValue | None:
    """Returns `d / sqrt(mean(d**2) + epsilon)`."""
    root = _repeated(node.rhs)
    return None if root is None else _normalized(node.lhs, defining_op(root, SqrtOp), build)


@FUSIONS.rule(MulOp)
def product_with_inverse(node: MulOp, build: Build) -> SSAValue | None:
    """Returns `d * (1 / sqrt(mean(d**2) + epsilon))`."""
    for centred, other in _either_way(node):
        inverse = _repeated(other)
        root = None if inverse is None else _inverse_of(inverse)
        if root is not None:
            return _normalized(centred, defining_op(root, SqrtOp), build)
    return None


def _inverse_of(value: SSAValue) -> SSAValue | None:
    """Returns `x` if `value` is `1 / x`."""
    owner = value.owner
    if isinstance(owner, ReciprocalOp):
        return owner.input
    if isinstance(owner, DivOp) and splat_value(owner.lhs) == 1:
        return owner.rhs
    return None


def _repeated(value: SSAValue) -> SSAValue | None:
    """Returns the tensor that `value` repeats along some dimensions."""
    broadcast = defining_op(value, BroadcastOp)
    return None if broadcast is None else broadcast.input


def _normalized(x: SSAValue, root: SqrtOp | None, build: Build) -> SSAValue | None:
    """Returns `x / root` as a normalisation without scale and bias, if it is one."""
    add = None if root is None else defining_op(root.input, AddOp)
    if add is None or not is_float(element_of(x.type)):
        return None
    for mean, other in _either_way(add):
        epsilon, square = splat_value(other), _mean_of_rows(mean)
        if epsilon is None or square is None or not _is_square(square.input, x):
            continue
        axis = min(square.call.ints("axes"))
        row = with_shape(element_of(x.type), shape_of(x.type)[axis:])
        ones = build.splat(1.0, row)
        source = _centred(x, axis)
        if source is None:
            return build(RmsNormOp, x, ones, axis=axis, epsilon=float(epsilon))
        zeros = build.splat(0.0, row)
        return build(LayerNormOp, source, ones, zeros, axis=axis, epsilon=float(epsilon))
    return None


def _mean_of_rows(value: SSAValue) -> ReduceMeanOp | None:
    """Returns a mean along the last dimensions, which stay as ones."""
    mean = defining_op(value, ReduceMeanOp)
    if mean is None or not mean.keep_dims.value.data:
        return None
    axes, rank = mean.call.ints("axes"), len(shape_of(mean.input.type))
    last = tuple(range(rank - len(axes), rank))
    return mean if axes and tuple(sorted(axes)) == last else None


def _is_square(value: SSAValue, x: SSAValue) -> bool:
    owner = value.owner
    if isinstance(owner, PowOp):
        return owner.lhs is x and splat_value(owner.rhs) == 2
    return isinstance(owner, MulOp) and owner.lhs is x and owner.rhs is x


def _centred(value: SSAValue, axis: int) -> SSAValue | None:
    """Returns `x` if `value` is `x - mean(x)`, the mean along the dimensions from `axis` on."""
    difference = defining_op(value, SubOp)
    repeated = None if difference is None else _repeated(difference.rhs)
    if difference is None or repeated is None:
        return None
    mean = _mean_of_rows(repeated)
    if mean is None or mean.input is not difference.lhs or min(mean.call.ints("axes")) != axis:
        return None
    return difference.lhs


@FUSIONS.rule(MulOp)
def scale(node: MulOp, build: Build) -> SSAValue | None:
    """Returns a normalisation without scale, times one number for each element of a row."""
    for value, other in _either_way(node):
        norm = value.owner
        if not isinstance(norm, LayerNormOp | RmsNormOp) or not value.has_one_use():
            continue
        rest = norm.operands[2:]
        if splat_value(norm.scale) != 1 or any(splat_value(b) != 0 for b in rest):
            continue
        row = _row(other, shape_of(norm.scale.type), build)
        if row is not None:
            return build.like(norm, norm.input, row, *rest)
    return None


@FUSIONS.rule(AddOp)
def bias(node: AddOp, build: Build) -> SSAValue | None:
    """Returns a layer normalisation without bias, plus one number for each element of a row."""
    for value, other in _either_way(node):
        norm = defining_op(value, LayerNormOp)
        if norm is None or not value.has_one_use() or splat_value(norm.bias) != 0:
            continue
        row = _row(other, shape_of(norm.bias.type), build)
        if row is not None:
            return build.like(norm, norm.input, norm.scale, row)
    return None


def _row(value: SSAValue, row: tuple[int, ...], build: Build) -> SSAValue | None:
    """Returns the row that `value` repeats in all rows, if it does."""
    source = _repeated(value)
    if source is None:
        return None
    shape = shape_of(source.type)
    extra = max(0, len(shape) - len(row))
    if any(size != 1 for size in shape[:extra]):
        return None
    return build.broadcast(build.reshape(source, shape[extra:]), row)


# group normalisation


@FUSIONS.rule(ReshapeOp)
def groups_of_channels(node: ReshapeOp, build: Build) -> SSAValue | None:
    """Returns a normalisation of `x`, if `node` undoes what a reshape of `x` does before one."""
    norm = defining_op(node.input, GroupNormOp)
    before = None if norm is None else defining_op(norm.input, ReshapeOp)
    if norm is None or before is None or not node.input.has_one_use():
        return None
    shape, inner = shape_of(before.input.type), shape_of(before.result.type)
    groups = norm.groups.value.data
    if len(shape) < 2 or shape != shape_of(node.result.type) or shape[0] != inner[0]:
        return None
    if 0 in shape or shape[1] % inner[1]:
        return None
    scale, bias = (_repeat_each(v, shape[1], build) for v in (norm.scale, norm.bias))
    return build(
        GroupNormOp, before.input, scale, bias, groups=groups, epsilon=norm.epsilon.value.data
    )


def _repeat_each(value: SSAValue, count: int, build: Build) -> SSAValue:
    """Returns `count` numbers: each of `value` [K] so often, one after the other."""
    (size,) = shape_of(value.type)
    number = splat_value(value)
    if number is not None:
        return build.splat(number, with_shape(element_of(value.type), [count]))
    columns = build.broadcast(build.reshape(value, [size, 1]), [size, count // size])
    return build.reshape(columns, [count])


@FUSIONS.rule(MulOp)
def scale_of_channels(node: MulOp, build: Build) -> SSAValue | None:
    """Returns a group normalisation times one number for each channel."""
    found = _group_norm_and_numbers(node, build)
    if found is None:
        return None
    norm, factor = found
    scale = factor if splat_value(norm.scale) == 1 else build(MulOp, norm.scale, factor)
    bias = norm.bias if splat_value(norm.bias) == 0 else build(MulOp, norm.bias, factor)
    return build.like(norm, norm.input, scale, bias)


@FUSIONS.rule(AddOp)
def bias_of_channels(node: AddOp, build: Build) -> SSAValue | None:
    """Returns a group normalisation plus one number for each channel."""
    found = _group_norm_and_numbers(node, build)
    if found is None:
        return None
    norm, term = found
    bias = term if splat_value(norm.bias) == 0 else build(AddOp, norm.bias, term)
    return build.like(norm, norm.input, norm.scale, bias)


def _group_norm_and_numbers(
    node: AddOp | MulOp, build: Build
) -> tuple[GroupNormOp, SSAValue] | None:
    """
    Returns the operands of a node, if one is a group normalisation and the other a number for each
    channel, which is returned as such.
    """
    for value, other in _either_way(node):
        norm = defining_op(value, GroupNormOp)
        if norm is not None and value.has_one_use():
            numbers = _by_channel(other, build)
            if numbers is not None:
                return norm, numbers
    return None


def _by_channel(value: SSAValue, build: Build) -> SSAValue | None:
    """Returns the number of each channel, if `value` repeats it along all other dimensions."""
    source = _repeated(value)
    if source is None:
        return None
    rank, channels = len(shape_of(value.type)), shape_of(value.type)[1]
    shape = shape_of(source.type)
    aligned = [1] * (rank - len(shape)) + list(shape)
    if aligned != [1, channels] + [1] * (rank - 2):
        return None
    return build.reshape(source, [channels])


@dataclass(frozen=True)
class FuseOperatorsPass(ModulePass):
    """Makes one node of operators that frontends have decomposed."""

    name = "glow-fuse-operators"
    level = GRAPH

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        apply_rules(op, FUSIONS)
