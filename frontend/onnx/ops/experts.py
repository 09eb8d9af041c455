"""
Mixtures of experts, as onnxruntime defines them: layers of which each token takes a few.

The domain is com.microsoft; the definitions are those of onnxruntime's ContribOperators.md. Where
tokens are many, those of an expert stand together in blocks of rows, so that a block meets the
weights of one expert only (Gale et al. 2022, MegaBlocks).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import inf, prod
from typing import TypeAlias

import numpy as np
from xdsl.dialects.builtin import i64
from xdsl.ir import SSAValue

from ....errors import ModelError
from ....glow_dialects.glow.activation import ClipOp, GeluOp, ReluOp
from ....glow_dialects.glow.arithmetic import AddOp, DivOp, MulOp
from ....glow_dialects.glow.indexing import CumSumOp, GatherElementsOp, ScatterOp, TopIndicesOp
from ....glow_dialects.glow.normalization import SoftmaxOp
from ....glow_dialects.glow.reduction import ReduceSumOp
from ....glow_dialects.glow.shape import GatherOp
from ..builder import GraphBuilder, rank, shape
from ..node import CONTRIB, OnnxNode, converter
from ..problems import Unsupported
from .fused_operators import column_halves, swish

_MOST_ROWS = 16
"""The most rows of a block: with more, products of a block are hardly faster, and more rows of the
last block of an expert are of no token."""

_PRODUCT = """
    y[b, r, o] = sum(i) x[b, r, i] * w[clamp(expert[b], 0, size(w, 0) - 1), o, i]
"""
"""Blocks of rows times the weights of an expert for each block."""
_IS_EXPERT = "y[p, e] = 1 if expert[p] == e else 0"
"""Which expert each pair of a token and a choice names."""
_EXPERT_OF_BLOCK = "y[b] = sum(e) (1 if first[e] <= b else 0) - 1"
"""The last expert whose first block is not behind a block."""
_TOTAL = """
    y[t, o] = sum(j) share[t, j] * z[clamp(place[t, j], 0, size(z, 0) - 1), o]
"""
"""The results of the experts of a token, in their shares."""


@dataclass(frozen=True)
class _Blocks:
    """Rows of tokens in blocks of one expert each."""

    expert: SSAValue
    """The expert of each block [blocks]."""
    rows: SSAValue
    """The inputs of the experts [blocks, rows, width]; those of unused rows are any token's."""
    place: SSAValue
    """The row, counted over all blocks, of each choice of a token [tokens, choices]."""


Layer: TypeAlias = Callable[[SSAValue, SSAValue], SSAValue]
"""
A function that returns blocks of rows [blocks, rows, inputs], the second value, times the weights
of the experts [blocks] that are the first one.
"""


@dataclass(frozen=True)
class Layers:
    """The layers of experts; the third one multiplies the activations of the first."""

    experts: int
    first: Layer
    second: Layer
    third: Layer | None = None


@converter("MoE", domain=CONTRIB)
def mixture_of_experts(node: OnnxNode) -> SSAValue:
    """Converts two or three layers of `k` experts for each token, in shares that a router gives."""
    third = None if node.optional(6) is None else _layer(node, 6)
    layers = Layers(shape(node.input(2))[0], _layer(node, 2), _layer(node, 4), third)
    shares = node.build.op(SoftmaxOp, node.input(1), axis=1)
    normalized = bool(node.attr("normalize_routing_weights", 0))
    return mixture(node, layers, shares, shares, normalized)


def mixture(
    node: OnnxNode, layers: Layers, scores: SSAValue, shares: SSAValue, normalized: bool
) -> SSAValue:
    """
    Returns the sum of the results of the `k` experts of each token that have the largest scores
    [tokens, experts], each times its share [tokens, experts], or `normalized`, times its part of
    the sum of the shares of the `k` experts.
    """
    node.refuse_attribute("use_sparse_mixer", "swiglu_limit_after_activation")
    build, x = node.build, node.input(0)
    tokens, width = prod(shape(x)[:-1]), shape(x)[-1]
    experts, k = layers.experts, node.attr("k", 1)
    for each in (scores, shares):
        if shape(each) != (tokens, experts) or not 1 <= k <= experts:
            raise ModelError(
                f"expected scores of {tokens} tokens and {experts} experts, of which k={k} are "
                f"taken, found {each.type}"
            )
    chosen = build.op(TopIndicesOp, scores, axis=1, k=k)
    shares = build.op(GatherElementsOp, shares, chosen, axis=1)
    if normalized:
        total = build.op(ReduceSumOp, shares, axes=[1], keep_dims=True)
        shares = build.elementwise(DivOp, shares, total)
    blocks = _in_blocks(build, build.reshape(x, [tokens, width]), chosen, experts)
    results = layers.second(blocks.expert, _hidden(node, layers, blocks))
    count, rows, columns = shape(results)
    flat = build.reshape(results, [count * rows, columns])
    total = build.formula(_TOTAL, shares, flat, blocks.place, shape=[tokens, columns])
    return build.reshape(total, shape(x))


