"""Operators with weights as products of blocks of channels, with their bias."""

from __future__ import annotations

import numpy as np
from xdsl.ir import Operation, SSAValue

from ...glow_dialects.glow.convolution import ConvolutionOp
from ...glow_dialects.glow.matrix import FullyConnectedOp, MatMulOp
from ...glow_dialects.glow_inst.instruction import OperatorInstruction
from ...glow_dialects.operator import Call, shape_of
from ...glow_dialects.vta import AluOpcode
from ...glow_dialects.vta.grid import Window
from .buffers import image_shape, unsupported
from .builder import Builder, product
from .epilogue import Chain
from .products import Weighted


def windows(op: OperatorInstruction, kernel: tuple[int, ...]) -> tuple[Window, Window]:
    """
    Returns the windows of a convolution or pooling over rows and columns, or over columns alone.
    """
    strides, dilations, pads = (op.call.ints(name) for name in ("strides", "dilations", "pads"))
    found = [Window(*places) for places in zip(kernel, strides, dilations, pads, strict=False)]
    if len(found) > 2:
        unsupported(op, "it has more than two spatial dimensions")
    rows, columns = [Window()] * (2 - len(found)) + found
    return rows, columns


def _weights(build: Builder, op: Operation, view: SSAValue) -> np.ndarray:
    array = build.buffers.constant(view)
    if array is None or array.dtype != np.int8:
        unsupported(
            op, f"its weights are not constants of 8-bit integers with sign, but {view.type}"
        )
    return array


def _biased(build: Builder, op: Operation, chain: Chain, view: SSAValue) -> Chain:
    array = build.buffers.constant(view)
    if array is None:
        unsupported(op, "its bias is not a constant")
    return chain.then(AluOpcode.ADD, array.astype(np.int64))


@product(ConvolutionOp)
def convolution(build: Builder, op: OperatorInstruction) -> Chain:
    view, filter, bias = op.sources
    weights = _weights(build, op, filter)
    rows, columns = windows(op, weights.shape[2:])
    if weights.ndim == 3:
        weights = weights[:, :, None]
    source = build.source(view, op)
    if image_shape(view) != source.shape:
        unsupported(op, f"it reads its operand in another order, as {view.type}")
    uniform = weights.shape[1] == 1 and bool((weights == weights[:, :, :1, :1]).all())
    if uniform:
        weights = weights[:, :, :1, :1]
    weighted = Weighted(build.name, source, weights, rows, columns, op.call.int("group"), uniform)
    return _biased(build, op, build.product(weighted), bias)


@product(FullyConnectedOp)
def fully_connected(build: Builder, op: OperatorInstruction) -> Chain:
    view, weights, bias = op.sources
    return _biased(build, op, _matrix(build, op, view, _weights(build, op, weights)), bias)


@product(MatMulOp)
def matmul(build: Builder, op: OperatorInstruction) -> Chain:
    view, other = op.sources
    call: Call = op.call
    if len(shape_of(op.dests[0].type)) != 2 or call.get("transpose_lhs"):
        unsupported(op, "it is not the product of a matrix, as it is, by a constant one")
    weights = _weights(build, op, other)
    return _matrix(build, op, view, weights if call.get("transpose_rhs") else weights.T)


def _matrix(build: Builder, op: OperatorInstruction, view: SSAValue, weights: np.ndarray) -> Chain:
    """
    Returns a product by the transpose of int8[O, K]; of flattened images, a convolution of them.
    """
    source, seen = build.source(view, op), image_shape(view)
    if seen is None or seen[0] != source.shape[0]:
        unsupported(op, f"it reads its operand in another order, as {view.type}")
    _, channels, height, width = source.shape
    kernel = weights.reshape(len(weights), channels, height, width)
    weighted = Weighted(build.name, source, kernel, Window(height), Window(width))
    return build.product(weighted)
