"""
Networks that are built by script, with seeded random weights: MobileNetV2 and a text encoder.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import prod, sqrt
from typing import Any

import numpy as np
from onnx import ModelProto, TensorProto, ValueInfoProto, helper

OPSET = 17
_IR_VERSION = 8


class Graph:
    """An ONNX graph in the making. Values are known by their names."""

    def __init__(self, name: str, rng: np.random.Generator):
        self.name = name
        self.rng = rng
        self._nodes: list[Any] = []
        self._weights: list[TensorProto] = []

    def op(self, kind: str, *inputs: str, **attributes: Any) -> str:
        """Returns a node with one output."""
        result = f"{kind.lower()}_{len(self._nodes)}"
        self._nodes.append(helper.make_node(kind, inputs, [result], result, **attributes))
        return result

    def constant(self, array: np.ndarray, hint: str = "weight") -> str:
        name = f"{hint}_{len(self._weights)}"
        kind = helper.np_dtype_to_tensor_dtype(array.dtype)
        self._weights.append(helper.make_tensor(name, kind, array.shape, array.tobytes(), raw=True))
        return name

    def number(self, value: float) -> str:
        return self.constant(np.array(value, np.float32), "number")

    def ints(self, *values: int) -> str:
        return self.constant(np.array(values, np.int64), "shape")

    def normal(self, shape: Sequence[int], deviation: float) -> str:
        array = self.rng.standard_normal(tuple(shape), dtype=np.float32)
        array *= np.float32(deviation)
        return self.constant(array)

    def uniform(self, size: int, mean: float, spread: float) -> str:
        array = self.rng.uniform(mean - spread, mean + spread, size)
        return self.constant(array.astype(np.float32))

    def finish(
        self, inputs: Sequence[ValueInfoProto], outputs: Mapping[str, Sequence[int]]
    ) -> ModelProto:
        results = [
            helper.make_tensor_value_info(name, TensorProto.FLOAT, list(shape))
            for name, shape in outputs.items()
        ]
        graph = helper.make_graph(self._nodes, self.name, inputs, results, self._weights)
        opset = helper.make_opsetid("", OPSET)
        return helper.make_model(graph, opset_imports=[opset], ir_version=_IR_VERSION)


# MobileNetV2

_STAGES = (
    *((1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2), (6, 64, 4, 2)),
    *((6, 96, 3, 1), (6, 160, 3, 2), (6, 320, 1, 1)),
)
"""Expansion, channels, blocks, and stride of the first block (Sandler et al. 2018, table 2)."""


def mobilenet_v2(rng: np.random.Generator) -> ModelProto:
    """
    Returns MobileNetV2 with width 1.0 (Sandler et al. 2018): an image, f32 [1, 3, 224, 224], to
    logits [1, 1000]. Batch normalisation is a node of its own.
    """
    g = Graph("mobilenet_v2", rng)
    x = _convolution(g, "image", 3, 32, 3, stride=2)
    channels = 32
    for expansion, out, blocks, stride in _STAGES:
        for block in range(blocks):
            x = _inverted_residual(g, x, channels, out, expansion, stride if block == 0 else 1)
            channels = out
    x = _convolution(g, x, channels, 1280, 1)
    x = g.op("Flatten", g.op("GlobalAveragePool", x), axis=1)
    weights, bias = g.normal((1000, 1280), sqrt(1 / 1280)), g.uniform(1000, 0.0, 0.1)
    logits = g.op("Gemm", x, weights, bias, transB=1)
    image = helper.make_tensor_value_info("image", TensorProto.FLOAT, [1, 3, 224, 224])
    return g.finish([image], {logits: (1, 1000)})


def _inverted_residual(
    g: Graph, x: str, channels: int, out: int, expansion: int, stride: int
) -> str:
    hidden = channels * expansion
    y = x if expansion == 1 else _convolution(g, x, channels, hidden, 1)
    y = _convolution(g, y, hidden, hidden, 3, stride, group=hidden)
    y = _convolution(g, y, hidden, out, 1, rectified=False)
    return g.op("Add", x, y) if stride == 1 and channels == out else y


def _convolution(
    g: Graph,
    x: str,
    channels: int,
    out: int,
    size: int,
    stride: int = 1,
    group: int = 1,
    rectified: bool = True,
) -> str:
    """
    Adds a convolution, batch normalisation and, if `rectified`, a rectifier that is cut off at 6.
    """
    shape = (out, channels // group, size, size)
    # a rectifier halves the second moment
    gain = 2.0 if rectified else 1.0
    y = g.op(
        "Conv",
        x,
        g.normal(shape, sqrt(gain / prod(shape[1:]))),
        kernel_shape=[size, size],
        strides=[stride, stride],
        pads=[size // 2] * 4,
        group=group,
    )
    scale = 1.0 if rectified else 0.5
    parameters = [g.uniform(out, mean, 0.2) for mean in (scale, 0.0, 0.0, 1.0)]
    y = g.op("BatchNormalization", y, *parameters)
    return g.op("Clip", y, g.number(0.0), g.number(6.0)) if rectified else y


# the text encoder

_LAYERS, _WIDTH, _HEADS, _HIDDEN, _SEQUENCE, _VOCABULARY = 6, 384, 12, 1536, 128, 30522


def encoder(rng: np.random.Generator) -> ModelProto:
    """
    Returns an encoder like BERT (Devlin et al. 2019) of the size of MiniLM: 6 layers, width 384, 12
    heads.

    Inputs are `tokens`, i64 [1, 128], indices into the vocabulary, and `mask`, i64 [1, 128], 0
    where a token does not count. The output is f32 [1, 128, 384]. The nodes are those that PyTorch
    exports: products and sums of their own, GELU by its error function.
    """
    g = Graph("encoder", rng)
    words = g.op("Gather", g.normal((_VOCABULARY, _WIDTH), 1.0), "tokens", axis=0)
    positions = g.normal((1, _SEQUENCE, _WIDTH), 0.3)
    x = _layer_norm(g, g.op("Add", words, positions))
    absent = g.op("Cast", g.op("Equal", "mask", g.ints(0)), to=TensorProto.FLOAT)
    penalty = g.op("Mul", absent, g.number(float(np.finfo(np.float32).min)))
    penalty = g.op("Unsqueeze", penalty, g.ints(1, 2))
    for _ in range(_LAYERS):
        x = _layer_norm(g, g.op("Add", _attention(g, x, penalty), x))
        hidden = _gelu(g, _linear(g, x, _WIDTH, _HIDDEN))
        x = _layer_norm(g, g.op("Add", _linear(g, hidden, _HIDDEN, _WIDTH), x))
    inputs = [
        helper.make_tensor_value_info(name, TensorProto.INT64, [1, _SEQUENCE])
        for name in ("tokens", "mask")
    ]
    return g.finish(inputs, {x: (1, _SEQUENCE, _WIDTH)})


def _linear(g: Graph, x: str, inner: int, out: int) -> str:
    product = g.op("MatMul", x, g.normal((inner, out), sqrt(1 / inner)))
    return g.op("Add", g.uniform(out, 0.0, 0.1), product)


def _attention(g: Graph, x: str, penalty: str) -> str:
    """Adds scaled dot-product attention of several heads, and the projection of their results."""
    heads = g.ints(0, 0, _HEADS, _WIDTH // _HEADS)
    split = [g.op("Reshape", _linear(g, x, _WIDTH, _WIDTH), heads) for _ in range(3)]
    query, value = (g.op("Transpose", split[i], perm=[0, 2, 1, 3]) for i in (0, 2))
    key = g.op("Transpose", split[1], perm=[0, 2, 3, 1])
    scores = g.op("MatMul", query, key)
    scores = g.op("Div", scores, g.number(sqrt(_WIDTH // _HEADS)))
    shares = g.op("Softmax", g.op("Add", scores, penalty), axis=-1)
    context = g.op("Transpose", g.op("MatMul", shares, value), perm=[0, 2, 1, 3])
    return _linear(g, g.op("Reshape", context, g.ints(0, 0, _WIDTH)), _WIDTH, _WIDTH)


def _gelu(g: Graph, x: str) -> str:
    """Returns `x * (1 + erf(x / sqrt(2))) / 2` (Hendrycks and Gimpel 2016)."""
    one = g.op("Add", g.op("Erf", g.op("Div", x, g.number(sqrt(2)))), g.number(1.0))
    return g.op("Mul", g.op("Mul", x, one), g.number(0.5))


def _layer_norm(g: Graph, x: str) -> str:
    scale, bias = g.uniform(_WIDTH, 1.0, 0.2), g.uniform(_WIDTH, 0.0, 0.2)
    return g.op("LayerNormalization", x, scale, bias, axis=-1, epsilon=1e-12)


BUILT: Mapping[str, Callable[[np.random.Generator], ModelProto]] = {
    "mobilenet_v2": mobilenet_v2,
    "encoder": encoder,
}
