"""
Attention as onnxruntime's optimizers write it, as compositions of nodes.

The domain is com.microsoft; the definitions are those of onnxruntime's ContribOperators.md. Within
this module, queries, keys and values are [images, positions, heads, width], and `B`, `S`, `T`, `N`
and `H` in comments are images, positions of queries, positions of keys, heads and width.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod, sqrt

import numpy as np
from xdsl.dialects.builtin import f32, i64
from xdsl.ir import SSAValue

from ....errors import ModelError
from ....glow_dialects.glow.activation import TanhOp
from ....glow_dialects.glow.arithmetic import AddOp, DivOp, MulOp, SubOp
from ....glow_dialects.glow.attention import AttentionOp, MaskedAttentionOp
from ....glow_dialects.glow.logic import LessOp, SelectOp
from ....glow_dialects.glow.matrix import MatMulOp
from ....glow_dialects.glow.normalization import SoftmaxOp
from ..builder import GraphBuilder, rank, shape
from ..node import CONTRIB, OnnxNode, converter
from ..problems import Unsupported
from ..quantized import Parameters, dequantized
from .fused_operators import with_bias
from .matrix import matrix_product

_FILTER = -10000.0
"""The default of the number that is added to scores of positions that a mask excludes."""
LOWEST = float(np.finfo(np.float32).min)
"""The number that is added to scores of positions in the future."""
HEADS_FIRST = (0, 2, 1, 3)


# the common part: scores, their softmax, and the means of values


def attended(
    build: GraphBuilder,
    q: SSAValue,
    k: SSAValue,
    v: SSAValue,
    scale: float,
    added: SSAValue | None = None,
    softcap: float = 0.0,
    sink: SSAValue | None = None,
) -> SSAValue:
    """
    Returns attention as [B, S, N * width of values]. `added`, which broadcasts to [B, N, S, T], is
    added to scores. Keys may have fewer heads than queries; each is then for several neighbouring
    heads of queries. `softcap` limits scores smoothly; `sink` [N] is one more score of each row,
    without a value.
    """
    (images, rows, heads, _), (_, columns, groups, _) = shape(q), shape(k)
    if heads % groups or shape(v)[:3] != shape(k)[:3]:
        raise ModelError(f"expected keys and values for {heads} heads, found {k.type}, {v.type}")
    if added is not None:
        added = build.broadcast(added, [images, heads, rows, columns])
    if softcap or sink is not None:
        result = _composed(build, q, k, v, scale, added, softcap, sink)
    else:
        masks = [] if added is None else [added]
        operator = MaskedAttentionOp if masks else AttentionOp
        result = build.op(operator, q, k, v, *masks, scale=scale)
    return build.reshape(result, [images, rows, heads * shape(v)[-1]])


def _composed(
    build: GraphBuilder,
    q: SSAValue,
    k: SSAValue,
    v: SSAValue,
    scale: float,
    added: SSAValue | None,
    softcap: float,
    sink: SSAValue | None,
) -> SSAValue:
    """Returns attention [B, S, N, H] as products, which limit scores or have a sink."""
    (images, rows, heads, _), columns = shape(q), shape(k)[1]
    q, k, v = (build.transpose(repeated(build, x, heads), HEADS_FIRST) for x in (q, k, v))
    scores = build.op(MatMulOp, q, k, transpose_rhs=True)
    scores = build.with_number(MulOp, scores, scale)
    if softcap:
        limited = build.op(TanhOp, build.with_number(DivOp, scores, softcap))
        scores = build.with_number(MulOp, limited, softcap)
    if added is not None:
        scores = build.op(AddOp, scores, added)
    if sink is not None:
        column = build.broadcast(build.reshape(sink, [heads, 1, 1]), [images, heads, rows, 1])
        scores = build.concat([scores, column], 3)
    shares = build.op(SoftmaxOp, scores, axis=3)
    shares = build.slice(shares, [0] * 4, [images, heads, rows, columns])
    return build.transpose(build.op(MatMulOp, shares, v), HEADS_FIRST)


def repeated(build: GraphBuilder, x: SSAValue, heads: int) -> SSAValue:
    """Returns keys or values once for each head of the queries."""
    images, rows, groups, width = shape(x)
    apart = build.reshape(x, [images, rows, groups, 1, width])
    spread = build.broadcast(apart, [images, rows, groups, heads // groups, width])
    return build.reshape(spread, [images, rows, heads, width])


def sum_of(build: GraphBuilder, values: Sequence[SSAValue | None]) -> SSAValue | None:
    """Returns the sum of those values that there are, broadcast to each other."""
    present = [v for v in values if v is not None]
    add = lambda a, b: build.elementwise(AddOp, a, b)  # noqa: E731
    return build.reduce_pairwise(add, present) if present else None


def heads_apart(build: GraphBuilder, x: SSAValue, heads: int) -> SSAValue:
    """Returns rows of all heads as [B, S, N, H]."""
    if rank(x) != 3 or shape(x)[2] % heads:
        raise ModelError(f"expected rows for {heads} heads, found {x.type}")
    return build.reshape(x, [*shape(x)[:2], heads, shape(x)[2] // heads])


def scale_of(node: OnnxNode, width: int) -> float:
    """Returns the factor of scores; 0 stands for the default."""
    return float(node.attr("scale", 0.0)) or 1 / sqrt(width)


# masks


def padding(node: OnnxNode, index: int, images: int, columns: int) -> SSAValue | None:
    """Returns what an optional mask of keys, or their number, adds to scores [B, N, S, T]."""
    mask = node.optional(index)
    if mask is None:
        return None
    build, kind = node.build, shape(mask)
    wide = build.cast(mask, i64)
    if len(kind) == 2:
        kept = build.reshape(wide, [images, 1, 1, columns])
    elif len(kind) == 3:
        kept = build.reshape(wide, [images, 1, *kind[1:]])
    elif kind in ((images,), (2 * images,)):
        kept = _between(build, wide, images, columns)
    else:
        raise Unsupported(f"a mask {mask.type}")
    excluded = build.op(LessOp, kept, build.splat_like(1, kept))
    fill = build.splat(node.attr("mask_filter_value", _FILTER), f32, shape(kept))
    return build.op(SelectOp, excluded, fill, build.splat_like(0, fill))


def _between(build: GraphBuilder, ends: SSAValue, images: int, columns: int) -> SSAValue:
    """Returns 1 for keys before the end of an image and, if there are starts, from its start on."""
    places = build.constant(np.arange(columns, dtype=np.int64).reshape(1, 1, 1, columns))
    to = build.reshape(build.slice(ends, [0], [images]), [images, 1, 1, 1])
    kept = build.cast(build.elementwise(LessOp, places, to), i64)
    if shape(ends) == (images,):
        return kept
    start = build.reshape(build.slice(ends, [images], [images]), [images, 1, 1, 1])
    early = build.cast(build.elementwise(LessOp, places, start), i64)
    return build.op(SubOp, kept, early)


def _future(build: GraphBuilder, rows: int, columns: int) -> SSAValue:
    """Returns what excludes later positions from rows that are the last of the columns."""
    ahead = np.arange(columns) > np.arange(columns - rows, columns)[:, None]
    return build.constant(np.where(ahead, np.float32(LOWEST), np.float32(0)))


# Attention and QAttention


@converter("Attention", domain=CONTRIB)
def attention(node: OnnxNode) -> list[SSAValue]:
    """Converts the projection to queries, keys and values, and their attention."""
    node.refuse_attribute("past_present_share_buffer", "do_rotary")
    projected = matrix_product(node.build, node.input(0), node.input(1))
    return _of_projection(node, with_bias(node, projected, 2), mask=3, past=4, bias=5)


@converter("QAttention", domain=CONTRIB)
def quantized_attention(node: OnnxNode) -> list[SSAValue]:
    """Converts the same of a quantized input and quantized weights."""
    node.refuse_attribute("past_present_share_buffer", "do_rotary")
    build = node.build
    x = dequantized(build, node.input(0), Parameters.of(node, 3, 6))
    weights = dequantized(build, node.input(1), Parameters.of(node, 4, 7, axis=1))
    projected = with_bias(node, matrix_product(build, x, weights), 2)
    return _of_projection(node, projected, mask=5, past=8)


def _of_projection(
    node: OnnxNode, projected: SSAValue, mask: int, past: int, bias: int | None = None
) -> list[SSAValue]:
    """
    Returns attention of queries, keys and values [B, S, all three], and the keys and values of all
    positions [2, B, N, T, H].
    """
    build, heads = node.build, node.attr("num_heads")
    images, rows, total = shape(projected)
    sizes = node.ints("qkv_hidden_sizes") or [total // 3] * 3
    if sum(sizes) != total or any(s % heads for s in sizes) or sizes[0] != sizes[1]:
        raise ModelError(f"expected {total} columns for {heads} heads, found {sizes}")
    starts = [0, sizes[0], sizes[0] + sizes[1]]
    q, k, v = (
        heads_apart(build, build.slice(projected, [0, 0, start], [images, rows, size]), heads)
        for start, size in zip(starts, sizes, strict=True)
    )
    before = node.optional(past)
    if before is not None:
        k, v = (build.concat([_part_of_past(build, before, i), x], 1) for i, x in enumerate((k, v)))
    columns = shape(k)[1]
    masks = [
        padding(node, mask, images, columns),
        None if bias is None else node.optional(bias),
        _future(build, rows, columns) if node.attr("unidirectional", 0) else None,
    ]
    found = attended(build, q, k, v, scale_of(node, shape(q)[-1]), sum_of(build, masks))
    if not node.output_used(1):
        return [found]
    states = [build.transpose(x, HEADS_FIRST) for x in (k, v)]
    return [found, build.concat([build.reshape(s, [1, *shape(s)]) for s in states], 0)]


def _part_of_past(build: GraphBuilder, past: SSAValue, index: int) -> SSAValue:
    """Returns the keys or the values of past positions, [2, B, N, T, H], as [B, T, N, H]."""
    _, *sizes = shape(past)
    one = build.slice(past, [index, 0, 0, 0, 0], [1, *sizes])
    return build.transpose(build.reshape(one, sizes), HEADS_FIRST)


# MultiHeadAttention


@converter("MultiHeadAttention", domain=CONTRIB)
def multi_head_attention(node: OnnxNode) -> list[SSAValue]:
    """Converts attention of projected queries, keys and values."""
    node.refuse_output(3)
    node.refuse_input(past_sequence_length=8, cache_indirection=9)
    return of_separate(node, bias=3, mask=4, added=5, past=6)


def of_separate(node: OnnxNode, bias: int, mask: int, added: int, past: int) -> list[SSAValue]:
    """
    Returns attention of queries, keys and values that are the first inputs, and the keys and values
    of all positions. The numbers name optional inputs; past values follow past keys.
    """
    build = node.build
    q, k, v = separate(node, bias)
    before = [node.optional(i) for i in (past, past + 1)]
    if None not in before:
        k, v = (
            build.concat([build.transpose(old, HEADS_FIRST), x], 1)
            for old, x in zip(before, (k, v), strict=True)
            if old is not None
        )
    (images, rows, *_), columns = shape(q), shape(k)[1]
    masks = [
        padding(node, mask, images, columns),
        node.optional(added),
        _future(build, rows, columns) if node.attr("unidirectional", 0) else None,
    ]
    found = attended(build, q, k, v, scale_of(node, shape(q)[-1]), sum_of(build, masks))
    states = [build.transpose(x, HEADS_FIRST) for x in (k, v)] if node.output_used(1) else []
    return [found, *states]


def separate(node: OnnxNode, bias: int) -> list[SSAValue]:
    """Returns queries, keys and values [B, S, N, H] with their bias, which may come as one."""
    build, heads = node.build, node.attr("num_heads")
    q, k, v = node.input(0), node.optional(1), node.optional(2)
    if rank(q) == 5:
        found = _unpacked(build, q)
    elif k is None:
        raise ModelError("expected keys, or queries, keys and values in one tensor of 5 dimensions")
    elif rank(k) == 5:
        found = [heads_apart(build, q, heads), *_unpacked(build, k)]
    elif v is None:
        raise ModelError("expected values, or keys and values in one tensor of 5 dimensions")
    else:
        others = [
            build.transpose(x, HEADS_FIRST) if rank(x) == 4 else heads_apart(build, x, heads)
            for x in (k, v)
        ]
        found = [heads_apart(build, q, heads), *others]
    added = node.optional(bias)
    if added is None:
        return found
    if k is not None and rank(k) == 4:
        raise Unsupported("a bias of keys that are given for each head")
    start, result = 0, []
    for x in found:
        size = prod(shape(x)[2:])
        part = build.reshape(build.slice(added, [start], [size]), shape(x)[2:])
        result.append(build.elementwise(AddOp, x, part))
        start += size
    return result


def _unpacked(build: GraphBuilder, x: SSAValue) -> list[SSAValue]:
    """Returns the parts of [B, S, N, parts, H]."""
    images, rows, heads, parts, width = shape(x)
    sizes = [images, rows, heads, 1, width]
    return [
        build.reshape(build.slice(x, [0, 0, 0, i, 0], sizes), [images, rows, heads, width])
        for i in range(parts)
    ]
