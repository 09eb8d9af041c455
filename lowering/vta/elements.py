"""The computation of each node in the body of an instruction in accumulators."""

from __future__ import annotations

import numpy as np
from xdsl.dialects.builtin import IntegerType

from ...errors import CompileError
from ...glow_dialects.glow.activation import ClipOp, ReluOp
from ...glow_dialects.glow.arithmetic import AddOp, MaximumOp, MinimumOp, MulOp, SubOp
from ...glow_dialects.glow.base import Node
from ...glow_dialects.glow.elementwise import Binary
from ...glow_dialects.glow.logic import CastOp
from ...glow_dialects.glow.quantization import RescaleOp, StorageCastOp
from ...glow_dialects.operator import element_of
from ...glow_dialects.python_values import to_python
from ...glow_dialects.quant import QuantizedType
from ...glow_dialects.vta import AluOpcode
from .buffers import unsupported
from .builder import Builder, element
from .epilogue import Chain, paired, rescaled

_OPCODES: dict[type[Node], AluOpcode] = {
    AddOp: AluOpcode.ADD,
    MulOp: AluOpcode.MUL,
    MaximumOp: AluOpcode.MAX,
    MinimumOp: AluOpcode.MIN,
}


@element(AddOp, MulOp, MaximumOp, MinimumOp)
def combine(build: Builder, node: Binary) -> Chain:
    """Returns two numbers, or one and a constant."""
    opcode = _OPCODES[type(node)]
    for value, other in ((node.lhs, node.rhs), (node.rhs, node.lhs)):
        number = build.numbers(other)
        if number is not None:
            return build.element(value).then(opcode, number)
    return paired(opcode, build.element(node.lhs), build.element(node.rhs))


@element(SubOp)
def subtract(build: Builder, node: SubOp) -> Chain:
    number = build.numbers(node.rhs)
    if number is not None:
        return build.element(node.lhs).then(AluOpcode.ADD, -number)
    negative = build.element(node.rhs).then(AluOpcode.MUL, -1)
    number = build.numbers(node.lhs)
    if number is not None:
        return negative.then(AluOpcode.ADD, number)
    return paired(AluOpcode.ADD, build.element(node.lhs), negative)


@element(ReluOp)
def relu(build: Builder, node: ReluOp) -> Chain:
    return build.element(node.operands[0]).then(AluOpcode.MAX, 0)


@element(ClipOp)
def clip(build: Builder, node: ClipOp) -> Chain:
    chain = build.element(node.operands[0])
    if node.min is not None:
        chain = chain.then(AluOpcode.MAX, int(np.ceil(to_python(node.min))))
    if node.max is not None:
        chain = chain.then(AluOpcode.MIN, int(np.floor(to_python(node.max))))
    return chain


@element(StorageCastOp)
def storage_cast(build: Builder, node: StorageCastOp) -> Chain:
    """Returns the same bits."""
    return build.element(node.operands[0])


@element(CastOp)
def cast(build: Builder, node: CastOp) -> Chain:
    """Returns a cast between integers, if the numbers fit."""
    chain, result = build.element(node.input), element_of(node.result.type)
    if not isinstance(result, IntegerType):
        unsupported(node, f"its result is {result}")
    limit = 1 << (result.width.data - 1)
    if chain.bounds[0] < -limit or chain.bounds[1] >= limit:
        unsupported(
            node, f"numbers from {chain.bounds[0]} to {chain.bounds[1]} do not fit {result}"
        )
    return chain


@element(RescaleOp)
def rescale(build: Builder, node: RescaleOp) -> Chain:
    multiplier, shift = build.numbers(node.multiplier), build.numbers(node.shift)
    if multiplier is None or shift is None:
        unsupported(node, "multiplier and shift are not constants, of one number for each channel")
    chain, source = build.element(node.input), element_of(node.input.type)
    if isinstance(source, QuantizedType):
        chain = chain.then(AluOpcode.ADD, -source.zero_point_values()[0])
    result = element_of(node.result.type)
    assert isinstance(result, QuantizedType)
    limits = result.storage_min.data, result.storage_max.data
    try:
        return rescaled(chain, multiplier, shift, limits, result.zero_point_values()[0])
    except CompileError as e:
        unsupported(node, str(e))
