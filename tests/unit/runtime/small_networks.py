"""Small networks for the tests of targets."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper


class Network:
    """An ONNX model in the making, with random weights."""

    def __init__(self, rng: np.random.Generator):
        self.rng = rng
        self.nodes: list[onnx.NodeProto] = []
        self.weights: list[onnx.TensorProto] = []

    def constant(self, *shape: int) -> str:
        name = f"w{len(self.weights)}"
        scale = np.sqrt(1 / np.prod(shape[1:])) if len(shape) > 1 else 0.1
        array = (self.rng.standard_normal(shape) * scale).astype(np.float32)
        self.weights.append(numpy_helper.from_array(array, name))
        return name

    def node(self, operator: str, *inputs: str, **attributes: Any) -> str:
        name = f"{operator}{len(self.nodes)}"
        self.nodes.append(helper.make_node(operator, inputs, [name], **attributes))
        return name

    def convolution(self, x: str, out: int, inner: int, k: int, **attributes: Any) -> str:
        w, b = self.constant(out, inner, k, k), self.constant(out)
        return self.node("Conv", x, w, b, **attributes)


def network(rng: np.random.Generator) -> onnx.ModelProto:
    """
    Returns convolutions of all kinds, pools, concatenation, normalisation, attention, activations.
    """
    n = Network(rng)
    x = n.node("Relu", n.convolution("image", 20, 3, 3, strides=[2, 2], pads=[1, 1, 1, 1]))
    y = n.node("Clip", n.convolution(x, 20, 1, 3, group=20, pads=[1, 1, 1, 1]), "", "")
    y = n.node("Add", x, n.convolution(y, 20, 20, 1))
    z = n.node("Sigmoid", n.convolution(y, 32, 20, 3, pads=[1, 1, 1, 1]))
    z = n.node("Relu", n.convolution(z, 32, 16, 3, group=2, pads=[2, 2, 2, 2], dilations=[2, 2]))
    x = n.node("Concat", n.node("LRN", y, size=5), z, axis=1)
    x = n.node("AveragePool", x, kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1])
    x = n.node("MaxPool", x, kernel_shape=[2, 2])
    x = n.node("Flatten", x, axis=2)
    x = n.node("Transpose", n.node("Squeeze", x), perm=[1, 0])
    x = n.node("LayerNormalization", x, n.constant(52), n.constant(52))
    scores = n.node("MatMul", x, n.node("Transpose", x, perm=[1, 0]))
    x = n.node("MatMul", n.node("Softmax", scores, axis=-1), x)
    x = n.node("Erf", n.node("MatMul", x, n.constant(52, 37)))
    x = n.node("Tanh", n.node("MatMul", x, n.constant(37, 50)))
    n.node("Cos", x)
    graph = helper.make_graph(
        n.nodes,
        "kinds",
        [helper.make_tensor_value_info("image", TensorProto.FLOAT, [1, 3, 23, 30])],
        [helper.make_tensor_value_info(n.nodes[-1].output[0], TensorProto.FLOAT, None)],
        n.weights,
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
