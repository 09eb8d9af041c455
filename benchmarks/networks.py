"""
Real networks with random weights, for tests and benchmarks.

The onnx package ships the graphs of nine image classifiers with weights that `ConstantOfShape`
fills with one number. Here the weights become ordinary initializers with seeded random numbers,
scaled so that activations stay near unit variance (He et al. 2015, "Delving deep into rectifiers").
`built_networks` has two more, of newer kinds.
"""

from __future__ import annotations

import os
import zlib
from collections.abc import Callable, Mapping
from math import prod
from pathlib import Path

import numpy as np
import onnx
from onnx import GraphProto, ModelProto, NodeProto, TensorProto, helper, numpy_helper

from .built_networks import BUILT

_FOLDER = Path(onnx.__file__).parent / "backend" / "test" / "data" / "light"

NETWORKS: Mapping[str, str] = {
    "alexnet": "light_bvlc_alexnet",
    "densenet121": "light_densenet121",
    "inception_v1": "light_inception_v1",
    "inception_v2": "light_inception_v2",
    "resnet50": "light_resnet50",
    "shufflenet": "light_shufflenet",
    "squeezenet": "light_squeezenet",
    "vgg19": "light_vgg19",
    "zfnet512": "light_zfnet512",
}
"""The networks that onnx ships, and the files they come from."""

ALL: tuple[str, ...] = (*NETWORKS, *BUILT)
"""The names of all networks."""

_BRANCH_SCALE = 0.4
"""Scale of the batch normalisation that ends a residual branch, so that sums of many branches and
their input do not grow."""

_LINEAR_GAIN = np.sqrt(0.5)
"""
The gain of weights that do not follow a rectifier. A rectifier halves the second moment, and
weights after it make up for that.
"""

_KEEP_SIGN = {
    *("AveragePool", "Concat", "Dropout", "GlobalAveragePool"),
    *("LRN", "MaxPool", "Reshape", "Transpose"),
}

_IR_VERSION = 8


def network_graph_file(name: str) -> Path:
    """Returns the file with the graph of a network, with the constant weights as onnx ships it."""
    return _FOLDER / f"{NETWORKS[name]}.onnx"


def network(name: str, seed: int = 0) -> ModelProto:
    """
    Returns the network called `name` with random weights that depend on `seed`.

    In the networks that onnx ships, the first input is the image, f32 [1, 3, height, width]. The
    first output are probabilities; if they come from a softmax, the second output is the softmax's
    operand. Raises ValueError for other names.
    """
    if name not in ALL:
        raise ValueError(f"expected an .onnx file or one of {', '.join(ALL)}, found {name!r}")
    rng = np.random.default_rng([seed, zlib.crc32(name.encode())])
    if name in BUILT:
        return BUILT[name](rng)
    model = onnx.load(network_graph_file(name))
    graph = model.graph
    weights = _Weights(graph, rng)
    tensors = weights.tensors()
    kept = [n for n in graph.node if n.op_type != "ConstantOfShape"]
    used = {name for node in kept for name in node.input}
    images = [i for i in graph.input if i.name in used and i.name not in tensors]
    for part, items in (("node", kept), ("input", images), ("initializer", tensors.values())):
        items = list(items)
        graph.ClearField(part)
        getattr(graph, part).extend(items)
    _add_logits(graph)
    model.ir_version = _IR_VERSION
    return model


def network_file(name: str, folder: str | os.PathLike[str], seed: int = 0) -> Path:
    """Returns the file of `network(name, seed)` in `folder`, written if it is not there yet."""
    path = Path(folder) / f"{name}-{seed}.onnx"
    if not path.exists():
        partial = path.with_suffix(f".{os.getpid()}.part")
        partial.write_bytes(network(name, seed).SerializeToString())
        partial.replace(path)
    return path


def _add_logits(graph: GraphProto) -> None:
    """Makes the input of a softmax that computes the first output an output too."""
    result = graph.output[0]
    for node in graph.node:
        if node.op_type == "Softmax" and result.name in node.output:
            logits = onnx.ValueInfoProto()
            logits.CopyFrom(result)
            logits.name = node.input[0]
            graph.output.append(logits)


