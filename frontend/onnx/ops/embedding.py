"""
Sums of rows of embedding tables, as Glow, Caffe2 and PyTorch export them.

The operators of Caffe2 are defined in its operator catalog; those of the domain ai.glow have the
names and inputs of Glow's nodes. PyTorch exports `embedding_bag` as an ATen operator.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from xdsl.dialects.builtin import f32
from xdsl.ir import SSAValue

from ....errors import ModelError
from ....glow_dialects.glow.activation import ClipOp
from ....glow_dialects.glow.arithmetic import DivOp, SubOp
from ....glow_dialects.glow.embedding import EmbeddingBagOp, FusedEmbeddingBagOp
from ....glow_dialects.glow.indexing import CumSumOp
from ..builder import GraphBuilder, element, rank, shape
from ..node import ATEN, CAFFE2, GLOW, OnnxNode, converter
from ..problems import Unsupported
from .indices import expect_range, whole_indices


@dataclass(frozen=True)
class _Sum:
    """A kind of sum: where its weights are, and the bits of numbers in fused rows; 0 for floats."""

    weighted: bool = False
    bits: int = 0
    half: bool = False
    """Whether fused rows have a scale and an offset of 16 bits."""


_SUMS: Mapping[str, _Sum] = {
    "SparseLengthsSum": _Sum(),
    "SparseLengthsWeightedSum": _Sum(weighted=True),
    "SparseLengthsSumFused8BitRowwise": _Sum(bits=8),
    "SparseLengthsWeightedSumFused8BitRowwise": _Sum(weighted=True, bits=8),
    "SparseLengthsSumFused4BitRowwise": _Sum(bits=4, half=True),
    "SparseLengthsWeightedSumFused4BitRowwise": _Sum(weighted=True, bits=4, half=True),
    "FusedRowwiseQuantizedSparseLengthsSum": _Sum(bits=8),
    "FusedRowwiseQuantizedSparseLengthsWeightedSum": _Sum(weighted=True, bits=8),
}
"""Inputs are data, weights if there are any, indices, and the lengths of bags."""


@converter(*_SUMS, domain=CAFFE2)
@converter(*_SUMS, domain=GLOW)
def sparse_lengths_sum(node: OnnxNode) -> SSAValue:
    """
    Converts sums of as many rows as each length says. Attributes `bits` and `half` give formats of
    fused rows that the name does not say.
    """
    kind = _SUMS[node.proto.op_type]
    weights = 1 if kind.weighted else None
    at = 2 if kind.weighted else 1
    bags = _bags_of_lengths(node, at + 1, at)
    if not kind.bits:
        return _sum(node, node.input(0), at, weights, bags)
    bits, half = node.attr("bits", kind.bits), bool(node.attr("half", kind.half))
    return _fused_sum(node, node.input(0), at, weights, bags, bits, half)


@converter("RowwiseQuantizedSparseLengthsWeightedSum", domain=GLOW)
def rowwise_quantized_sum(node: OnnxNode) -> SSAValue:
    """Converts sums of rows of bytes with a scale and an offset each, which become fused rows."""
    data, scales, offsets = (node.known(i) for i in range(3))
    assert data is not None
    assert scales is not None
    assert offsets is not None
    if data.dtype != np.uint8 or len(scales) != len(data) or len(offsets) != len(data):
        raise ModelError("expected rows of bytes with a scale and an offset each")
    scales = scales.astype(np.float32)
    ends = np.stack([scales, -scales * offsets.astype(np.float32)], 1)
    fused = node.build.constant(np.concatenate([data, ends.view(np.uint8)], 1))
    return _fused_sum(node, fused, 4, 3, _bags_of_lengths(node, 5, 4), 8, False)


@converter("EmbeddingBag", domain=GLOW)
def embedding_bag(node: OnnxNode) -> SSAValue:
    """Converts sums of rows times weights, in bags that begin at offsets."""
    starts = _starts(node, 3, 2, bool(node.attr("has_end_offset", 0)))
    return _sum(node, node.input(0), 2, 1, _Bags(node.build, starts, shape(node.input(2))[0]))


@converter("ATen", domain=ATEN)
def aten(node: OnnxNode) -> SSAValue:
    """Converts `embedding_bag`: sums or means of rows, which may have weights."""
    operator, mode = node.attr("operator", ""), node.attr("mode", 0)
    if operator != "embedding_bag":
        raise Unsupported(f"operator {operator!r}")
    node.refuse_output(1, 2, 3)
    if mode not in (0, 1) or node.attr("padding_idx", -1) != -1:
        raise Unsupported("maxima of rows, or rows that do not count")
    starts = _starts(node, 2, 1, bool(node.attr("include_last_offset", 0)))
    weights = None if node.optional(3) is None else 3
    bags = _Bags(node.build, starts, shape(node.input(1))[0])
    total = _sum(node, node.input(0), 1, weights, bags)
    return total if mode == 0 else _divided(node.build, total, bags)


@dataclass(frozen=True)
class _Bags:
    """Bags of indices: the place at which each begins, and the number of indices."""

    build: GraphBuilder
    starts: SSAValue
    total: int

    @property
    def count(self) -> int:
        return shape(self.starts)[0]

    def offsets(self) -> SSAValue:
        """Returns where each bag begins, and where the last one ends."""
        end = self.build.constant(np.array([self.total], np.int64))
        return self.build.concat([self.starts, end], 0)


def _divided(build: GraphBuilder, total: SSAValue, bags: _Bags) -> SSAValue:
    """Returns sums divided by the number of their rows; an empty bag has the sum 0."""
    ends = build.slice(bags.offsets(), [1], [bags.count])
    sizes = build.op(ClipOp, build.op(SubOp, ends, bags.starts), min=1)
    divisor = build.reshape(build.cast(sizes, element(total)), [bags.count, 1])
    return build.elementwise(DivOp, total, divisor)


def _bags_of_lengths(node: OnnxNode, lengths: int, indices: int) -> _Bags:
    total = _total(node, indices)
    expect_range(node, lengths, [0], [total], total=total)
    wide = whole_indices(node, lengths)
    starts = node.build.op(CumSumOp, wide, axis=0, exclusive=True)
    return _Bags(node.build, starts, total)


def _starts(node: OnnxNode, offsets: int, indices: int, has_end: bool) -> SSAValue:
    """Returns the offsets of bags, which may be followed by the end of the last one."""
    total, value = _total(node, indices), whole_indices(node, offsets)
    count = shape(value)[0]
    if has_end and not count:
        raise ModelError("expected offsets with the end of the last bag, found none")
    low, high = [0] * count, [total] * count
    if count:
        high[0] = 0
    if has_end:
        low[-1] = total
    expect_range(node, offsets, low, high, ascending=True)
    return node.build.slice(value, [0], [count - has_end])


def _total(node: OnnxNode, indices: int) -> int:
    """Returns how many indices there are."""
    if rank(node.input(indices)) != 1:
        raise ModelError(f"expected a list of indices, found {node.input(indices).type}")
    return shape(node.input(indices))[0]


def _operands(
    node: OnnxNode, data: SSAValue, indices: int, weights: int | None, like: SSAValue | None
) -> list[SSAValue]:
    """Returns indices and weights; one weight of 1 if there are none."""
    expect_range(node, indices, [0], [shape(data)[0] - 1])
    wide, kind = whole_indices(node, indices), f32 if like is None else element(like)
    if weights is None:
        return [wide, node.build.splat(1.0, kind, [1])]
    return [wide, node.build.cast(node.input(weights), kind)]


def _sum(
    node: OnnxNode, data: SSAValue, indices: int, weights: int | None, bags: _Bags
) -> SSAValue:
    """Returns sums of rows; rows may have any number of dimensions."""
    count, *row = shape(data)
    flat = node.build.reshape(data, [count, int(np.prod(row))])
    chosen = _operands(node, data, indices, weights, data)
    total = node.build.op(EmbeddingBagOp, flat, *chosen, bags.offsets())
    return node.build.reshape(total, [bags.count, *row])


def _fused_sum(
    node: OnnxNode,
    data: SSAValue,
    indices: int,
    weights: int | None,
    bags: _Bags,
    bits: int,
    half: bool,
) -> SSAValue:
    """Returns sums of fused rows."""
    chosen = _operands(node, data, indices, weights, None)
    return node.build.op(
        FusedEmbeddingBagOp,
        *(data, *chosen, bags.offsets()),
        bits=bits,
        half=half,
    )
