"""Random networks, and what onnxruntime's quantizer makes of them."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

SAMPLES = 4


class Network:
    """A network of random layers, made node by node."""

    def __init__(self, rng: np.random.Generator, *shape: int):
        self.rng = rng
        self.shape = shape
        self.nodes: list[onnx.NodeProto] = []
        self.weights: list[onnx.TensorProto] = []
        self.last = "x"

    def weight(self, *shape: int, size: float = 1.0) -> str:
        values = self.rng.standard_normal(shape) * self.rng.uniform(
            0.3, 1.0, (shape[0], *[1] * (len(shape) - 1))
        )
        return self.constant((values * size).astype(np.float32))

    def constant(self, array: np.ndarray) -> str:
        name = f"w{len(self.weights)}"
        self.weights.append(numpy_helper.from_array(array, name))
        return name

    def node(self, operator: str, *inputs: str, **attributes: Any) -> str:
        """Appends a node; its result is what `last` names from now on."""
        self.last = f"v{len(self.nodes)}"
        name = f"{operator}_{len(self.nodes)}"
        self.nodes.append(helper.make_node(operator, inputs, [self.last], name, **attributes))
        return self.last

    def conv(
        self,
        outputs: int,
        inputs: int,
        kernel: int,
        x: str | None = None,
        bias: bool = True,
        **attributes: Any,
    ) -> str:
        group = attributes.get("group", 1)
        fan_in = inputs // group * kernel * kernel
        operands = [
            x or self.last,
            self.weight(outputs, inputs // group, kernel, kernel, size=fan_in**-0.5),
        ]
        if bias:
            operands.append(self.weight(outputs, size=0.3))
        return self.node("Conv", *operands, kernel_shape=[kernel, kernel], **attributes)

    def model(self) -> onnx.ModelProto:
        graph = helper.make_graph(
            self.nodes,
            "random",
            [helper.make_tensor_value_info("x", TensorProto.FLOAT, self.shape)],
            [helper.make_tensor_value_info(self.last, TensorProto.FLOAT, None)],
            self.weights,
        )
        made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
        return onnx.shape_inference.infer_shapes(made)


def residual(rng: np.random.Generator) -> Network:
    """Returns convolutions with a sum, pools, and a fully connected layer."""
    c, o = (int(n) for n in rng.integers(3, 12, 2))
    net = Network(
        rng, int(rng.integers(1, 3)), c, int(rng.integers(9, 15)), int(rng.integers(9, 15))
    )
    a = net.node("Relu", net.conv(o, c, 3, pads=[1, 1, 1, 1], strides=[1, 2]))
    b = net.conv(o, o, 3, pads=[1, 0, 1, 2])
    shortcut = net.conv(o, o, 1, a, bias=False)
    net.node("Relu", net.node("Add", b, shortcut))
    net.node("MaxPool", net.last, kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1])
    net.node(
        "Clip",
        net.conv(o, o, 3, group=o, pads=[1, 1, 1, 1]),
        net.constant(np.array(0, np.float32)),
        net.constant(np.array(6, np.float32)),
    )
    net.node("GlobalAveragePool", net.last)
    net.node("Flatten", net.last)
    net.node("Gemm", net.last, net.weight(7, o), net.weight(7), transB=1)
    return net


def branches(rng: np.random.Generator) -> Network:
    """Returns parts that are joined, average pools, activations without integer form."""
    c = int(rng.integers(1, 6)) * 2
    net = Network(rng, 1, c, int(rng.integers(7, 14)), int(rng.integers(7, 14)))
    stem = net.node("Relu", net.conv(8, c, 3, pads=[1, 1, 1, 1]))
    a = net.node("Relu", net.conv(5, 8, 1, stem))
    b = net.node("LeakyRelu", net.conv(6, 8, 3, stem, pads=[1, 1, 1, 1], group=2), alpha=0.1)
    d = net.node("MaxPool", stem, kernel_shape=[3, 3], pads=[1, 1, 1, 1])
    net.node("Concat", a, b, d, axis=1)
    s = net.conv(4, 19, 1)
    net.node("Mul", net.node("Sigmoid", s), s)
    # last, because means of integers often lie halfway between two, and rounding decides
    net.node("AveragePool", net.last, kernel_shape=[2, 3], strides=[2, 1])
    net.node("Transpose", net.last, perm=[0, 2, 3, 1])
    return net


def encoder(rng: np.random.Generator) -> Network:
    """Returns products of matrices, some of two activations."""
    rows, k, n = (int(v) for v in rng.integers(3, 14, 3))
    net = Network(rng, 1, rows, k)
    q = net.node("Add", net.node("MatMul", "x", net.weight(k, n, size=k**-0.5)), net.weight(n))
    key = net.node("MatMul", "x", net.weight(k, n, size=k**-0.5))
    turned = net.node("Transpose", key, perm=[0, 2, 1])
    weights = net.node("Softmax", net.node("MatMul", q, turned), axis=2)
    net.node("MatMul", weights, key)
    net.node("Relu", net.node("Add", net.last, q))
    net.node("MatMul", net.last, net.weight(n, 5, size=n**-0.5))
    return net


NETWORKS: dict[str, Callable[[np.random.Generator], Network]] = {
    "residual": residual,
    "branches": branches,
    "encoder": encoder,
}


def quantize(network: Network, folder: Path, **options: Any) -> onnx.ModelProto:
    """
    Returns the network quantized by onnxruntime's `quantize_static` on random data; `quant_format`,
    `activation_type`, `weight_type` by name.
    """
    from onnxruntime import quantization as q

    class Data(q.CalibrationDataReader):
        def __init__(self) -> None:
            self.left = SAMPLES

        def get_next(self) -> Any:
            self.left -= 1
            return None if self.left < 0 else {"x": random_input(network)}

    source, target = folder / "float.onnx", folder / "quantized.onnx"
    onnx.save(network.model(), source)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        logging.disable(logging.WARNING)
        q.quantize_static(
            source,
            target,
            Data(),
            quant_format=q.QuantFormat[options.pop("quant_format", "QDQ")],
            activation_type=q.QuantType[options.pop("activation_type", "QUInt8")],
            weight_type=q.QuantType[options.pop("weight_type", "QInt8")],
            **options,
        )
        logging.disable(logging.NOTSET)
    return onnx.load(target)


def random_input(network: Network) -> np.ndarray:
    return network.rng.standard_normal(network.shape).astype(np.float32)


def node_by_node(model: onnx.ModelProto, x: np.ndarray) -> np.ndarray:
    """
    Returns the first output of a QDQ model by onnxruntime, which does not join conversions with the
    floats between them: its products of integers saturate on some machines (see `reference`).
    """
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.log_severity_level = 3
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = onnxruntime.InferenceSession(
        model.SerializeToString(), options, ["CPUExecutionProvider"]
    )
    return session.run(None, {"x": x})[0]  # pyright: ignore


def quantum(model: onnx.ModelProto) -> float:
    """Returns the scale of the quantized tensor that the model's output is made of."""
    makers = {o: n for n in model.graph.node for o in n.output}
    constants = {t.name: numpy_helper.to_array(t) for t in model.graph.initializer}
    node = makers[model.graph.output[0].name]
    while node.op_type != "DequantizeLinear":
        node = makers[node.input[0]]
    return float(constants[node.input[1]].max())
