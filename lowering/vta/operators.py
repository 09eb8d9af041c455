"""How each operator on integers is computed in accumulators."""

from __future__ import annotations

import numpy as np
from xdsl.dialects.builtin import IntegerType
from xdsl.ir import SSAValue

from ...errors import CompileError
from ...glow_dialects.elements import storage_type
from ...glow_dialects.glow.activation import ClipOp, ReluOp
from ...glow_dialects.glow.arithmetic import AddOp, MaximumOp, MinimumOp, MulOp, SubOp
from ...glow_dialects.glow.base import Node
from ...glow_dialects.glow.convolution import ConvolutionOp
from ...glow_dialects.glow.elementwise import Binary
from ...glow_dialects.glow.logic import CastOp
from ...glow_dialects.glow.matrix import FullyConnectedOp, MatMulOp
from ...glow_dialects.glow.quantization import RescaleOp
from ...glow_dialects.glow.reduction import ReduceSumOp
from ...glow_dialects.glow.shape import PadOp, ReshapeOp
from ...glow_dialects.operator import element_of, shape_of, to_python
from ...glow_dialects.quant import QuantizedType
from ...glow_dialects.vta import AluOpcode
from ...passes.rewriting import maker, uniform
from ...semantics.arrays import constant_of
from .constants import channel_numbers
from .epilogue import Chain, paired, rescaled
from .layers import Window
from .memory_map import spatial_shape
from .network import Builder, inlined, same_place, unsupported, windows
from .products import Weighted
from .regions import Tensor

_OPCODES: dict[type[Node], AluOpcode] = {
    AddOp: AluOpcode.ADD,
    MulOp: AluOpcode.MUL,
    MaximumOp: AluOpcode.MAX,
    MinimumOp: AluOpcode.MIN,
}


@inlined(AddOp, MulOp, MaximumOp, MinimumOp)
def combine(build: Builder, node: Binary) -> Chain:
    """Two tensors, or one and a constant."""
    opcode = _OPCODES[type(node)]
    for value, other in ((node.lhs, node.rhs), (node.rhs, node.lhs)):
        number = channel_numbers(other)
        if number is not None:
            return build.chain(value).then(opcode, number)
    return paired(opcode, build.chain(node.lhs), build.chain(node.rhs))


@inlined(SubOp)
def subtract(build: Builder, node: SubOp) -> Chain:
    number = channel_numbers(node.rhs)
    if number is not None:
        return build.chain(node.lhs).then(AluOpcode.ADD, -number)
    negative = build.chain(node.rhs).then(AluOpcode.MUL, -1)
    number = channel_numbers(node.lhs)
    if number is not None:
        return negative.then(AluOpcode.ADD, number)
    return paired(AluOpcode.ADD, build.chain(node.lhs), negative)


@inlined(ReluOp)
def relu(build: Builder, node: ReluOp) -> Chain:
    return build.chain(node.operands[0]).then(AluOpcode.MAX, 0)


@inlined(ClipOp)
def clip(build: Builder, node: ClipOp) -> Chain:
    chain = build.chain(node.operands[0])
    if node.min is not None:
        chain = chain.then(AluOpcode.MAX, int(np.ceil(to_python(node.min))))
    if node.max is not None:
        chain = chain.then(AluOpcode.MIN, int(np.floor(to_python(node.max))))
    return chain


@inlined(CastOp)
def cast(build: Builder, node: CastOp) -> Chain:
    """Between integers, if the numbers fit."""
    chain, result = build.chain(node.input), element_of(node.result.type)
    if not isinstance(result, IntegerType):
        unsupported(node, f"its result is {result}")
    limit = 1 << (result.width.data - 1)
    if chain.bounds[0] < -limit or chain.bounds[1] >= limit:
        unsupported(
            node, f"numbers from {chain.bounds[0]} to {chain.bounds[1]} do not fit {result}"
        )
    return chain


@inlined(RescaleOp)
def rescale(build: Builder, node: RescaleOp) -> Chain:
    multiplier, shift = channel_numbers(node.multiplier), channel_numbers(node.shift)
    if multiplier is None or shift is None:
        unsupported(node, "multiplier and shift are not constants, of one number for each channel")
    chain, source = build.chain(node.input), element_of(node.input.type)
    if isinstance(source, QuantizedType):
        chain = chain.then(AluOpcode.ADD, -source.zero_point_values()[0])
    result = element_of(node.result.type)
    assert isinstance(result, QuantizedType)
    limits = result.storage_min.data, result.storage_max.data
    try:
        return rescaled(chain, multiplier, shift, limits, result.zero_point_values()[0])
    except CompileError as e:
        unsupported(node, str(e))


