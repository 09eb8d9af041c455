"""
The process that measures one runtime on one network; `run.py` starts it.

    python -m glow.benchmarks.worker RUNTIME MODEL FEED OUTPUT [--threads 1] [--repeat 50]

FEED is an .npz file of inputs by name; the outputs are written to OUTPUT, and what was measured is
printed as JSON. Only what the runtime needs is imported, so that memory is that of the runtime.
"""

from __future__ import annotations

import argparse
import json
import resource
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import numpy as np

WARM_UP_RUNS = 2
LEAST_RUNS = 3
WARM_UP_SHARE = 0.1
"""The share of the seconds for timed runs that warm-up runs take."""

Feed = dict[str, np.ndarray]
Runner = Callable[[Feed], Sequence[np.ndarray]]


def prepare_glow(path: str, threads: int) -> Runner:
    import glow

    model = glow.compile(path, threads=threads)
    return lambda feed: model.run(None, feed)


def prepare_direct(path: str, threads: int) -> Runner:
    """Prepares Glow without Winograd convolution."""
    import glow

    model = glow.compile(path, threads=threads, conv_algorithm="direct")
    return lambda feed: model.run(None, feed)


def prepare_onnxruntime(path: str, threads: int) -> Runner:
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    return lambda feed: [np.asarray(y) for y in session.run(None, feed)]


def prepare_openvino(path: str, threads: int) -> Runner:
    import openvino  # pyright: ignore[reportMissingImports]

    settings: dict[str, object] = {"INFERENCE_NUM_THREADS": threads, "PERFORMANCE_HINT": "LATENCY"}
    # by default it computes in 16 bits where the CPU can, which is another task
    settings["INFERENCE_PRECISION_HINT"] = "f32"
    # otherwise it takes fewer threads than it was told where cores have two
    settings["ENABLE_HYPER_THREADING"] = True
    model = openvino.Core().compile_model(path, "CPU", settings)
    request = model.create_infer_request()

    def run(feed: Feed) -> list[np.ndarray]:
        found = request.infer(feed)
        return [found[output] for output in model.outputs]

    return run


RUNTIMES: Mapping[str, Callable[[str, int], Runner]] = {
    "glow": prepare_glow,
    "onnxruntime": prepare_onnxruntime,
    "openvino": prepare_openvino,
}
"""The functions that prepare a model for a number of threads. The result of each runs the model."""

VARIANTS: Mapping[str, Callable[[str, int], Runner]] = {"glow_direct": prepare_direct}
"""The same for variants of a runtime."""


def peak_memory() -> int:
    """
    Returns the most bytes of this process that were resident, files mapped into memory included.
    """
    try:
        lines = Path("/proc/self/status").read_text().splitlines()
    except OSError:
        # kilobytes, but bytes on macOS; on Linux it would count the process that started this one
        unit = 1 if sys.platform == "darwin" else 1024
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM:")) * 1024


def reset_peak_memory() -> None:
    """
    Restarts the count of peak memory from the memory that is resident now, if the system supports
    it.
    """
    try:
        Path("/proc/self/clear_refs").write_text("5")
    except OSError:
        return


def time_runs(run: Callable[[], object], repeat: int, seconds: float) -> list[float]:
    """
    Returns seconds of `repeat` calls, or of fewer but some if they take longer than `seconds`.
    """
    times: list[float] = []
    begin = time.perf_counter()
    while len(times) < repeat:
        start = time.perf_counter()
        if len(times) >= LEAST_RUNS and start - begin > seconds:
            break
        run()
        times.append(time.perf_counter() - start)
    return times


def warm_up(run: Callable[[], object], seconds: float) -> None:
    begin = time.perf_counter()
    runs = 0
    while runs < WARM_UP_RUNS or time.perf_counter() - begin < seconds:
        run()
        runs += 1


def measure(
    runtime: str, path: str, feed: Feed, threads: int, repeat: int, seconds: float
) -> tuple[dict[str, object], Sequence[np.ndarray]]:
    """
    Prepares a model and runs it. Returns the outputs, and in seconds and bytes: `first`, from
    nothing to the first result; `times` of further runs; `memory`, the peak of the process, and
    `memory_running`, the peak of the timed runs.
    """
    start = time.perf_counter()
    run = {**RUNTIMES, **VARIANTS}[runtime](path, threads)
    outputs = run(feed)
    first = time.perf_counter() - start
    warm_up(lambda: run(feed), seconds * WARM_UP_SHARE)
    peak = peak_memory()
    reset_peak_memory()
    times = time_runs(lambda: run(feed), repeat, seconds)
    running = peak_memory()
    found: dict[str, object] = {"first": first, "times": times}
    found |= {"memory": max(peak, running), "memory_running": running}
    return found, outputs


def main() -> None:
    parser = argparse.ArgumentParser(description="Measure a runtime on a network.")
    parser.add_argument("runtime", choices=[*RUNTIMES, *VARIANTS])
    parser.add_argument("model")
    parser.add_argument("feed")
    parser.add_argument("output")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--repeat", type=int, default=50, help="the most timed runs")
    parser.add_argument("--seconds", type=float, default=3.0, help="stop to repeat after so long")
    options = parser.parse_args()
    with np.load(options.feed) as loaded:
        feed = dict(loaded.items())
    found, outputs = measure(
        options.runtime, options.model, feed, options.threads, options.repeat, options.seconds
    )
    from glow.tools.output_file import save_arrays  # after all that is measured

    save_arrays(options.output, {f"{i:03}": y for i, y in enumerate(outputs)})
    print(json.dumps(found))


if __name__ == "__main__":
    main()
