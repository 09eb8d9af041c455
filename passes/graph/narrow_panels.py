"""Panels of weights of a few bits, as kernels read them."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from xdsl.ir import SSAValue

from ...glow_dialects.elements import WORD
from ...glow_dialects.glow.narrow_weights import BlockQuantizedMatMulOp
from ...glow_dialects.glow.shape import PadOp
from ...glow_dialects.glow_cpu.narrow_weights import (
    WORD_BITS,
    PackedBlockQuantizedMatMulOp,
)
from ...glow_dialects.operator import element_of, shape_of
from ...semantics.arrays import constant_reader, lazy_constant
from .rewriting import Build

_WORD_BYTES = WORD_BITS // 8


def in_panels(columns: np.ndarray, width: int) -> np.ndarray:
    """
    Returns columns [N, ...] as panels [ceil(N / width), ..., width], with zeros at the end.
    """
    count = -(-len(columns) // width)
    result = np.zeros((count * width, *columns.shape[1:]), columns.dtype)
    result[: len(columns)] = columns
    return np.moveaxis(result.reshape(count, width, *columns.shape[1:]), 1, -1)


def words_of(packed: np.ndarray) -> np.ndarray:
    """Returns bytes [..., n] as words of 32 bits, the first byte in the lowest bits."""
    return np.ascontiguousarray(packed).view("<u4").astype(np.uint32, copy=False)


def packed_product(node: BlockQuantizedMatMulOp, build: Build, width: int) -> SSAValue | None:
    """
    Returns a product with constant weights as one with panels of `width` columns; None if they are
    not constant, or a block is no whole number of words.
    """
    _, weights, scales, zeros = node.operands
    readers = [constant_reader(v) for v in (weights, scales, zeros)]
    columns, blocks, size = shape_of(weights.type)
    if None in readers or size % _WORD_BYTES or not columns:
        return None
    panels = -(-columns // width)

    def constant(
        value: SSAValue, read: Callable[[], np.ndarray], shape: list[int], words: bool = False
    ) -> SSAValue:
        def compute() -> np.ndarray:
            return in_panels(words_of(read()) if words else read(), width)

        element = WORD if words else element_of(value.type)
        return build.add(lazy_constant(shape, element, value.name_hint or "weights", compute))

    read_weights, read_scales, read_zeros = (r for r in readers if r is not None)
    shape = [panels, blocks, size // _WORD_BYTES, width]
    words = constant(weights, read_weights, shape, words=True)
    factors = constant(scales, read_scales, [panels, blocks, width])
    if shape_of(zeros.type) == (1, 1):
        offsets = build.reshape(zeros, [1, 1, 1])
    else:
        offsets = constant(zeros, read_zeros, [panels, blocks, width])
    bits, input_bits = node.bits.value.data, node.input_bits.value.data
    operands = (_whole_blocks(node, build), words, factors, offsets)
    return build(
        PackedBlockQuantizedMatMulOp, *operands, columns=columns, bits=bits, input_bits=input_bits
    )


def _whole_blocks(node: BlockQuantizedMatMulOp, build: Build) -> SSAValue:
    """Returns the input with zeros up to the end of the last block of weights."""
    *outer, inner = shape_of(node.input.type)
    missing = shape_of(node.weights.type)[1] * node.block(node.call) - inner
    if not missing:
        return node.input
    return build(PadOp, node.input, high=[*[0] * len(outer), missing], value=0.0)
