"""
Measures the speed of the kernels of single layers: GFLOP/s, and the fraction of the peak that this
CPU reaches with fused multiplications and additions alone.

    python -m glow.benchmarks.kernels resnet50 [--repeat 20] [--only 3x3] [--target-cpu haswell]

Each distinct convolution or matrix product of a network, as the CPU backend computes it, becomes a
graph of its own with random operands. The time is the least of many runs on one thread. The clock
varies, so the peak is measured in turns with each layer. Products are counted as they are done:
those of a Winograd convolution are fewer than its definition has. With `--target-cpu` or
`--target-features`, layers and peak are code for another CPU, whose instructions this one has.
"""

from __future__ import annotations

import argparse
import ctypes
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, TypeAlias

import glow
import numpy as np
from glow.benchmarks.failures import in_one_line
from glow.glow_dialects.glow.base import Node
from glow.glow_dialects.operator import element_of, shape_of
from glow.glow_dialects.work import products_of
from glow.semantics.arrays import numpy_dtype
from xdsl.dialects import func
from xdsl.dialects.builtin import FunctionType, ModuleOp
from xdsl.ir import Attribute, Block, Region

Options: TypeAlias = Mapping[str, Any]
"""Options of the backend."""

PEAK_STEPS = 400_000
ACCUMULATORS = 12


def flops_of(node: Node) -> int:
    """
    Returns the multiplications and additions of a convolution or matrix product; 0 for other nodes.
    """
    return 2 * products_of(node.call)


def distinct_layers(module: ModuleOp) -> Iterator[tuple[Node, int]]:
    """
    Yields the products of a graph that differ in types or properties, and how often they occur.
    """
    found: dict[tuple[object, ...], list[Node]] = {}
    for op in module.walk():
        if isinstance(op, Node) and flops_of(op):
            types = tuple(o.type for o in op.operands)
            found.setdefault((op.name, types, str(op.properties)), []).append(op)
    for nodes in found.values():
        yield nodes[0], len(nodes)


def random_array(rng: np.random.Generator, t: Attribute) -> np.ndarray:
    """Returns normally distributed floats, or small integers."""
    dtype = numpy_dtype(element_of(t))
    if dtype.kind in "iu":
        return rng.integers(0, 9, shape_of(t)).astype(dtype)
    return rng.standard_normal(shape_of(t), dtype=np.float32).astype(dtype)


def layer_graph(node: Node) -> tuple[ModuleOp, list[Attribute]]:
    """Returns a graph of the node alone, and the types of its operands."""
    types = [o.type for o in node.operands]
    block = Block(arg_types=types)
    results = [r.type for r in node.results]
    copy = type(node).create(
        operands=block.args, result_types=results, properties=dict(node.properties)
    )
    block.add_ops([copy, func.ReturnOp(*copy.results)])
    function = func.FuncOp("main", FunctionType.from_lists(types, results), Region(block))
    return ModuleOp([function]), types


def least_times(runs: Sequence[Callable[[], object]], repeat: int) -> list[float]:
    """Returns seconds of the fastest of `repeat` calls of each function, which take turns."""
    for run in runs:
        run()
    times = [[] for _ in runs]
    for _ in range(repeat):
        for run, taken in zip(runs, times, strict=True):
            start = time.perf_counter()
            run()
            taken.append(time.perf_counter() - start)
    return [min(taken) for taken in times]


