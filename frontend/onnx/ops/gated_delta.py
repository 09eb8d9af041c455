"""
The gated delta rule (Yang et al. 2024) as onnxruntime defines it: ONNX's linear attention.

The domain is com.microsoft; the definition is that of onnxruntime's ContribOperators.md. Letters in
comments are B images, S positions, H heads of queries and keys, N those of values, K the width of
queries and keys, and V that of values.
"""

from __future__ import annotations

from math import prod

from onnx import helper
from xdsl.dialects.builtin import f32
from xdsl.ir import SSAValue

from ....errors import ModelError
from ....glow_dialects.glow.activation import SigmoidOp, SoftplusOp
from ....glow_dialects.glow.arithmetic import AddOp, DivOp, ExpOp, MulOp
from ..builder import element, rank, shape, size
from ..node import CONTRIB, OnnxNode, converter
from ..problems import Unsupported
from .attention import repeated

_OPSET = 27
"""The opset of ONNX that defines LinearAttention."""
_LENGTH = "y[b, s, h, z] = sqrt(EPSILON + (sum(k) x[b, s, h, k] * x[b, s, h, k]))"
"""The length of the rows of heads."""

_KIMI = ("sigmoid", "kda")
"""The names of the decays of Kimi Delta Attention (Kimi Team 2025), which have a lower bound."""


@converter("GatedDeltaNet", domain=CONTRIB)
def gated_delta_net(node: OnnxNode) -> list[SSAValue]:
    """Converts linear attention of queries and keys that several heads of values share."""
    node.refuse_attribute("state_update_capacity")
    node.refuse_output(2)
    if node.optional(3) is not None:
        raise Unsupported("input cu_seqlens, sequences of different lengths")
    build, state = node.build, node.input(6)
    if rank(state) != 4:
        raise ModelError(f"expected a state of 4 dimensions, found {state.type}")
    images, heads, columns, width = shape(state)
    outer, q, k, v = _separate(node, heads, columns, width)
    rows = prod(outer) // images
    q, k = (_of_heads(node, x, [images, rows, -1, width], heads) for x in (q, k))
    decay, beta = _decay(node, [images, rows, heads]), _rate(node, [images, rows, heads])
    inputs = [
        q,
        k,
        build.reshape(v, [images, rows, heads * columns]),
        build.transpose(state, [0, 1, 3, 2]),
        *(None if x is None else build.cast(x, element(q)) for x in (decay, beta)),
    ]
    attributes = {n: node.attr(n) for n in ("scale", "update_rule") if node.has(n)}
    proto = helper.make_node(
        "LinearAttention",
        ["" if x is None else name for x, name in zip(inputs, "qkvsgb", strict=True)],
        ["found", "last"],
        q_num_heads=heads,
        kv_num_heads=heads,
        **attributes,
    )
    assert node.standard is not None
    found, last = node.standard(proto, inputs, _OPSET)
    assert found is not None
    assert last is not None
    result = build.reshape(found, [*outer, heads, columns])
    return [result, build.transpose(last, [0, 1, 3, 2])]


def _separate(
    node: OnnxNode, heads: int, columns: int, width: int
) -> tuple[list[int], SSAValue, SSAValue, SSAValue]:
    """Returns the sizes of the positions, and queries, keys and values, which may come as one."""
    build, q, k, v = node.build, node.input(0), node.optional(1), node.optional(2)
    if k is not None and v is not None:
        return list(shape(q)[:-2]), q, k, v
    *outer, total = shape(q)
    of_keys = (total - heads * columns) // 2
    if of_keys < width or of_keys % width or 2 * of_keys + heads * columns != total:
        raise ModelError(f"expected queries, keys and values for {heads} heads, found {q.type}")
    zeros = [0] * len(outer)
    q, k, v = (
        build.slice(q, [*zeros, start], [*outer, count])
        for start, count in ((0, of_keys), (of_keys, of_keys), (2 * of_keys, heads * columns))
    )
    return outer, q, k, v


def _of_heads(node: OnnxNode, x: SSAValue, sizes: list[int], heads: int) -> SSAValue:
    """Returns queries or keys for each head of values [B, S, N * K]."""
    build, (images, rows, _, width) = node.build, sizes
    groups = size(x) // (images * rows * width)
    if groups < 1 or heads % groups or size(x) != images * rows * groups * width:
        raise ModelError(f"expected queries and keys for {heads} heads, found {x.type}")
    apart = build.reshape(x, [images, rows, groups, width])
    if node.attr("qk_l2_norm", 0):
        # onnxruntime adds more to the square of the length where decays are those of Kimi.
        epsilon = "1.0e-6" if node.attr("gate_activation", "none") in _KIMI else "1.0e-12"
        text = _LENGTH.replace("EPSILON", epsilon)
        length = build.formula(text, apart, shape=[images, rows, groups, 1])
        apart = build.elementwise(DivOp, apart, length)
    return build.reshape(repeated(build, apart, heads), [images, rows, heads * width])


def _rate(node: OnnxNode, sizes: list[int]) -> SSAValue | None:
    """Returns the update rate [B, S, N] if the rule has one."""
    if "delta" not in node.attr("update_rule", "gated_delta"):
        return None
    rate = node.build.reshape(node.input(5), sizes)
    kind = node.attr("beta_activation", "none")
    if kind not in ("none", "sigmoid"):
        raise Unsupported(f"beta_activation {kind!r}")
    return rate if kind == "none" else node.build.op(SigmoidOp, node.build.cast(rate, f32))


def _decay(node: OnnxNode, sizes: list[int]) -> SSAValue | None:
    """Returns logarithms of what the state is multiplied by, [B, S, N] or [B, S, N * K]."""
    if "gated" not in node.attr("update_rule", "gated_delta"):
        return None
    build, kind = node.build, node.attr("gate_activation", "none")
    apart = build.reshape(node.input(4), [*sizes, size(node.input(4)) // prod(sizes)])
    joined = [*sizes[:2], sizes[2] * shape(apart)[3]]
    if kind == "none":
        return build.reshape(apart, joined)
    heads, bias = sizes[2], node.input(8)
    bias = build.reshape(bias, [heads, size(bias) // heads])
    biased = build.elementwise(AddOp, build.cast(apart, f32), bias)
    rate = build.op(ExpOp, build.reshape(node.input(7), [heads, 1]))
    if kind in ("softplus", "qwen"):
        falling = build.with_number(MulOp, build.op(SoftplusOp, biased), -1.0)
        decay = build.elementwise(MulOp, falling, rate)
    elif kind in _KIMI:
        share = build.op(SigmoidOp, build.elementwise(MulOp, biased, rate))
        decay = build.with_number(MulOp, share, node.attr("gate_lower_bound", -5.0))
    else:
        raise Unsupported(f"gate_activation {kind!r}")
    return build.reshape(decay, joined)
