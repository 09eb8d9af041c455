"""
Rotary embeddings, and attention of grouped queries with a cache, as onnxruntime defines them.

The definitions are those of ContribOperators.md. Queries, keys and values are [images,
positions, heads, width], caches [images, heads, positions, width].
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from xdsl.dialects.builtin import f32, i64
from xdsl.ir import SSAValue

from ....errors import ModelError
from ....glow_dialects.glow.arithmetic import AddOp, MulOp, SubOp
from ....glow_dialects.glow.normalization import RmsNormOp
from ....glow_dialects.glow.shape import GatherOp
from ..builder import GraphBuilder, rank, shape
from ..node import CONTRIB, OnnxNode, converter
from ..problems import Unsupported
from .attention import HEADS_FIRST, LOWEST, attended, heads_apart, scale_of, sum_of
from .fused_operators import column_halves
from .indices import expect_along

# rotary embeddings


@converter("RotaryEmbedding", domain=CONTRIB)
def rotary_embedding(node: OnnxNode) -> SSAValue:
    """Converts the rotation of pairs of elements by angles that depend on positions."""
    build, places, tables = node.build, node.input(1), (node.input(2), node.input(3))
    apart = _rows_of_heads(node)
    if shape(tables[0]) != shape(tables[1]):
        raise ModelError(
            f"expected caches of one shape, found {', '.join(str(t.type) for t in tables)}"
        )
    if shape(places) == (1,):
        images, rows = shape(apart)[:2]
        steps = build.constant(np.arange(rows, dtype=np.int64))
        places = build.elementwise(AddOp, build.cast(places, i64), steps)
        places = build.broadcast(places, [images, rows])
    else:
        expect_along(node, 1, shape(tables[0])[0])
    cos, sin = (build.op(GatherOp, table, places, axis=0) for table in tables)
    return _rotated_input(node, apart, cos, sin)


_ANGLES = """
    y[b, s, a] = table[clamp(places[clamp(of[a], 0, 2), b, s], 0, size(table, 0) - 1), a]
"""
"""Elements of a table of angles, each from the row of the position that it belongs to."""


@converter("MRotaryEmbedding", domain=CONTRIB)
def rotary_embedding_of_several_positions(node: OnnxNode) -> SSAValue:
    """
    Converts the rotation by angles of which each belongs to one of three positions: in time, from
    above and from the left (Wang et al. 2024, Qwen2-VL).
    """
    build, places = node.build, node.input(1)
    sections, tables = node.ints("mrope_section") or [], (node.input(2), node.input(3))
    positions, half = shape(tables[0])
    if len(sections) != 3 or sum(sections) != half or shape(places)[0] != 3:
        raise ModelError(f"expected sections of {half} angles for 3 positions, found {sections}")
    expect_along(node, 1, positions)
    of_angle = _positions_of_angles(sections, bool(node.attr("mrope_layout", 0)))
    apart = _rows_of_heads(node)
    cos, sin = (
        build.formula(
            _ANGLES,
            table,
            places,
            build.constant(of_angle),
            shape=[*shape(places)[1:], half],
        )
        for table in tables
    )
    return _rotated_input(node, apart, cos, sin)


def _positions_of_angles(sections: Sequence[int], interleaved: bool) -> np.ndarray:
    """Returns which of the three positions each angle belongs to: sections, or each third angle."""
    if not interleaved:
        return np.repeat(np.arange(3), sections)
    found = np.zeros(sum(sections), np.int64)
    for position in (1, 2):
        found[position : 3 * sections[position] : 3] = position
    return found


def _rows_of_heads(node: OnnxNode) -> SSAValue:
    """Returns the first input as [images, positions, heads, width]."""
    if node.attr("is_packed_batching", 0) or node.attr("scale", 1.0) != 1:
        raise Unsupported("is_packed_batching or a scale")
    x, width = node.input(0), 2 * shape(node.input(2))[1]
    if rank(x) == 4:
        return node.build.transpose(x, HEADS_FIRST)
    return heads_apart(node.build, x, node.attr("num_heads", 0) or shape(x)[2] // width)


def _rotated_input(node: OnnxNode, apart: SSAValue, cos: SSAValue, sin: SSAValue) -> SSAValue:
    """Returns the first input, whose rows of heads are given, after its rotation."""
    build, x = node.build, node.input(0)
    turned = rotated(build, apart, cos, sin, bool(node.attr("interleaved", 0)))
    if rank(x) == 4:
        return build.transpose(turned, HEADS_FIRST)
    return build.reshape(turned, shape(x))


def rotated(
    build: GraphBuilder, x: SSAValue, cos: SSAValue, sin: SSAValue, interleaved: bool
) -> SSAValue:
    """
    Returns the rotary embedding (Su et al. 2021) of the first elements of rows: as many as there
    are angles, twice. Pairs are neighbours, or elements of the first and second half. Cosines and
    sines of the angles are [images, rows, angles].
    """
    (*outer, width), half = shape(x), shape(cos)[2]
    if 2 * half > width:
        raise ModelError(f"expected angles for at most {width // 2} pairs, found {cos.type}")
    cos, sin = (build.reshape(each, [*outer[:2], 1, half]) for each in (cos, sin))
    pairs, others = column_halves(build, x, half, interleaved)
    first = build.op(
        SubOp, build.elementwise(MulOp, pairs, cos), build.elementwise(MulOp, others, sin)
    )
    second = build.op(
        AddOp, build.elementwise(MulOp, pairs, sin), build.elementwise(MulOp, others, cos)
    )
    if interleaved:
        columns = [build.reshape(y, [*outer, half, 1]) for y in (first, second)]
        turned = build.reshape(build.concat(columns, len(outer) + 1), [*outer, 2 * half])
    else:
        turned = build.concat([first, second], len(outer))
    if 2 * half == width:
        return turned
    rest = build.slice(x, [*[0] * len(outer), 2 * half], [*outer, width - 2 * half])
    return build.concat([turned, rest], len(outer))


# GroupQueryAttention

_WITH_NEW = """
    y[b, h, t, d] = new[b, clamp(t - before[b], 0, size(new, 1) - 1), h, d] if t >= before[b]
        else old[b, h, min(t, size(old, 2) - 1), d]