def peak_program(options: Options | None = None) -> tuple[Callable[[], object], int]:
    """
    Returns a loop of independent fused multiplications and additions, and how many it computes.
    `options` of the backend say for which CPU.
    """
    from glow.runtime.cpu_backend import CpuBackend
    from glow.runtime.cpu_program import aligned_bytes
    from glow.runtime.jit import Executable, object_of

    machine = CpuBackend(**(options or {})).target()
    lanes = machine.describe().lanes(32)
    t = f"<{lanes} x float>"
    accumulators = "\n".join(
        f"  %a{i} = phi {t} [ %x, %entry ], [ %n{i}, %loop ]" for i in range(ACCUMULATORS)
    )
    steps = "\n".join(
        f"  %n{i} = call {t} @llvm.fma.v{lanes}f32({t} %a{i}, {t} %x, {t} %x)"
        for i in range(ACCUMULATORS)
    )
    sums = ["  %s0 = fadd " + f"{t} %n0, %n1"]
    sums += [f"  %s{i - 1} = fadd {t} %s{i - 2}, %n{i}" for i in range(2, ACCUMULATORS)]
    text = f"""
declare {t} @llvm.fma.v{lanes}f32({t}, {t}, {t})
define void @peak(ptr %w, ptr %io, ptr %arena) {{
entry:
  %x = load {t}, ptr %w, align 64
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %j, %loop ]
{accumulators}
{steps}
  %j = add i64 %i, 1
  %more = icmp slt i64 %j, {PEAK_STEPS}
  br i1 %more, label %loop, label %done
done:
{chr(10).join(sums)}
  store {t} %s{ACCUMULATORS - 2}, ptr %arena, align 64
  ret void
}}
"""
    executable = Executable([object_of(text, machine, "peak", None)], "peak", machine)
    memory = aligned_bytes(64)
    memory[:] = 0

    def run() -> object:
        # the memory lives as long as this function, which knows it
        address = memory.ctypes.data
        return executable(address, (ctypes.c_void_p * 1)(), address)

    return run, 2 * lanes * ACCUMULATORS * PEAK_STEPS


def computed_graph(network: str, options: Options) -> ModuleOp:
    """
    Returns the graph of a network, or of a file, as the CPU backend computes it: layouts and
    algorithms are chosen, and weights are packed.
    """
    model: object = network
    if not network.endswith((".onnx", ".mlir", ".glow")):
        from glow.benchmarks.networks import network as build

        model = build(network).SerializeToString()
    return glow.compile(model, **options).stages["packed"]  # pyright: ignore


def measure(network: str, repeat: int, only: str, options: Options) -> None:
    """Prints a line for each distinct layer, the sums, and the mean share of the peak."""
    peak, peak_flops = peak_program(options)
    rng = np.random.default_rng(0)
    total_time = total_flops = 0.0
    shares: list[float] = []
    print(f"{'ms':>8} {'GFLOP/s':>8} {'% peak':>7} {'times':>5}  layer")
    for node, count in distinct_layers(computed_graph(network, options)):
        graph, types = layer_graph(node)
        shapes = [shape_of(t) for t in types]
        properties = {k: str(v) for k, v in node.properties.items()}
        sizes = " * ".join("x".join(map(str, s)) for s in shapes[:2])
        name = f"{node.name.removeprefix('glow.')} {sizes}"
        label = f"{name} {properties.get('strides', '')}"
        if only not in label:
            continue
        model = glow.compile(graph, **options)
        arrays = [random_array(rng, t) for t in types]
        layer = partial(model, *arrays)
        best, peak_time = least_times([layer, peak], repeat)
        rate = flops_of(node) / best / 1e9
        limit = peak_flops / peak_time / 1e9
        total_time += best * count
        total_flops += flops_of(node) * count
        shares += [100 * rate / limit] * count
        print(f"{best * 1e3:8.3f} {rate:8.1f} {100 * rate / limit:7.1f} {count:5}  {label}")
    if total_time:
        rate = total_flops / total_time / 1e9
        mean = sum(shares) / len(shares)
        print(f"{total_time * 1e3:8.2f} {rate:8.1f} {mean:7.1f} {len(shares):5}  all layers")


def main() -> None:
    parser = argparse.ArgumentParser(description="Speed of the kernels of single layers.")
    parser.add_argument("networks", nargs="+", help="names of networks, or model files")
    parser.add_argument("--repeat", type=int, default=20, help="runs of each layer")
    parser.add_argument("--only", default="", help="layers whose line contains this")
    parser.add_argument("--target-cpu", help="code for this CPU, in LLVM's names")
    parser.add_argument("--target-features", help="features to use or not: -avx512f")
    parsed = parser.parse_args()
    options = {n: v for n in ("target_cpu", "target_features") if (v := getattr(parsed, n))}
    for network in parsed.networks:
        print(network)
        with in_one_line():
            measure(network, parsed.repeat, parsed.only, options)


if __name__ == "__main__":
    main()
