"""
Compares the speed of single operators with that of onnxruntime, to find those that are slow.

    python -m glow.benchmarks.operators [--threads 1] [--seconds 0.5] [--only REGEX]

A row is a model of one operator, with inputs and results as tensors of a program of its own, so
that it may pack and unpack what a network would not. The names of constants begin with `w`. Both
run on the same random inputs, first glow, since the threads of onnxruntime spin after a call. Times
are the shortest ones, with what a call costs. The ratio is the time of onnxruntime divided by that
of glow: above 1, glow is faster.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeAlias

import glow
import numpy as np
import onnx
from glow.benchmarks.trees import shortest
from onnx import helper, numpy_helper

Shape: TypeAlias = tuple[int, ...]


@dataclass(frozen=True)
class Indices:
    """Random indices, i64, below a limit."""

    limit: int
    shape: Shape


@dataclass(frozen=True)
class Bytes:
    """Random bytes, u8, or i8 if they are `signed`."""

    shape: Shape
    signed: bool = False


Values: TypeAlias = Shape | list | Indices | Bytes
"""Random f32 of a shape, constants, indices or bytes."""

OPERATORS: Mapping[str, tuple[str, Mapping[str, Values]]] = {
    "convolution 5x5": (
        "y = Conv<pads=[2,2,2,2]>(x, w)",
        {"x": (1, 64, 56, 56), "w": (64, 64, 5, 5)},
    ),
    "convolution 1x1x1": ("y = Conv(x, w)", {"x": (1, 64, 16, 28, 28), "w": (128, 64, 1, 1, 1)}),
    "convolution 1x10": ("y = Conv<strides=[5]>(x, w)", {"x": (1, 1, 16000), "w": (512, 1, 10)}),
    "transposed convolution": (
        "y = ConvTranspose<strides=[2,2], pads=[1,1,1,1]>(x, w)",
        {"x": (1, 64, 32, 32), "w": (64, 32, 4, 4)},
    ),
    "deformed convolution": (
        "y = DeformConv<pads=[1,1,1,1]>(x, w, o)",
        {"x": (1, 64, 28, 28), "w": (64, 64, 3, 3), "o": (1, 18, 28, 28)},
    ),
    "product": ("y = MatMul(x, w)", {"x": (128, 768), "w": (768, 3072)}),
    "product of batches": ("y = MatMul(x, v)", {"x": (12, 197, 64), "v": (12, 64, 197)}),
    "product of inputs": ("y = MatMul(x, v)", {"x": (1, 512, 512), "v": (1, 512, 512)}),
    "product of few rows": ("y = MatMul(x, v)", {"x": (16, 1024), "v": (1024, 4096)}),
    "product of one row": ("y = MatMul(x, w)", {"x": (1, 1024), "w": (1024, 4096)}),
    "product of bytes": (
        "y = MatMulInteger(x, v)",
        {"x": Bytes((12, 128, 64)), "v": Bytes((12, 64, 128), signed=True)},
    ),
    "max pool": (
        "y = MaxPool<kernel_shape=[3,3], strides=[2,2], pads=[1,1,1,1]>(x)",
        {"x": (1, 64, 112, 112)},
    ),
    "average pool": (
        "y = AveragePool<kernel_shape=[2,2], strides=[2,2]>(x)",
        {"x": (1, 64, 112, 112)},
    ),
    "softmax": ("y = Softmax(x)", {"x": (64, 1000)}),
    "softmax of channels": ("y = Softmax<axis=1>(x)", {"x": (1, 21, 128, 128)}),
    "layer normalization": (
        "y = LayerNormalization(x, w, wb)",
        {"x": (197, 768), "w": (768,), "wb": (768,)},
    ),
    "tanh": ("y = Tanh(x)", {"x": (200, 768)}),
    "erf": ("y = Erf(x)", {"x": (200, 768)}),
    "sum of rows": ("y = Add(x, v)", {"x": (200, 768), "v": (768,)}),
    "mean of images": ("y = GlobalAveragePool(x)", {"x": (1, 256, 56, 56)}),
    "cumulative sum": ("y = CumSum(x, w)", {"x": (64, 1000), "w": [1]}),
    "largest of rows": ("y, i = TopK(x, w)", {"x": (8, 5000), "w": [50]}),
    "transposition": ("y = Transpose<perm=[0,2,3,1]>(x)", {"x": (1, 64, 56, 56)}),
    "gather": ("y = Gather(x, i)", {"x": (5000, 128), "i": Indices(5000, (300,))}),
    "gather at points": ("y = GatherND(x, i)", {"x": (64, 64, 32), "i": Indices(64, (5000, 2))}),
    "gather of elements": (
        "y = GatherElements<axis=1>(x, i)",
        {"x": (100, 1000), "i": Indices(1000, (100, 300))},
    ),
    "scatter": (
        "y = ScatterND(x, i, u)",
        {"x": (1000, 64), "i": Indices(1000, (300, 1)), "u": (300, 64)},
    ),
    "upsampling": (
        'y = Resize<mode="linear">(x, , w)',
        {"x": (1, 64, 28, 28), "w": [1.0, 1.0, 2.0, 2.0]},
    ),
    "downsampling": (
        'y = Resize<mode="linear">(x, , w)',
        {"x": (1, 3, 256, 256), "w": [1.0, 1.0, 0.5, 0.5]},
    ),
    "grid sample": ("y = GridSample(x, g)", {"x": (1, 64, 56, 56), "g": (1, 56, 56, 2)}),
    "fold": (
        "y = Col2Im<pads=[1,1,1,1]>(x, w, wb)",
        {"x": (1, 576, 784), "w": [28, 28], "wb": [3, 3]},
    ),
    "suppression": (
        "y = NonMaxSuppression<center_point_box=1>(b, s, w, wi)",
        {"b": (1, 3000, 4), "s": (1, 21, 3000), "w": [200], "wi": [0.45]},
    ),
    "LSTM": (
        "y = LSTM<hidden_size=96>(x, w, wr)",
        {"x": (40, 1, 96), "w": (1, 384, 96), "wr": (1, 384, 96)},
    ),
}


def values(given: Values, rng: np.random.Generator) -> np.ndarray:
    """Returns the elements of an input or a constant."""
    match given:
        case Indices():
            return rng.integers(0, given.limit, given.shape)
        case Bytes():
            return rng.integers(0, 256, given.shape).astype(np.int8 if given.signed else np.uint8)
        case list():
            whole = isinstance(given[0], int)
            return np.array(given, np.int64 if whole else np.float32)
        case _:
            return rng.standard_normal(given).astype(np.float32)


def operator_model(
    text: str, given: Mapping[str, Values]
) -> tuple[onnx.ModelProto, dict[str, np.ndarray]]:
    """Returns the model of one operator, and its inputs."""
    rng = np.random.default_rng(0)
    node = onnx.parser.parse_node(text)
    arrays = {name: values(v, rng) for name, v in given.items()}
    inputs = {name: a for name, a in arrays.items() if not name.startswith("w")}
    types = [
        helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(a.dtype), a.shape)
        for name, a in inputs.items()
    ]
    constants = [numpy_helper.from_array(a, n) for n, a in arrays.items() if n not in inputs]
    outputs = [helper.make_empty_tensor_value_info(name) for name in node.output]
    graph = helper.make_graph([node], "operator", types, outputs, constants)
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)
    return onnx.shape_inference.infer_shapes(made), inputs


def measure(text: str, given: Mapping[str, Values], threads: int, seconds: float) -> list[float]:
    """Returns the shortest times of glow and of onnxruntime, in seconds."""
    import onnxruntime  # only the benchmark needs it

    model, inputs = operator_model(text, given)
    ours = glow.compile(model, threads=threads)
    times = [shortest(lambda: ours.run(None, inputs), seconds / 2)]
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    session = onnxruntime.InferenceSession(
        model.SerializeToString(), options, ["CPUExecutionProvider"]
    )
    return [*times, shortest(lambda: session.run(None, inputs), seconds / 2)]


def main() -> None:
    parser = argparse.ArgumentParser(description="Times single operators beside onnxruntime.")
    parser.add_argument("--threads", type=int, default=1, help="default 1")
    parser.add_argument("--seconds", type=float, default=0.5, help="for each row; default 0.5")
    parser.add_argument("--only", default="", help="a regular expression for names; default all")
    given = parser.parse_args()
    print(f"{'':24} {'glow':>11} {'ort':>11} {'ratio':>6}")
    for name, (text, inputs) in OPERATORS.items():
        if re.search(given.only, name):
            ours, theirs = measure(text, inputs, given.threads, given.seconds)
            print(
                f"{name:24} {1e6 * ours:8.1f} us {1e6 * theirs:8.1f} us {theirs / ours:6.2f}",
                flush=True,
            )


if __name__ == "__main__":
    main()
