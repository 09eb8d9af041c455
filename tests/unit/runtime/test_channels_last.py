"""Networks for channels-last layouts are compiled as if they had been written for others."""

from __future__ import annotations

import glow
import numpy as np
import onnx
import pytest
from glow.tests.unit.runtime.small_networks import Network
from onnx import TensorProto, helper
from onnx.reference import ReferenceEvaluator

FIRST, LAST = [0, 3, 1, 2], [0, 2, 3, 1]


class ChannelsLast(Network):
    """A network as Keras exports it: each convolution is between two transposes."""

    def normalized(self, x: str, out: int, inner: int, k: int) -> str:
        """Returns a convolution and a batch normalisation, which is written as three nodes."""
        pad = k // 2
        x = self.node("Transpose", x, perm=FIRST)
        x = self.convolution(x, out, inner, k, pads=[pad] * 4)
        x = self.node("Sub", self.node("Transpose", x, perm=LAST), self.constant(out))
        x = self.node("Mul", x, self.constant(out))
        return self.node("Add", x, self.constant(out))

    def swish(self, x: str) -> str:
        return self.node("Mul", x, self.node("Sigmoid", x))

    def gated(self, x: str, channels: int) -> str:
        """Returns channels times a gate of each, from the mean over pixels."""
        gate = self.node("ReduceMean", x, axes=[1, 2], keepdims=1)
        gate = self.node("Sigmoid", self.normalized(gate, channels, channels, 1))
        return self.node("Mul", x, gate)


def network(rng: np.random.Generator, rows: int | str) -> onnx.ModelProto:
    n = ChannelsLast(rng)
    x = n.swish(n.normalized("image", 19, 3, 3))
    y = n.gated(n.swish(n.normalized(x, 19, 19, 3)), 19)
    x = n.node("Add", x, n.normalized(y, 19, 19, 1))
    x = n.node("Concat", x, n.normalized(n.node("Relu", x), 7, 19, 3), axis=3)
    x = n.node("ReduceMean", n.node("Relu", x), axes=[1, 2], keepdims=0)
    n.node("MatMul", x, n.constant(26, 5))
    image = helper.make_tensor_value_info("image", TensorProto.FLOAT, [rows, 11, 13, 3])
    result = helper.make_tensor_value_info(n.nodes[-1].output[0], TensorProto.FLOAT, [rows, 5])
    graph = helper.make_graph(n.nodes, "channels_last", [image], [result], n.weights)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


@pytest.mark.parametrize("rows", [1, 3, "N"])
def test_transposes_and_maps_of_channels_vanish(rows: int | str, rng: np.random.Generator):
    made = network(rng, rows)
    images = rows if isinstance(rows, int) else 2
    feed = {"image": rng.standard_normal((images, 11, 13, 3)).astype(np.float32)}
    wanted = map(np.asarray, ReferenceEvaluator(made).run(None, feed))
    model = glow.compile(made, cache=False)
    for a, b in zip(model.run(None, feed), wanted, strict=True):
        np.testing.assert_allclose(a, b, rtol=0, atol=1e-5 * np.abs(b).max())
    if not isinstance(rows, int):
        return
    optimized = str(model.stages["optimized"])
    assert optimized.count("glow.transpose") == 1  # that of the image
    assert "glow.sub" not in optimized
    assert optimized.count("glow.mul") == 3  # two activations and the gate