def _weights(node: Node, value: SSAValue) -> np.ndarray:
    array = constant_of(same_place(value))
    stored = storage_type(element_of(value.type))
    if array is None or array.dtype != np.int8:
        unsupported(
            node, f"its weights are not constants of 8-bit integers with sign, but {stored}"
        )
    return array


def _source(build: Builder, node: Node, value: SSAValue) -> Tensor:
    tensor = build.network.tensors.get(same_place(value))
    if tensor is None:
        unsupported(node, f"its operand is no tensor of 8-bit integers with sign, but {value.type}")
    return tensor


def _biased(node: Node, chain: Chain, bias: SSAValue) -> Chain:
    number = uniform(bias)
    found = constant_of(bias) if number is None else np.full(shape_of(bias.type), number, np.int64)
    if found is None:
        unsupported(node, "its bias is not a constant")
    return chain.then(AluOpcode.ADD, found.astype(np.int64))


@inlined(ConvolutionOp, product=True)
def convolution(build: Builder, node: ConvolutionOp) -> Chain:
    value, (low, high) = _unpadded(node.input)
    weights = _weights(node, node.filter)
    rows, columns = windows(node, weights.shape[2:])
    if weights.ndim == 3:
        weights = weights[:, :, None]
    source = _source(build, node, value)
    rows, columns = (
        w._replace(before=w.before + p) for w, p in zip((rows, columns), low, strict=True)
    )
    del high  # how far the output goes says the same
    uniform = weights.shape[1] == 1 and bool((weights == weights[:, :, :1, :1]).all())
    if uniform:
        weights = weights[:, :, :1, :1]
    group = to_python(node.group)
    weighted = Weighted(build.name, source, weights, rows, columns, group, uniform)
    return _biased(node, build.product(weighted), node.bias)


def _unpadded(value: SSAValue) -> tuple[SSAValue, tuple[list[int], list[int]]]:
    """What a product reads, and the zeros around it in front of and behind rows and columns."""
    pad = maker(same_place(value), PadOp)
    if pad is None or to_python(pad.value) != 0:
        return value, ([0, 0], [0, 0])
    low, high = list(pad.low.get_values()), list(pad.high.get_values())
    if any(low[:2]) or any(high[:2]) or min(low + high) < 0 or len(low) > 4:
        return value, ([0, 0], [0, 0])
    missing = [0] * (4 - len(low))
    return pad.input, (missing + low[2:], missing + high[2:])


@inlined(FullyConnectedOp, product=True)
def fully_connected(build: Builder, node: FullyConnectedOp) -> Chain:
    product = _matrix(build, node, node.input, _weights(node, node.weights))
    return _biased(node, product, node.bias)


@inlined(MatMulOp, product=True)
def matmul(build: Builder, node: MatMulOp) -> Chain:
    if len(shape_of(node.result.type)) != 2 or to_python(node.transpose_lhs):
        unsupported(node, "it is not the product of a matrix, as it is, by a constant one")
    weights = _weights(node, node.rhs)
    if not to_python(node.transpose_rhs):
        weights = weights.T
    return _matrix(build, node, node.lhs, weights)


def _matrix(build: Builder, node: Node, value: SSAValue, weights: np.ndarray) -> Chain:
    """A product by the transpose of int8[O, K]; of flattened images, a convolution of them."""
    rows = columns = Window()
    inner = maker(same_place(value), ReshapeOp)
    if inner is not None and len(shape_of(inner.input.type)) > 2:
        value, shape = inner.input, shape_of(inner.input.type)
        if shape[0] != shape_of(node.results[0].type)[0] or len(shape) > 4:
            unsupported(node, f"its operand is {inner.input.type} in another order")
        _, channels, height, width = spatial_shape(shape)
        rows, columns = Window(height), Window(width)
        weights = weights.reshape(len(weights), channels, height, width)
    weights = weights.reshape(*weights.shape, *[1] * (4 - weights.ndim))
    source = _source(build, node, value)
    return build.product(Weighted(build.name, source, weights, rows, columns))


@inlined(ReduceSumOp, product=True)
def reduce_sum(build: Builder, node: ReduceSumOp) -> Chain:
    """Over rows and columns: a product by one, for each channel apart."""
    shape, axes = shape_of(node.input.type), sorted(node.axes.get_values())
    if len(shape) not in (3, 4) or axes != list(range(2, len(shape))):
        unsupported(node, f"it sums over the dimensions {axes} of {list(shape)}")
    inner = maker(same_place(node.input), CastOp)
    source = _source(build, node, node.input if inner is None else inner.input)
    _, channels, height, width = spatial_shape(shape)
    ones = np.ones((channels, 1, 1, 1), np.int8)
    return build.product(
        Weighted(build.name, source, ones, Window(height), Window(width), channels, uniform=True)
    )