def _in_blocks(build: GraphBuilder, x: SSAValue, chosen: SSAValue, experts: int) -> _Blocks:
    """
    Returns the rows of tokens [tokens, width] in blocks for the experts [tokens, choices] that
    they take. An expert has as many blocks as its tokens fill, the last one in part.
    """
    (tokens, k), width = shape(chosen), shape(x)[1]
    pairs = tokens * k
    expert = build.reshape(chosen, [pairs])
    token = np.arange(pairs) // k
    rows = _rows_of_block(pairs, experts)
    if rows == 1:
        place = build.constant(np.arange(pairs).reshape(tokens, k))
        alone = build.op(GatherOp, x, build.constant(token), axis=0)
        return _Blocks(expert, build.reshape(alone, [pairs, 1, width]), place)
    is_expert = build.formula(_IS_EXPERT, expert, shape=[pairs, experts], element=i64)
    before = build.op(CumSumOp, is_expert, axis=0, exclusive=True)
    row = build.op(ReduceSumOp, build.op(MulOp, is_expert, before), axes=[1])
    count = build.op(ReduceSumOp, is_expert, axes=[0])
    needed = build.with_number(DivOp, build.with_number(AddOp, count, rows - 1), rows)
    first = build.op(CumSumOp, needed, axis=0, exclusive=True)
    start = build.with_number(MulOp, build.op(GatherOp, first, expert, axis=0), rows)
    place = build.op(AddOp, start, row)
    blocks = (pairs + experts * (rows - 1)) // rows
    of_block = build.formula(_EXPERT_OF_BLOCK, first, shape=[blocks], element=i64)
    unused = build.splat(0, i64, [blocks * rows, 1])
    tokens_of = build.op(ScatterOp, unused, place, build.constant(token.reshape(pairs, 1)))
    together = build.op(GatherOp, x, build.reshape(tokens_of, [blocks, rows]), axis=0)
    return _Blocks(of_block, together, build.reshape(place, [tokens, k]))


def _rows_of_block(pairs: int, experts: int) -> int:
    """Returns a power of two of rows, at most half of what an expert has on average."""
    average = max(pairs // (2 * experts), 1)
    return min(1 << (average.bit_length() - 1), _MOST_ROWS)


def _layer(node: OnnxNode, weights: int) -> Layer:
    """
    Returns a layer with the weights [experts, outputs, inputs] that are an input of the node, and
    the bias that may follow it.
    """

    def layer(expert: SSAValue, x: SSAValue) -> SSAValue:
        build, matrices = node.build, node.input(weights)
        (blocks, rows, inputs), outputs = shape(x), shape(matrices)[1]
        if rank(matrices) != 3 or shape(matrices)[2] != inputs:
            raise ModelError(f"expected weights for {inputs} inputs, found {matrices.type}")
        y = build.formula(_PRODUCT, x, matrices, expert, shape=[blocks, rows, outputs])
        return with_bias_of_expert(node, y, expert, weights + 1)

    return layer


def with_bias_of_expert(node: OnnxNode, y: SSAValue, expert: SSAValue, index: int) -> SSAValue:
    """Returns blocks [blocks, rows, outputs] plus an optional input [experts, outputs]."""
    build, bias = node.build, node.optional(index)
    if bias is None:
        return y
    blocks, _, outputs = shape(y)
    of_block = build.op(GatherOp, bias, expert, axis=0)
    return build.elementwise(AddOp, y, build.reshape(of_block, [blocks, 1, outputs]))


def _hidden(node: OnnxNode, layers: Layers, blocks: _Blocks) -> SSAValue:
    """Returns the activations of the first layer, times the third one or a half of the first."""
    build, kind = node.build, node.attr("activation_type", "relu")
    if kind not in ("swiglu", *_ACTIVATIONS):
        raise Unsupported(f"activation_type {kind!r}")
    first = layers.first(blocks.expert, blocks.rows)
    third = None if layers.third is None else layers.third(blocks.expert, blocks.rows)
    if kind in _ACTIVATIONS:
        activated = _ACTIVATIONS[kind](build, first)
        return activated if third is None else build.op(MulOp, activated, third)
    gate, linear = _gate(node, first) if third is None else (first, third)
    limit = node.attr("swiglu_limit", inf)
    gate = build.op(ClipOp, gate, min=-inf, max=limit)
    linear = build.op(ClipOp, linear, min=-limit, max=limit)
    shifted = build.with_number(AddOp, linear, node.attr("activation_beta", 0.0))
    return build.op(MulOp, swish(build, gate, node.attr("activation_alpha", 1.0)), shifted)


def _gate(node: OnnxNode, first: SSAValue) -> list[SSAValue]:
    """Returns the gate and what it multiplies, which both are columns of the first layer."""
    fusion = node.attr("swiglu_fusion", 0)
    if fusion not in (1, 2):
        raise ModelError(f"expected a third layer or swiglu_fusion 1 or 2, found {fusion}")
    return column_halves(node.build, first, shape(first)[2] // 2, interleaved=fusion == 1)


_ACTIVATIONS: Mapping[str, Callable[[GraphBuilder, SSAValue], SSAValue]] = {
    "relu": lambda build, x: build.op(ReluOp, x),
    "gelu": lambda build, x: build.op(GeluOp, x, approximate=True),
    "silu": swish,
    "identity": lambda build, x: x,
}
"""The activations by their names, but for those with gates."""