class _Weights:
    """Random tensors in place of a graph's constants, each according to the node that uses it."""

    def __init__(self, graph: GraphProto, rng: np.random.Generator):
        self.rng = rng
        self.producers = {o: n for n in graph.node for o in n.output}
        self.users: dict[str, list[NodeProto]] = {}
        for node in graph.node:
            for name in node.input:
                self.users.setdefault(name, []).append(node)
        self.initializers = {t.name: t for t in graph.initializer}
        self.nodes = list(graph.node)

    def tensors(self) -> dict[str, TensorProto]:
        """
        Returns the initializers of the new graph by name: random floats, and integers as they were.
        """
        shapes = {
            n.output[0]: tuple(int(d) for d in numpy_helper.to_array(self.initializers[n.input[0]]))
            for n in self.nodes
            if n.op_type == "ConstantOfShape"
        }
        fixed: dict[str, TensorProto] = {}
        for name, tensor in self.initializers.items():
            if tensor.data_type == TensorProto.FLOAT:
                shapes[name] = tuple(tensor.dims)
            elif any(u.op_type != "ConstantOfShape" for u in self.users.get(name, ())):
                fixed[name] = tensor
        made = {
            name: self._tensor(name, shape) for name, shape in shapes.items() if name in self.users
        }
        return made | fixed

    def _tensor(self, name: str, shape: tuple[int, ...]) -> TensorProto:
        user, index = self._user(name)
        make = _ROLES[user.op_type, index]
        array = make(self.rng, shape)
        array *= np.float32(self._gain(user, index))
        return helper.make_tensor(name, TensorProto.FLOAT, shape, array.tobytes(), raw=True)

    def _user(self, name: str) -> tuple[NodeProto, int]:
        """
        Returns the node that computes with a weight, and which input it is; views are looked
        through.
        """
        user = self.users[name][0]
        if user.op_type in ("Unsqueeze", "Reshape"):
            return self._user(user.output[0])
        return user, list(user.input).index(name)

    def _gain(self, user: NodeProto, index: int) -> float:
        if user.op_type in ("Conv", "Gemm") and index == 1:
            return 1.0 if self._is_rectified(user.input[0]) else _LINEAR_GAIN
        if user.op_type != "BatchNormalization" or index != 1:
            return 1.0
        sums = [u for u in self.users.get(user.output[0], ()) if u.op_type == "Sum"]
        return _BRANCH_SCALE if sums else 1.0

    def _is_rectified(self, name: str) -> bool:
        """Returns whether a value consists of results of rectifiers, moved or pooled."""
        producer = self.producers.get(name)
        while producer is not None and producer.op_type in _KEEP_SIGN:
            producer = self.producers.get(producer.input[0])
        return producer is not None and producer.op_type == "Relu"


def _he(rng: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
    """Returns weights [outputs, inputs, ...] that keep the second moment after a rectifier."""
    deviation = np.float32(np.sqrt(2.0 / max(1, prod(shape[1:]))))
    array = rng.standard_normal(shape, dtype=np.float32)
    array *= deviation
    return array


def _around(mean: float, spread: float) -> Callable[..., np.ndarray]:
    def make(rng: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
        return rng.uniform(mean - spread, mean + spread, shape).astype(np.float32)

    return make


_ROLES: Mapping[tuple[str, int], Callable[..., np.ndarray]] = {
    ("Conv", 1): _he,
    ("Conv", 2): _around(0.0, 0.1),
    ("Gemm", 1): _he,
    ("Gemm", 2): _around(0.0, 0.1),
    ("BatchNormalization", 1): _around(1.0, 0.2),
    ("BatchNormalization", 2): _around(0.0, 0.2),
    ("BatchNormalization", 3): _around(0.0, 0.2),
    ("BatchNormalization", 4): _around(1.0, 0.2),
    ("Mul", 1): _around(1.0, 0.2),
    ("Add", 1): _around(0.0, 0.2),
}
"""The kind of random numbers for an input of an operator."""
