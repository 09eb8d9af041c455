"""
Mixtures of experts whose weights have a few bits, as onnxruntime defines them.

The domain is com.microsoft; the definitions are those of onnxruntime's ContribOperators.md.
Weights stay packed in memory: each product reads the numbers of the experts that it meets.
"""

from __future__ import annotations

from xdsl.dialects.builtin import f32
from xdsl.ir import SSAValue

from ....errors import ModelError
from ....glow_dialects.glow.narrow_weights import BYTE, unpacked_terms
from ....glow_dialects.glow.normalization import SoftmaxOp
from ..builder import element, rank, shape
from ..node import CONTRIB, OnnxNode, converter
from ..problems import Unsupported
from .experts import Layer, Layers, mixture, with_bias_of_expert
from .narrow_weights import known_zero_points, shaped

_EXPERT = "clamp(expert[b], 0, size(scales, 0) - 1)"
_ROUTER_WEIGHTS = 14


@converter("QMoE", domain=CONTRIB)
def quantized_mixture_of_experts(node: OnnxNode) -> SSAValue:
    """
    Converts a mixture of experts with weights of 2, 4 or 8 bits. A tensor of its own may give the
    shares of the experts, which the scores select.
    """
    kind = node.attr("quant_type", "int")
    if kind != "int":
        raise Unsupported(f"quant_type {kind!r}")
    if node.attr("weights_prepacked", -1) == 1:
        raise Unsupported("weights_prepacked=1, weights in the layout of a device")
    # those of floating-point formats and of quantized activations
    node.refuse_input(
        fc1_global_scale=15,
        fc2_global_scale=16,
        fc1_act_scale=17,
        fc2_act_scale=18,
        fc1_act_block_scale=19,
        fc2_act_block_scale=20,
    )
    third = None if node.optional(8) is None else _layer(node, 3)
    layers = Layers(shape(node.input(2))[0], _layer(node, 1), _layer(node, 2), third)
    scores, shares = node.input(1), node.optional(_ROUTER_WEIGHTS)
    if shares is None:
        # onnxruntime takes the softmax of the chosen scores alone, with and without the attribute
        shares = node.build.op(SoftmaxOp, scores, axis=1)
        return mixture(node, layers, shares, shares, normalized=True)
    normalized = bool(node.attr("normalize_routing_weights", 0))
    return mixture(node, layers, scores, shares, normalized)


def _layer(node: OnnxNode, number: int) -> Layer:
    """Returns the first, second or third layer, whose weights are packed into bytes."""
    bits = node.attr(f"fc{number}_expert_weight_bits", node.attr("expert_weight_bits", 4))
    if bits not in (2, 4, 8):
        raise Unsupported(f"experts with weights of {bits} bits")
    weights, per = 3 * number - 1, 8 // bits

    def layer(expert: SSAValue, x: SSAValue) -> SSAValue:
        build, words = node.build, node.input(weights)
        (count, rows, inputs), block = shape(x), node.attr("block_size", 0) or shape(x)[2]
        if rank(words) != 3 or element(words) != BYTE or shape(words)[2] * per != inputs:
            raise ModelError(
                f"expected weights of {bits} bits for {inputs} inputs, found {words.type}"
            )
        if inputs % block or block % per:
            raise ModelError(f"expected {inputs} inputs in blocks, found block_size={block}")
        experts, outputs, _ = shape(words)
        blocks = [experts, outputs, inputs // block]
        zeros = _zero_points(node, number, bits, blocks)
        zero = 2.0 ** (bits - 1) if zeros is None else f"f32(zeros[{_EXPERT}, o, n])"
        terms = unpacked_terms(
            f"i32(words[{_EXPERT}, o, n, c])",
            bits,
            8,
            f"f32(x[b, r, n * {block} + c * {per} + {{p}}])",
            str(zero),
        )
        y = build.formula(
            f"y[b, r, o] = sum(n, c) f32(scales[{_EXPERT}, o, n]) * ({terms})",
            shaped(node, weights + 1, blocks),
            expert,
            x,
            build.reshape(words, [*blocks, block // per]),
            *([] if zeros is None else [zeros]),
            shape=[count, rows, outputs],
            element=f32,
        )
        return with_bias_of_expert(node, build.cast(y, element(x)), expert, weights + 2)

    return layer


def _zero_points(node: OnnxNode, number: int, bits: int, blocks: list[int]) -> SSAValue | None:
    """
    Returns the zero points of all blocks [experts, outputs, blocks of a row] as bytes, or None.
    They are packed along rows, or along outputs if a row is one block.
    """
    index = 10 + number
    if node.optional(index) is None:
        return None
    experts, outputs, count = blocks
    rows, numbers = (experts * outputs, count) if node.attr("block_size", 0) else (experts, outputs)
    codes = known_zero_points(node, index, rows, numbers, bits)
    return node.build.constant(codes.reshape(blocks))
