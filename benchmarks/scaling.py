"""
Measures how the time of each pass grows with the graph.

    python -m glow.benchmarks.scaling [--small 200] [--large 2000] [--limit 12]

Two graphs of the same blocks, one ten times as large, go through all passes of the CPU backend up
to memory allocation. A pass that is linear takes ten times as long. The exit code is 1 if all
passes together take more than `--limit` times as long. Each time is the best of several, of the
processor, so that it does not depend on what else the machine does.
"""

from __future__ import annotations

import argparse
import gc
import time
from collections.abc import Sequence

import numpy as np
from glow.context import make_context
from glow.frontend.onnx import import_onnx
from glow.runtime.cpu_backend import CpuBackend
from glow.runtime.stages import apply_pass, parse_pipeline
from onnx import ModelProto, NodeProto, TensorProto, helper, numpy_helper
from rich.console import Console
from rich.table import Table

LAST_STAGE = "allocated"
CHANNELS, SIZE = 4, 6
BLOCK = 10
"""The number of nodes in a block."""


class _Graph:
    """Grows a network of blocks of ten nodes: convolutions, residual sums, and moves of data."""

    def __init__(self) -> None:
        self.rng = np.random.default_rng(0)
        self.nodes: list[NodeProto] = []
        self.weights: list[TensorProto] = []

    def weight(self, array: np.ndarray) -> str:
        name = f"w{len(self.weights)}"
        self.weights.append(numpy_helper.from_array(array, name))
        return name

    def floats(self, *shape: int) -> str:
        return self.weight(self.rng.uniform(0.5, 1.5, shape).astype(np.float32))

    def add(self, kind: str, *inputs: str, **attributes: object) -> str:
        name = f"v{len(self.nodes)}"
        node = helper.make_node(kind, list(inputs), [name], name, **attributes)  # pyright: ignore
        self.nodes.append(node)
        return name

    def block(self, x: str) -> str:
        """Adds ten nodes on 1 x CHANNELS x SIZE x SIZE."""
        c = CHANNELS
        y = self.add("Conv", x, self.floats(c, c, 3, 3), self.floats(c), pads=[1, 1, 1, 1])
        y = self.add("BatchNormalization", y, *(self.floats(c) for _ in range(4)))
        y = self.add("Relu", y)
        y = self.add("Add", y, x)
        t = self.add("Transpose", y, perm=[0, 2, 3, 1])
        t = self.add("Sigmoid", t)
        t = self.add("Transpose", t, perm=[0, 3, 1, 2])
        both = self.add("Concat", y, t, axis=1)
        narrow = self.add("Conv", both, self.floats(c, 2 * c, 1, 1), self.floats(c))
        return self.add("Tanh", narrow)


def network(nodes: int) -> ModelProto:
    """Returns a network of about `nodes` nodes."""
    graph = _Graph()
    x = "x"
    for _ in range(max(1, nodes // BLOCK)):
        x = graph.block(x)
    shape = [1, CHANNELS, SIZE, SIZE]
    made = helper.make_graph(
        graph.nodes,
        "blocks",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)],
        [helper.make_tensor_value_info(x, TensorProto.FLOAT, shape)],
        graph.weights,
    )
    return helper.make_model(made, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def pass_times(model: ModelProto) -> dict[str, float]:
    """
    Returns seconds of the import, of each pass (numbered, for some run twice), and of verification.
    """
    context = make_context()
    times: dict[str, float] = {}
    start = time.process_time()
    module = import_onnx(model)
    times["import"] = time.process_time() - start
    for stage in CpuBackend().stages():
        for module_pass in parse_pipeline(stage.pipeline):
            start = time.process_time()
            apply_pass(module_pass, context, module)
            times[f"{len(times):02} {module_pass.name}"] = time.process_time() - start
            start = time.process_time()
            module.verify()
            times["verify"] = times.get("verify", 0) + time.process_time() - start
        if stage.name == LAST_STAGE:
            break
    return times


def best_times(nodes: int, rounds: int) -> dict[str, float]:
    """Returns the least time of each pass over several compilations."""
    model = network(nodes)
    best: dict[str, float] = {}
    for _ in range(rounds):
        gc.collect()
        gc.disable()
        for name, seconds in pass_times(model).items():
            best[name] = min(best.get(name, seconds), seconds)
        gc.enable()
    return best


def main(args: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="How passes scale with the size of the graph.")
    parser.add_argument("--small", type=int, default=200, help="nodes")
    parser.add_argument("--large", type=int, default=2000, help="nodes")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--limit", type=float, default=12, help="largest ratio of the sums")
    parsed = parser.parse_args(args)
    small, large = (best_times(n, parsed.rounds) for n in (parsed.small, parsed.large))
    table = Table(title=f"{parsed.small} and {parsed.large} nodes", title_justify="left")
    for column in ("pass", "small", "large", "ratio"):
        table.add_column(column, justify="left" if column == "pass" else "right")
    rows = [(name, small[name], large[name]) for name in small]
    rows.append(("all", sum(small.values()), sum(large.values())))
    for name, a, b in rows:
        # a clock may not see a fast pass
        ratio = f"{b / a:.1f}" if a else ""
        table.add_row(name, f"{a * 1e3:.2f} ms", f"{b * 1e3:.2f} ms", ratio)
    Console(highlight=False).print(table)
    ratio = rows[-1][2] / rows[-1][1]
    print(f"all passes: {ratio:.1f} times as long, the limit is {parsed.limit:g}")
    return 0 if ratio <= parsed.limit else 1


if __name__ == "__main__":
    raise SystemExit(main())
