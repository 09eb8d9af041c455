"""
Estimates the time of ResNet-18 on VTA, layer by layer, with the simulator.

    python -m glow.benchmarks.vta [--size 224] [--width 64] [--markdown] [--simulate]

The network (He et al. 2016) has seeded random weights and is quantized with scales that are powers
of two. `use` is the share of cycles in which the GEMM core begins a product, and `traffic` the DRAM
traffic divided by what is unavoidable: each byte that a layer uses, moved once. With `--simulate`,
the program also runs, and its results are compared with those of the interpreter.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator
from typing import Any, NamedTuple

import glow
import numpy as np
from glow import quantization
from glow.glow_dialects.plan_attributes import ARENA_LOWER_BOUND
from glow.runtime.interpreter import interpret
from glow.runtime.memory_plan import function_bytes
from glow.runtime.signature import main_function
from glow.runtime.vta.backend import VtaBackend
from glow.runtime.vta.executable import VtaExecutable
from glow.runtime.vta.program import VtaProgram
from glow.runtime.vta.timing import estimate
from glow.runtime.vta.traffic import compulsory_bytes
from onnx import ModelProto, NodeProto, TensorProto, helper, numpy_helper
from rich.console import Console
from rich.table import Table
from xdsl.dialects.builtin import ModuleOp

SIZE, WIDTH = 224, 64
OPSET, IR_VERSION = 17, 9


class _Graph:
    """An ONNX graph in the making; values have the names of their nodes."""

    def __init__(self, rng: np.random.Generator):
        self._rng = rng
        self.nodes: list[NodeProto] = []
        self.weights: list[TensorProto] = []

    def op(self, kind: str, name: str, *inputs: str, **attributes: Any) -> str:
        self.nodes.append(helper.make_node(kind, inputs, [name], name, **attributes))
        return name

    def normal(self, *shape: int, deviation: float) -> str:
        array = self._rng.standard_normal(shape).astype(np.float32) * np.float32(deviation)
        name = f"w{len(self.weights)}"
        self.weights.append(numpy_helper.from_array(array, name))
        return name

    def conv(self, x: str, name: str, channels: tuple[int, int], size: int, stride: int) -> str:
        inputs, outputs = channels
        weights = self.normal(
            outputs, inputs, size, size, deviation=(2 / (inputs * size * size)) ** 0.5
        )
        return self.op(
            "Conv", name, x, weights, self.normal(outputs, deviation=0.1),
            kernel_shape=[size] * 2, strides=[stride] * 2, pads=[size // 2] * 4,
        )  # fmt: skip


def resnet18(rng: np.random.Generator, size: int = SIZE, width: int = WIDTH) -> ModelProto:
    """
    Returns a network from f32 [1, 3, size, size] to logits [1, 1000]; batch normalisation is in the
    convolutions.
    """
    g = _Graph(rng)
    x = g.op("Relu", "relu1", g.conv("image", "conv1", (3, width), 7, 2))
    x = g.op("MaxPool", "pool", x, kernel_shape=[3] * 2, strides=[2] * 2, pads=[1] * 4)
    channels = width
    for stage in range(4):
        for block in range(2):
            stride = 2 if stage and not block else 1
            x = _block(g, x, f"block{stage + 1}.{block + 1}", (channels, width << stage), stride)
            channels = width << stage
    x = g.op("Flatten", "flat", g.op("GlobalAveragePool", "mean", x))
    weights = g.normal(1000, channels, deviation=channels**-0.5)
    g.op("Gemm", "logits", x, weights, g.normal(1000, deviation=0.1), transB=1)
    values = [
        helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)
        for name, shape in (("image", [1, 3, size, size]), ("logits", [1, 1000]))
    ]
    graph = helper.make_graph(g.nodes, "resnet18", values[:1], values[1:], g.weights)
    opset = helper.make_opsetid("", OPSET)
    return helper.make_model(graph, opset_imports=[opset], ir_version=IR_VERSION)


def _block(g: _Graph, x: str, name: str, channels: tuple[int, int], stride: int) -> str:
    inputs, outputs = channels
    y = g.op("Relu", f"{name}.relu1", g.conv(x, f"{name}.conv1", channels, 3, stride))
    y = g.conv(y, f"{name}.conv2", (outputs, outputs), 3, 1)
    if stride > 1 or inputs != outputs:
        x = g.conv(x, f"{name}.shortcut", channels, 1, stride)
    return g.op("Relu", f"{name}.relu2", g.op("Add", f"{name}.add", y, x))


def quantized(model: ModelProto, images: list[np.ndarray]) -> ModuleOp:
    """
    Returns the quantized graph, with one power-of-two scale for each tensor, from the ranges on
    some images.
    """
    data = model.SerializeToString()
    profile = quantization.profile(data, [{"image": image} for image in images], cache=False)
    graph = quantization.optimized_graph(data)
    options = quantization.Quantization(
        schema="power_of_two", weight_schema="power_of_two", everything=True, per_channel=False
    )
    quantization.quantize(graph, profile, options, "interpreter")
    return graph


class Row(NamedTuple):
    """A layer."""

    name: str
    products: int
    cycles: int
    use: float
    bytes: int
    traffic: float


def rows(program: VtaProgram) -> Iterator[Row]:
    """Yields the layers of a program, and all of it."""
    found = estimate(program)
    least = compulsory_bytes(program)
    for layer, compulsory in zip(found.layers, least, strict=True):
        moved = sum(layer.dram_bytes.values())
        yield Row(
            layer.name, layer.gemm_iterations, layer.cycles, layer.gemm_utilisation, moved,
            moved / compulsory,
        )  # fmt: skip
    total = found.total
    moved = sum(total.dram_bytes.values())
    yield Row(
        "all", total.gemm_iterations, total.cycles, total.gemm_utilisation, moved,
        moved / sum(least),
    )  # fmt: skip


def print_table(found: list[Row], markdown: bool) -> None:
    heads = ("layer", "products", "cycles", "use", "DRAM KB", "traffic")
    lines = [
        (r.name, f"{r.products:,}", f"{r.cycles:,}", f"{r.use:.0%}", f"{r.bytes / 1024:,.0f}",
         f"{r.traffic:.2f}")
        for r in found
    ]  # fmt: skip
    if markdown:
        for line in (heads, ("---", *["---:"] * (len(heads) - 1)), *lines):
            print(f"| {' | '.join(line)} |")
        return
    table = Table(*heads)
    for line in lines:
        table.add_row(*line)
    Console().print(table)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n\n")[0])
    parser.add_argument("--size", type=int, default=SIZE, help="rows and columns of the image")
    parser.add_argument("--width", type=int, default=WIDTH, help="channels of the first layer")
    parser.add_argument("--markdown", action="store_true", help="print a table for documents")
    parser.add_argument("--simulate", action="store_true", help="run it, and compare the results")
    arguments = parser.parse_args()
    rng = np.random.default_rng(0)
    images = [
        rng.standard_normal((1, 3, arguments.size, arguments.size)).astype(np.float32)
        for _ in range(2)
    ]
    graph = quantized(resnet18(rng, arguments.size, arguments.width), images)
    start = time.perf_counter()
    model = glow.compile(graph, backend=VtaBackend(), cache=False)
    print(f"compiled in {time.perf_counter() - start:.1f} s")
    program = model._program
    assert isinstance(program, VtaExecutable)
    print_table(list(rows(program.program)), arguments.markdown)
    least = function_bytes(main_function(model.stages["program"]), ARENA_LOWER_BOUND)
    print(f"activations: {program.program.scratch_bytes:,} bytes, {least:,} of them in use at once")
    if arguments.simulate:
        start = time.perf_counter()
        (found,) = model(images[0])
        print(f"simulated in {time.perf_counter() - start:.1f} s")
        (wanted,) = interpret(model.stages["integers"], images[:1]).values()
        print("equal to the interpreter" if np.array_equal(found, wanted) else "NOT EQUAL")


if __name__ == "__main__":
    main()
