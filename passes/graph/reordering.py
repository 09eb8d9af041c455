"""
Nodes that compute the same in another order of dimensions.

A value is *moved* by a permutation `p` if it is there before a transpose by `p`: the value is that
transpose of the moved one.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from xdsl.ir import Attribute, SSAValue
from xdsl.utils.exceptions import VerifyException

from ...glow_dialects.formula.orders import order_of_result
from ...glow_dialects.formula.parser import parse
from ...glow_dialects.formula.rewriting import dimension_names
from ...glow_dialects.glow.base import Node
from ...glow_dialects.glow.constant import ConstantOp, SplatOp
from ...glow_dialects.glow.shape import BroadcastOp, ConcatOp, TransposeOp
from ...glow_dialects.glow.structured import Structured
from ...glow_dialects.operator import Call, element_of, shape_of, with_shape
from ...glow_dialects.python_values import to_attribute, to_python
from ...glow_dialects.syntax import PerDimension
from .permutations import Permutation, compose, inverse, is_identity, moves_only_ones, permuted
from .rewriting import Build, defining_op, ignores_places, is_constant


def transpose(build: Build, value: SSAValue, p: Permutation) -> SSAValue:
    """Returns `value` transposed; `value` itself if `p` changes nothing."""
    return value if is_identity(p) else build(TransposeOp, value, permutation=p)


def permutation_of(node: TransposeOp) -> Permutation:
    return tuple(node.permutation.get_values())


def moving_transpose(value: SSAValue) -> TransposeOp | None:
    """
    Returns the transpose that makes `value`, unless it is of a constant and vanishes at compile
    time.
    """
    found = defining_op(value, TransposeOp)
    return None if found is None or is_constant(found.input) else found


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


def moved_properties(node: Node, p: Permutation) -> Mapping[str, Attribute] | None:
    """
    Returns the properties with which a node computes its moved result from moved operands, all by
    the same permutation; None for an operator whose formula has to say it.
    """
    if isinstance(node, ConcatOp):
        return {"axis": to_attribute(p[node.axis.value.data])}
    return node.properties if ignores_places(node) else None


def can_reorder(operator: type[Node]) -> bool:
    """
    Returns whether the formula says all about the result, and the operator is not the one that
    moves.
    """
    return (
        issubclass(operator, Structured)
        and not operator.DECLARES_RESULT
        and operator is not TransposeOp
    )


def reorderings(
    node: Structured, orders: Mapping[int, Permutation]
) -> Iterator[tuple[Mapping[str, Attribute], Permutation]]:
    """
    Yields the properties with which a node reads moved operands, by number, and the permutation by
    which its result is moved then.
    """
    types = [
        with_shape(element_of(o.type), permuted(shape_of(o.type), inverse(orders[i])))
        if i in orders
        else o.type
        for i, o in enumerate(node.operands)
    ]
    for properties in _other_properties(node, orders):
        other = Call(type(node), tuple(types), (), properties)
        order = _order_of_result(node.call, other, orders)
        if order is not None:
            yield properties, order


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
