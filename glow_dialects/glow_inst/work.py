"""The amount of work of an instruction, with which measured times are compared."""

from __future__ import annotations

from math import prod

from xdsl.dialects.builtin import MemRefType
from xdsl.ir import SSAValue

from ..elements import element_bytes, strides_of
from ..work import known_bytes, products_of
from .instruction import Instruction, OperatorInstruction


def flops_of(op: Instruction) -> int:
    """
    Returns the multiplications and additions of a convolution or matrix product, without its
    epilogue. Winograd convolutions count the ones that they do; other instructions count 0.
    """
    return 2 * products_of(op.call) if isinstance(op, OperatorInstruction) else 0


def moved_bytes(op: Instruction) -> int:
    """
    Returns the bytes that an instruction must read and write: all elements of its operands once,
    those that it reads and writes twice, and each element of a broadcast operand once. An operator
    that reads only part of an operand states itself what it moves.
    """
    if isinstance(op, OperatorInstruction) and (known := known_bytes(op.call)) is not None:
        return known
    found: dict[SSAValue, int] = {}
    for qualifier, value in op.qualified_operands():
        found[value] = _distinct_bytes(value) * (qualifier.reads + qualifier.writes)
    return sum(found.values())


def _distinct_bytes(value: SSAValue) -> int:
    t = value.type
    assert isinstance(t, MemRefType)
    strides = zip(t.get_shape(), strides_of(t), strict=True)
    return prod(size for size, stride in strides if stride or not size) * element_bytes(
        t.element_type
    )
