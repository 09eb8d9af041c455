"""
Stores activations as u8 that are stored as i8, with zero points 128 higher.

The instructions of x86 that multiply 8-bit integers take one unsigned and one signed operand
(`vpdpbusd`); weights are the signed one. Every number keeps its meaning, so results are exactly the
same.

The pass changes the results of quantization with one scale, and the results of nodes that only move
them. Where other nodes need i8 (results of the network, say), or a dequantized value comes from
elsewhere as i8, a dequantization and quantization convert between the two. Constants stay.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, i8
from xdsl.ir import SSAValue
from xdsl.passes import ModulePass

from ...glow_dialects.glow.base import Node
from ...glow_dialects.glow.constant import ConstantOp, SplatOp
from ...glow_dialects.glow.pooling import MaxPoolOp
from ...glow_dialects.glow.quantization import DequantizeOp, QuantizeOp
from ...glow_dialects.glow.shape import ConcatOp, PadOp, ReshapeOp, SliceOp, TransposeOp
from ...glow_dialects.integers import u8
from ...glow_dialects.operator import element_of, shape_of, with_shape
from ...glow_dialects.python_values import Python, to_python
from ...glow_dialects.quant import QuantizedType
from ..levels import GRAPH
from .integers.grids import bounds, dequantize, per_tensor, quantize, scale_of, zero_of
from .rewriting import Build, erase_if_dead, tensor_nodes

_HALF = 128
_MOVING = (ReshapeOp, TransposeOp, SliceOp, ConcatOp, PadOp, MaxPoolOp)


def signed_type(value: SSAValue) -> QuantizedType | None:
    """Returns the type of an activation that is stored as i8, with one scale."""
    q = per_tensor(value.type)
    if q is None or q.storage != i8 or isinstance(value.owner, ConstantOp | SplatOp):
        return None
    return q


def unsigned(q: QuantizedType) -> QuantizedType:
    """Returns the type of the same numbers, stored as u8."""
    low, high = bounds(q)
    limits = (low + _HALF, high + _HALF)
    return QuantizedType(u8, q.expressed, scale_of(q), zero_of(q) + _HALF, None, limits)


class Unsigned:
    """The counterparts of the values of one module that are stored as u8."""

    def __init__(self) -> None:
        self.values: dict[SSAValue, SSAValue] = {}

    def of(self, value: SSAValue, q: QuantizedType, user: Node) -> SSAValue:
        """
        Returns the counterpart of an i8 value of type `q` for `user`; converted there, if need be.
        """
        if value in self.values:
            return self.values[value]
        build = Build()
        result = quantize(build, dequantize(build, value), unsigned(q))
        put_before(user, build)
        return result

    def visit(self, node: Node) -> None:
        """Makes the counterpart of a node's result, or lets it use that of its operand."""
        q = signed_type(node.results[0])
        if isinstance(node, DequantizeOp) and (source := signed_type(node.input)) is not None:
            if not _is_only_converted(node, unsigned(source)):
                node.operands[0] = self.of(node.input, source, node)
        elif isinstance(node, QuantizeOp) and q is not None:
            u = unsigned(q)
            self.values[node.result] = _stored_as(node.input, u) or _quantized_before(node, u)
        elif isinstance(node, _MOVING) and q is not None:
            self._move(node, q)

    def _move(self, node: Node, q: QuantizedType) -> None:
        operands = [self.of(operand, q, node) for operand in node.operands]
        properties: dict[str, Python] = {**node.properties}
        if isinstance(node, PadOp):
            properties["value"] = float(to_python(node.value) + _HALF)
        result = with_shape(unsigned(q), shape_of(node.results[0].type))
        build = Build()
        self.values[node.results[0]] = build(
            type(node), *operands, result_types=[result], **properties
        )
        put_before(node, build)

    def finish(self) -> None:
        """Gives the other users i8 made from u8, and erases the nodes that were replaced."""
        for old, new in reversed(self.values.items()):
            node, q = old.owner, per_tensor(old.type)
            assert isinstance(node, Node)
            assert q is not None
            if old.first_use is not None:
                build = Build()
                old.replace_all_uses_with(quantize(build, dequantize(build, new), q))
                put_before(node, build)
            erase_if_dead([old])


def _stored_as(value: SSAValue, q: QuantizedType) -> SSAValue | None:
    """Returns the value of type `q` that real numbers are those of, if there is one."""
    made_by = value.owner
    if isinstance(made_by, DequantizeOp) and element_of(made_by.input.type) == q:
        return made_by.input
    return None


def _quantized_before(node: QuantizeOp, q: QuantizedType) -> SSAValue:
    """Returns what `node` quantizes as a value of type `q`."""
    build = Build()
    result = quantize(build, node.input, q)
    put_before(node, build)
    return result


def _is_only_converted(node: DequantizeOp, to: QuantizedType) -> bool:
    """Returns whether all that a dequantized value is for is its counterpart, as `of` makes it."""
    users = [use.operation for use in node.result.uses]
    return bool(users) and all(
        isinstance(user, QuantizeOp) and element_of(user.result.type) == to for user in users
    )


def put_before(node: Node, build: Build) -> None:
    assert node.parent is not None
    for new in build.ops:
        new.location = node.location
    node.parent.insert_ops_before(build.ops, node)


@dataclass(frozen=True)
class ActivationsToU8Pass(ModulePass):
    """Stores activations as u8 that are stored as i8."""

    name = "glow-activations-to-u8"
    level = GRAPH

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        counterparts = Unsigned()
        for node in tensor_nodes(op):
            counterparts.visit(node)
        counterparts.finish()
