"""Small networks that tests of the runtime share."""

from __future__ import annotations

import numpy as np
import onnx
from glow.context import make_context
from glow.tests.support.seeds import shared_generator
from onnx import TensorProto, helper, numpy_helper
from xdsl.dialects.builtin import ModuleOp
from xdsl.parser import Parser

GRAPH = """
func.func @main(%x: tensor<2x3xf32> {glow.name = "x"}, %y: tensor<2x3xf32> {glow.name = "y"})
    -> (tensor<2x3xf32> {glow.name = "sum"}, tensor<2x3xf32> {glow.name = "difference"}) {
  %0 = glow.add %x, %y : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  %1 = glow.sub %x, %y : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  func.return %0, %1 : tensor<2x3xf32>, tensor<2x3xf32>
}
"""


def graph(text: str = GRAPH) -> ModuleOp:
    return Parser(make_context(), text).parse_module()


def small_network(seed: int) -> onnx.ModelProto:
    """Returns a convolution, a pool and a fully connected layer, with a symbolic batch size."""
    # modules share what they compute of a network
    rng = shared_generator(f"small network {seed}")
    weights = {
        "w": rng.standard_normal((8, 3, 3, 3)).astype(np.float32) / 5,
        "b": rng.standard_normal(8).astype(np.float32),
        "m": rng.standard_normal((8 * 4 * 5, 7)).astype(np.float32) / 12,
        "c": rng.standard_normal(7).astype(np.float32),
    }
    nodes = [
        helper.make_node("Conv", ["image", "w", "b"], ["conv"], pads=[1, 1, 1, 1]),
        helper.make_node("Relu", ["conv"], ["relu"]),
        helper.make_node("MaxPool", ["relu"], ["pool"], kernel_shape=[2, 2], strides=[2, 2]),
        helper.make_node("Flatten", ["pool"], ["flat"]),
        helper.make_node("Gemm", ["flat", "m", "c"], ["logits"]),
        helper.make_node("Softmax", ["logits"], ["probabilities"], axis=1),
    ]
    network = helper.make_graph(
        nodes,
        "small",
        [helper.make_tensor_value_info("image", TensorProto.FLOAT, ["batch", 3, 8, 10])],
        [
            helper.make_tensor_value_info("probabilities", TensorProto.FLOAT, ["batch", 7]),
            helper.make_tensor_value_info("logits", TensorProto.FLOAT, ["batch", 7]),
        ],
        [numpy_helper.from_array(value, name) for name, value in weights.items()],
    )
    return helper.make_model(network, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)
