"""
Attention to blocks of keys that a constant mask keeps, as onnxruntime defines it.

The definition is that of ContribOperators.md. Queries, keys and values are [images, positions,
heads, width], caches [images, heads, positions, width].
"""

from __future__ import annotations

import numpy as np
from xdsl.dialects.builtin import f32, i64
from xdsl.ir import SSAValue

from ....errors import ModelError
from ....glow_dialects.glow.arithmetic import AddOp
from ..builder import shape
from ..node import CONTRIB, OnnxNode, converter
from .attention import LOWEST, attended, scale_of
from .grouped_attention import cached, first_positions, positions_after, projections, rotated_at


@converter("SparseAttention", domain=CONTRIB)
def sparse_attention(node: OnnxNode) -> list[SSAValue]:
    """
    Converts attention of grouped queries, behind those of a cache, to the blocks of keys that the
    mask keeps for the block of a row (Abdin et al. 2024, Phi-3).
    """
    build = node.build
    q, k, v = projections(node)
    images, rows, heads, width = shape(q)
    total = node.known_number(7)
    if total is None or total < rows:
        raise ModelError(f"expected a total length of at least {rows}, found {total}")
    lengths = build.cast(build.reshape(node.input(8), [images]), i64)
    before = build.with_number(AddOp, lengths, -rows)
    if node.attr("do_rotary", 0):
        places = positions_after(build, before, images, rows)
        q, k = (rotated_at(node, x, places, 9) for x in (q, k))
    keys, values = (cached(node, new, i, before, total) for new, i in ((k, 3), (v, 4)))
    k, v = (first_positions(build, x, total) for x in (keys, values))
    mask = _mask(node)
    layouts, blocks, _ = mask.shape
    block = node.attr("sparse_block_size")
    if heads % layouts or total > blocks * block:
        raise ModelError(
            f"expected layouts for {heads} heads and blocks for {total} positions, found "
            f"{layouts} layouts of {blocks} blocks"
        )
    row = f"clamp((before[b] + s) // {block}, 0, {blocks - 1})"
    seen = f"t <= before[b] + s and mask[h % {layouts}, {row}, t // {block}] > 0.0"
    added = build.formula(
        f"y[b, h, s, t] = 0.0 if {seen} else lowest",
        before,
        build.constant(mask),
        shape=[images, heads, rows, total],
        element=f32,
        lowest=LOWEST,
    )
    return [attended(build, q, k, v, scale_of(node, width), added), keys, values]


def _mask(node: OnnxNode) -> np.ndarray:
    """
    Returns which blocks of keys each block of rows reads [layouts, blocks, blocks], of which the
    model has compressed rows.
    """
    starts, columns = node.known(5), node.known(6)
    assert starts is not None
    assert columns is not None
    if starts.ndim != 2 or columns.ndim != 2 or len(starts) != len(columns):
        raise ModelError(
            f"expected compressed rows of a mask, found {node.input(5).type}, {node.input(6).type}"
        )
    blocks = starts.shape[1] - 1
    mask = np.zeros((len(starts), blocks, blocks), np.float32)
    for layout, ends in enumerate(starts):
        for row in range(blocks):
            found = columns[layout, ends[row] : ends[row + 1]]
            wrong = found[(found < 0) | (found >= blocks)]
            if wrong.size:
                raise ModelError(f"expected columns of {blocks} blocks, found {wrong[0]}")
            mask[layout, row, found] = 1
    return mask
