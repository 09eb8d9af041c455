"""
Mixtures of experts whose weights have a few bits, as onnxruntime defines them.

The domain is com.microsoft; the definitions are those of onnxruntime's ContribOperators.md.
Weights stay packed in memory: each product reads the numbers of the experts that it meets.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import gcd

from xdsl.dialects.builtin import f32
from xdsl.ir import SSAValue

from ....errors import ModelError
from ....glow_dialects.glow.narrow_weights import BYTE, unpacked_number, unpacked_terms
from ....glow_dialects.glow.normalization import SoftmaxOp
from ..builder import GraphBuilder, element, rank, shape
from ..node import CONTRIB, OnnxNode, converter
from ..problems import Unsupported
from .experts import Layer, Layers, mixture, with_bias_of_expert
from .narrow_weights import known_zero_points, shaped

_EXPERT = "clamp(expert[b], 0, size(scales, 0) - 1)"
_ROUTER_WEIGHTS = 14
_LEAST_ROWS = 4
"""Rows of a block from which unpacking the weights of a panel before their product pays."""
_PANEL, _LEAST_PANEL = 64, 16
"""The most and the fewest outputs of a panel."""


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
    index, per = 3 * number - 1, 8 // bits

    def layer(expert: SSAValue, x: SSAValue) -> SSAValue:
        words, inputs = node.input(index), shape(x)[2]
        block = node.attr("block_size", 0) or inputs
        if rank(words) != 3 or element(words) != BYTE or shape(words)[2] * per != inputs:
            raise ModelError(
                f"expected weights of {bits} bits for {inputs} inputs, found {words.type}"
            )
        if inputs % block or block % per:
            raise ModelError(f"expected {inputs} inputs in blocks, found block_size={block}")
        experts, outputs, _ = shape(words)
        blocks = [experts, outputs, inputs // block]
        weights = _Weights(
            bits,
            node.build.reshape(words, [*blocks, block // per]),
            shaped(node, index + 1, blocks),
            _zero_points(node, number, bits, blocks),
        )
        y = weights.product(node.build, expert, x)
        return with_bias_of_expert(node, node.build.cast(y, element(x)), expert, index + 2)

    return layer


@dataclass(frozen=True)
class _Weights:
    """The weights of the experts, in blocks of rows."""

    bits: int
    words: SSAValue
    """[experts, outputs, blocks, bytes of a block]."""
    scales: SSAValue
    """[experts, outputs, blocks]."""
    zeros: SSAValue | None
    """The same; None for half of the range."""

    def _zero(self, indices: str) -> str:
        """Returns, in a formula, the zero point at some indices."""
        if self.zeros is None:
            return str(2.0 ** (self.bits - 1))
        return f"f32(zeros[{indices}])"

    def product(self, build: GraphBuilder, expert: SSAValue, x: SSAValue) -> SSAValue:
        """
        Returns blocks of rows [blocks, rows, inputs] times the weights of their experts [blocks]
        as f32: by unpacked panels of outputs for several rows, by words for few.
        """
        width = gcd(shape(self.words)[1], _PANEL)
        if shape(x)[1] >= _LEAST_ROWS and width >= _LEAST_PANEL:
            return self._by_panels(build, expert, x, width)
        return self._by_words(build, expert, x)

    def _by_words(self, build: GraphBuilder, expert: SSAValue, x: SSAValue) -> SSAValue:
        per, size = 8 // self.bits, shape(self.words)[3]
        terms = unpacked_terms(
            f"i32(words[{_EXPERT}, o, n, c])",
            self.bits,
            8,
            f"f32(x[b, r, (n * {size} + c) * {per} + {{p}}])",
            self._zero(f"{_EXPERT}, o, n"),
        )
        return build.formula(
            f"y[b, r, o] = sum(n, c) f32(scales[{_EXPERT}, o, n]) * ({terms})",
            *(self.scales, expert, x, self.words),
            *([] if self.zeros is None else [self.zeros]),
            shape=[*shape(x)[:2], shape(self.words)[1]],
            element=f32,
        )

    def _by_panels(
        self, build: GraphBuilder, expert: SSAValue, x: SSAValue, width: int
    ) -> SSAValue:
        (experts, outputs, blocks, size), (count, rows, _) = shape(self.words), shape(x)
        per, panels = 8 // self.bits, [experts, outputs // width, width, blocks]

        def panel(value: SSAValue) -> SSAValue:
            return build.transpose(build.reshape(value, panels), [0, 1, 3, 2])

        words = build.reshape(self.words, [*panels, size])
        words = build.transpose(words, [0, 1, 3, 4, 2])
        word = f"i32(words[{_EXPERT}, p, n, c, q])"
        *others, number = (unpacked_number(word, self.bits, 8, p) for p in range(per))
        for place, other in reversed(list(enumerate(others))):
            number = f"({other} if t == {place} else {number})"
        zero = self._zero(f"{_EXPERT}, p, n, q")
        y = build.formula(
            f"""
            y[b, r, p, q] = sum(n, c, t) f32(x[b, r, (n * {size} + c) * {per} + t])
                * w[b, p, n, c, t, q] for t < {per}
            where w[b, p, n, c, t, q] = f32(scales[{_EXPERT}, p, n, q]) * (f32({number}) - {zero})
            """,
            *(x, panel(self.scales), expert, words),
            *([] if self.zeros is None else [panel(self.zeros)]),
            shape=[count, rows, outputs // width, width],
            element=f32,
        )
        return build.reshape(y, [count, rows, outputs])


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
