"""The work of `glow-run program.vta`: a program runs on the simulator."""

from __future__ import annotations

import argparse
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING

import numpy as np

from ..glow_dialects.vta.timing import VtaTiming
from ..interface.signature import Signature, TensorInfo
from ..runtime.vta.container import read_program
from ..runtime.vta.simulator import Simulator
from ..runtime.vta.timing import estimate
from ..runtime.vta.trace import trace, write_trace
from ..runtime.vta.words import MemoryCode
from .inputs import Preprocessing, load_inputs
from .output_file import save_arrays
from .report import input_table, seconds, size, summary_table
from .tables import DataTable
from .timeline_drawing import draw_timeline

if TYPE_CHECKING:
    from rich.console import Console

    from ..runtime.vta.program import VtaProgram
    from ..runtime.vta.timing import Estimate, LayerEstimate


def run_program(args: argparse.Namespace, console: Console) -> int:
    """Runs a VTA program as the arguments say, and returns the exit code."""
    start = time.perf_counter()
    program = read_program(args.model)
    simulator = Simulator(program)
    reading = time.perf_counter() - start
    signature = _signature(program)
    preprocessing = Preprocessing(
        args.image_mean, args.image_scale, args.image_channel_order, args.image_layout
    )
    rng = np.random.default_rng(args.seed)
    feed, origins = load_inputs(args.input, signature.inputs, preprocessing, rng)
    outputs, runs = _runs(simulator, signature, feed, args.repeat)
    if signature.inputs:
        console.print(input_table(signature.inputs, origins))
    console.print(summary_table(outputs))
    console.print(run_table(reading, runs))
    _report(args, program, console)
    if args.output is not None:
        save_arrays(args.output, outputs)
        console.print(f"outputs written to {args.output}")
    return 0


def _signature(program: VtaProgram) -> Signature:
    def infos(regions) -> tuple[TensorInfo, ...]:
        return tuple(TensorInfo(r.name, list(r.shape), r.dtype.newbyteorder("=")) for r in regions)

    return Signature(infos(program.inputs), infos(program.outputs))


def _runs(
    simulator: Simulator, signature: Signature, feed: Mapping[str, np.ndarray], repeat: int
) -> tuple[dict[str, np.ndarray], list[float]]:
    """Returns outputs by name and the seconds of each run of the simulator."""
    arrays = signature.arrays(feed)
    runs = []
    outputs: Sequence[np.ndarray] = ()
    for _ in range(repeat):
        start = time.perf_counter()
        outputs = simulator.run(arrays)
        runs.append(time.perf_counter() - start)
    names = [info.name for info in signature.outputs]
    return dict(zip(names, outputs, strict=True)), runs


def _report(args: argparse.Namespace, program: VtaProgram, console: Console) -> None:
    if not args.statistics and args.trace is None:
        return
    timing = VtaTiming()
    found = estimate(program, timing)
    if args.statistics:
        console.print(engine_table(found, timing.clock_mhz))
        console.print(traffic_table(found))
        if found.layers:
            console.print(layer_table(found.layers))
    if args.trace is not None:
        if args.trace.endswith(".svg"):
            text = draw_timeline(trace(program, found, timing))
            Path(args.trace).write_text(text, encoding="utf-8")
        else:
            write_trace(args.trace, program, found, timing)
        console.print(f"timeline written to {args.trace}")


def run_table(reading: float, runs: Sequence[float]) -> DataTable:
    """Returns seconds that the simulator takes, which say nothing about those of the machine."""
    table = _table("times of the simulator", "step", "time")
    table.add_row("reading", seconds(reading))
    table.add_row(f"run, median of {len(runs)}", seconds(median(runs)))
    return table


def engine_table(found: Estimate, clock_mhz: float) -> DataTable:
    """Returns cycles in all, and how long each engine and the GEMM core are busy."""
    table = _table(f"estimated cycles at {clock_mhz:g} MHz", "engine", "cycles", "share")
    cycles = found.cycles
    for engine, busy in found.busy.items():
        table.add_row(engine.name, f"{busy:,}", f"{busy / cycles:.1%}")
    products = found.total.gemm_iterations
    table.add_row("GEMM core", f"{products:,}", f"{found.total.gemm_utilisation:.1%}")
    table.add_row("all", f"{cycles:,}", f"{cycles / clock_mhz / 1e3:.3g} ms")
    return table


def traffic_table(found: Estimate) -> DataTable:
    """Returns bytes between DRAM and the scratchpads by memory type."""
    table = _table("DRAM traffic", "memory", "bytes")
    for memory, count in found.total.dram_bytes.items():
        table.add_row(memory.name, size(count))
    table.add_row("instructions", size(found.instruction_bytes))
    return table


def layer_table(layers: Sequence[LayerEstimate]) -> DataTable:
    """Returns cycles, use of the GEMM core, and traffic of each layer."""
    groups: dict[str, tuple[MemoryCode, ...]] = {
        "inputs": (MemoryCode.INP,),
        "weights": (MemoryCode.WGT,),
        "accumulators": (MemoryCode.ACC, MemoryCode.ACC_8BIT),
        "micro-ops": (MemoryCode.UOP,),
        "outputs": (MemoryCode.OUT,),
    }
    table = _table("layers", "layer", "cycles", "GEMM core", *groups)
    for layer in layers:
        traffic = (size(sum(layer.dram_bytes[m] for m in group)) for group in groups.values())
        table.add_row(layer.name, f"{layer.cycles:,}", f"{layer.gemm_utilisation:.1%}", *traffic)
    return table


def _table(title: str, text: str, *numbers: str) -> DataTable:
    return DataTable(title).texts(text).numbers(*numbers)
