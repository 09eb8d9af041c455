"""
Attention of one new position of each image, as onnxruntime's decoders have it.

The definitions are those of ContribOperators.md. Queries, keys and values are [images, positions,
heads, width], caches [images, heads, positions, width].
"""

from __future__ import annotations

from xdsl.dialects.builtin import i64
from xdsl.ir import SSAValue

from ....errors import ModelError
from ..builder import rank, shape
from ..node import CONTRIB, OnnxNode, converter
from ..problems import Unsupported
from .attention import attended, of_separate, padding, scale_of, separate, sum_of
from .grouped_attention import first_positions, visible

_BIAS, _MASK, _ADDED, _PAST = 10, 3, 4, 5
"""The numbers of optional inputs."""

_WITH_NEW = "y[b, h, t, d] = new[b, 0, h, d] if t == before[b] else old[b, h, t, d]"
"""A cache with the keys or values of the new position."""


@converter("DecoderMaskedMultiHeadAttention", domain=CONTRIB)
def attention_of_new_position(node: OnnxNode) -> list[SSAValue]:
    """Converts attention with a cache that grows, with one that has room, or with none."""
    node.refuse_attribute("output_qk")
    node.refuse_output(3)
    node.refuse_input(beam_width=8, cache_indirection=9)
    if rank(node.input(0)) != 3 or shape(node.input(0))[1] != 1:
        raise ModelError(f"expected one row of each image, found {node.input(0).type}")
    if node.optional(1) is None:
        raise Unsupported("queries, keys and values in one tensor")
    if node.attr("past_present_share_buffer", 0) and rank(node.input(1)) == 3:
        return _with_room(node)
    return of_separate(node, bias=_BIAS, mask=_MASK, added=_ADDED, past=_PAST)


def _with_room(node: OnnxNode) -> list[SSAValue]:
    """
    Returns attention over the positions of a cache up to the new one, and the cache with this. How
    many positions come before it is a number that comes at run time.
    """
    build = node.build
    q, k, v = separate(node, _BIAS)
    images, room = shape(q)[0], shape(node.input(_PAST))[2]
    before = build.broadcast(build.reshape(build.cast(node.input(7), i64), [1]), [images])
    keys, values = (
        build.formula(_WITH_NEW, new, before, old, shape=shape(old))
        for new, old in ((k, node.input(_PAST)), (v, node.input(_PAST + 1)))
    )
    masks = [each for each in (node.optional(_MASK), node.optional(_ADDED)) if each is not None]
    total = shape(masks[0])[-1] if masks else room
    k, v = (first_positions(build, x, total) for x in (keys, values))
    added = sum_of(
        build,
        [
            visible(node, before, 1, total),
            padding(node, _MASK, images, total),
            node.optional(_ADDED),
        ],
    )
    return [attended(build, q, k, v, scale_of(node, shape(q)[-1]), added), keys, values]