"""
"""New keys or values behind those of a cache, which has `before` of them."""
_VISIBLE = """
    y[b, 0, s, t] = 0.0 if t <= before[b] + s and t > before[b] + s - window else lowest
"""
"""A mask that excludes positions that are later than a row, or too far before it."""


@converter("GroupQueryAttention", domain=CONTRIB)
def grouped_attention(node: OnnxNode) -> list[SSAValue]:
    """
    Converts attention in which several heads of queries share keys and values, behind those of a
    cache. How many positions an image has comes at run time.
    """
    _check(node)
    build = node.build
    q, k, v = projections(node)
    images, rows = shape(q)[:2]
    total = node.known_number(6)
    if total is None or total < rows:
        raise ModelError(f"expected a total length of at least {rows}, found {total}")
    before = _lengths_before(node, images, rows, total)
    q, k = _normalised(node, q, k)
    if node.attr("do_rotary", 0):
        places = _positions(node, before, images, rows)
        q, k = (rotated_at(node, x, places, 7) for x in (q, k))
    keys, values = (cached(node, new, i, before, total) for new, i in ((k, 3), (v, 4)))
    k, v = (first_positions(build, x, total) for x in (keys, values))
    bias = node.optional(10)
    if bias is not None:
        bias = build.slice(bias, [0] * 4, [*shape(bias)[:2], rows, total])
    added = sum_of(build, [visible(node, before, rows, total), bias])
    found = attended(
        build,
        *(q, k, v, scale_of(node, shape(q)[-1]), added),
        softcap=float(node.attr("softcap", 0.0)),
        sink=_sink(node, shape(q)[2]),
    )
    return [found, keys, values]


def _check(node: OnnxNode) -> None:
    """Raises Unsupported for quantized caches and caches of a window."""
    node.refuse_output(3)
    node.refuse_input(k_scale=12, v_scale=13, query_seqlens=16)
    for name in ("sliding_window_cache", "qk_output"):
        if node.attr(name, 0):
            raise Unsupported(f"{name}={node.attr(name)}")


def projections(node: OnnxNode) -> list[SSAValue]:
    """Returns queries, keys and values, which may come as one tensor."""
    build, heads, groups = node.build, node.attr("num_heads"), node.attr("kv_num_heads")
    x, k, v = node.input(0), node.optional(1), node.optional(2)
    if k is not None and v is not None:
        counts = (heads, groups, groups)
        return [heads_apart(build, y, n) for y, n in zip((x, k, v), counts, strict=True)]
    joined = heads_apart(build, x, heads + 2 * groups)
    images, rows, _, width = shape(joined)
    return [
        build.slice(joined, [0, 0, start, 0], [images, rows, count, width])
        for start, count in ((0, heads), (heads, groups), (heads + groups, groups))
    ]


def _lengths_before(node: OnnxNode, images: int, rows: int, total: int) -> SSAValue:
    """Returns how many positions each image has before the new ones."""
    build = node.build
    if total == rows:
        return build.splat(0, i64, [images])
    last = build.reshape(build.cast(node.input(5), i64), [images])
    return build.with_number(AddOp, last, 1 - rows)


def _normalised(node: OnnxNode, q: SSAValue, k: SSAValue) -> list[SSAValue]:
    """Returns queries and keys, with their normalisation if there are weights for it."""
    found = []
    for x, index, name in ((q, 14, "q_norm_epsilon"), (k, 15, "k_norm_epsilon")):
        weights = node.optional(index)
        if weights is not None:
            epsilon = float(node.attr(name, node.attr("qk_norm_epsilon", 1e-6)))
            x = node.build.op(RmsNormOp, x, weights, axis=3, epsilon=epsilon)
        found.append(x)
    return found


def _positions(node: OnnxNode, before: SSAValue, images: int, rows: int) -> SSAValue:
    """Returns the positions [images, rows] of the new rows."""
    build, given = node.build, node.optional(9)
    if given is not None:
        expect_along(node, 9, shape(node.input(7))[0])
        return build.cast(given, i64)
    return positions_after(build, before, images, rows)


def positions_after(build: GraphBuilder, before: SSAValue, images: int, rows: int) -> SSAValue:
    """Returns the positions [images, rows] of rows behind those that each image has before."""
    steps = build.constant(np.arange(rows, dtype=np.int64))
    return build.elementwise(AddOp, build.reshape(before, [images, 1]), steps)


def rotated_at(node: OnnxNode, x: SSAValue, places: SSAValue, tables: int) -> SSAValue:
    """
    Returns queries or keys with the rotary embedding of their positions, of which two inputs are
    tables of cosines and sines; `tables` is the number of the first.
    """
    cos, sin = (node.build.op(GatherOp, node.input(tables + i), places, axis=0) for i in (0, 1))
    return rotated(node.build, x, cos, sin, bool(node.attr("rotary_interleaved", 0)))


def cached(node: OnnxNode, new: SSAValue, index: int, before: SSAValue, total: int) -> SSAValue:
    """Returns the cache [images, heads, positions, width] with the new keys or values."""
    build, old = node.build, node.optional(index)
    images, rows, groups, width = shape(new)
    if old is None or not shape(old)[2]:
        if total != rows:
            raise ModelError(f"expected a cache of {total - rows} positions, found none")
        return build.transpose(new, HEADS_FIRST)
    size = max(shape(old)[2], total)
    return build.formula(_WITH_NEW, new, before, old, shape=[images, groups, size, width])


def first_positions(build: GraphBuilder, cache: SSAValue, total: int) -> SSAValue:
    """Returns the part of a cache that counts, as keys or values."""
    images, heads, _, width = shape(cache)
    return build.transpose(build.slice(cache, [0] * 4, [images, heads, total, width]), HEADS_FIRST)


def visible(node: OnnxNode, before: SSAValue, rows: int, total: int) -> SSAValue:
    """Returns what excludes positions that rows do not see [images, 1, rows, positions]."""
    window = node.attr("local_window_size", -1)
    window = total if window < 0 else window
    if not node.attr("causal", 1):
        raise Unsupported("causal=0")
    shape_of_mask = [shape(before)[0], 1, rows, total]
    constants = {"window": window, "lowest": LOWEST}
    return node.build.formula(_VISIBLE, before, shape=shape_of_mask, element=f32, **constants)


def _sink(node: OnnxNode, heads: int) -> SSAValue | None:
    """Returns one more score for each head, if rows have one."""
    given = node.optional(11)
    if given is None and node.attr("smooth_softmax", -1) == 1:
        return node.build.splat(0.0, f32, [heads])
    return given
