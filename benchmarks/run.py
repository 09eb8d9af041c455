"""
Glow beside other runtimes, in one run on the same machine.

    python benchmarks/run.py                       # all networks, all installed runtimes
    python benchmarks/run.py squeezenet my.onnx --runtimes glow onnxruntime --rounds 5

Every measurement is a process of its own with one thread, and the runtimes take turns, so that a
busy moment of the machine hits all of them. A time is the median over all runs of all rounds; the
first runs of a process warm it up and do not count. Outputs are compared with those of the first
other runtime. Networks are those of `benchmarks/networks.py`, or files.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from statistics import median

import numpy as np

HERE = Path(__file__).resolve().parent
ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
TIMEOUT = 3600

Feed = dict[str, np.ndarray]
Runner = Callable[[Feed], Sequence[np.ndarray]]


# the runtimes; each prepares a model and returns how to run it


def prepare_glow(path: str) -> Runner:
    import glow

    model = glow.compile(path)
    return lambda feed: model.run(None, feed)


def prepare_onnxruntime(path: str) -> Runner:
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    return lambda feed: [np.asarray(y) for y in session.run(None, feed)]


def prepare_openvino(path: str) -> Runner:
    import openvino  # pyright: ignore[reportMissingImports]

    settings = {"INFERENCE_NUM_THREADS": 1, "PERFORMANCE_HINT": "LATENCY"}
    # by default it computes in 16 bits where the CPU can, which is another task
    settings["INFERENCE_PRECISION_HINT"] = "f32"
    model = openvino.Core().compile_model(path, "CPU", settings)
    request = model.create_infer_request()

    def run(feed: Feed) -> list[np.ndarray]:
        found = request.infer(feed)
        return [found[output] for output in model.outputs]

    return run


RUNTIMES: Mapping[str, Callable[[str], Runner]] = {
    "glow": prepare_glow,
    "onnxruntime": prepare_onnxruntime,
    "openvino": prepare_openvino,
}


# the process that measures


def measure(runtime: str, path: str, feed_file: str, output: str, repeat: int) -> dict[str, object]:
    """Prepare a model and run it; times are in seconds."""
    with np.load(feed_file) as loaded:
        feed = dict(loaded.items())
    start = time.perf_counter()
    run = RUNTIMES[runtime](path)
    prepared = time.perf_counter() - start
    outputs = run(feed)
    for _ in range(min(2, repeat)):
        run(feed)
    times: list[float] = []
    for _ in range(repeat):
        start = time.perf_counter()
        run(feed)
        times.append(time.perf_counter() - start)
    np.savez(output, allow_pickle=False, **{f"{i:03}": y for i, y in enumerate(outputs)})
    return {"prepared": prepared, "times": times}


# the process that compares


@dataclass
class Result:
    """What one runtime did with one network. Times are in seconds."""

    prepared: list[float] = field(default_factory=list)
    """Of each round; the first finds empty caches."""
    times: list[float] = field(default_factory=list)
    outputs: list[np.ndarray] = field(default_factory=list)
    error: str = ""

    @property
    def median(self) -> float:
        return median(self.times)


def random_feed(path: Path, seed: int) -> Feed:
    """Random inputs of an ONNX model; dimensions without a size are 1."""
    import onnx

    model = onnx.load(path, load_external_data=False)
    constants = {t.name for t in model.graph.initializer}
    rng = np.random.default_rng(seed)
    feed: Feed = {}
    for value in model.graph.input:
        if value.name in constants:
            continue
        kind = value.type.tensor_type
        dtype = onnx.helper.tensor_dtype_to_np_dtype(kind.elem_type)
        shape = [d.dim_value or 1 for d in kind.shape.dim]
        if dtype.kind in "iu":
            feed[value.name] = rng.integers(0, 10, shape).astype(dtype)
        else:
            feed[value.name] = rng.standard_normal(shape).astype(dtype)
    return feed


def run_worker(
    runtime: str, path: Path, feed: Path, folder: Path, repeat: int, result: Result
) -> None:
    """Measure in a process of its own, and add what it found to `result`."""
    output = folder / f"{runtime}.npz"
    command = [sys.executable, __file__, "--worker", runtime, str(path), str(feed), str(output)]
    environment = {**os.environ, **ONE_THREAD, "GLOW_CACHE_DIR": str(folder / "cache")}
    done = subprocess.run(
        [*command, "--repeat", str(repeat)],
        env=environment,
        capture_output=True,
        text=True,
        timeout=TIMEOUT,
    )
    if done.returncode:
        lines = done.stderr.strip().splitlines()
        result.error = lines[-1] if lines else f"exit code {done.returncode}"
        return
    found = json.loads(done.stdout.splitlines()[-1])
    result.prepared.append(found["prepared"])
    result.times += found["times"]
    with np.load(output) as outputs:
        result.outputs = [outputs[name] for name in sorted(outputs)]


def disagreement(found: Sequence[np.ndarray], reference: Sequence[np.ndarray]) -> float:
    """The worst difference over all outputs, relative to the largest value of the output."""
    worst = 0.0
    for a, b in zip(found, reference, strict=True):
        if a.shape != b.shape:
            return float("inf")
        x, y = a.astype(np.float64), b.astype(np.float64)
        largest = np.abs(y).max(initial=0) or 1.0
        worst = max(worst, float(np.abs(x - y).max(initial=0) / largest))
    return worst


def compare(path: Path, runtimes: Sequence[str], rounds: int, repeat: int) -> dict[str, Result]:
    """All runtimes on one model, taking turns."""
    results = {name: Result() for name in runtimes}
    with tempfile.TemporaryDirectory(prefix="glow-bench-") as name:
        folder = Path(name)
        feed = folder / "feed.npz"
        np.savez(feed, allow_pickle=False, **random_feed(path, 0))
        for _ in range(rounds):
            for runtime, result in results.items():
                if not result.error:
                    run_worker(runtime, path, feed, folder, repeat, result)
    return results


def summary(results: Mapping[str, Result]) -> dict[str, dict[str, object]]:
    """The numbers that are reported, for each runtime; times in seconds."""
    others = [r for n, r in results.items() if n != "glow" and not r.error]
    glow = results.get("glow")
    found: dict[str, dict[str, object]] = {}
    for name, result in results.items():
        if result.error:
            found[name] = {"error": result.error}
            continue
        found[name] = {
            "run": result.median,
            "prepare_cold": result.prepared[0],
            "prepare_warm": median(result.prepared[1:]) if len(result.prepared) > 1 else None,
        }
        if glow is not None and glow.times and name != "glow":
            found[name]["glow_takes_times"] = glow.median / result.median
        if others:
            found[name]["disagreement"] = disagreement(result.outputs, others[0].outputs)
    return found


def table(reports: Mapping[str, Mapping[str, Mapping[str, object]]]):
    """The reports as a rich table."""
    from rich.table import Table

    made = Table(title="one thread; glow/x = time of glow over time of x", title_justify="left")
    for column in ("network", "runtime", "run", "glow/x", "prepare", "again", "differs"):
        made.add_column(column, justify="left" if column in ("network", "runtime") else "right")
    for network, runtimes in reports.items():
        for i, (runtime, found) in enumerate(runtimes.items()):
            title = network if i == 0 else ""
            last = i == len(runtimes) - 1
            if "error" in found:
                made.add_row(title, runtime, str(found["error"]), end_section=last)
                continue
            made.add_row(
                title,
                runtime,
                _number(found["run"], 1e3, " ms"),
                _number(found.get("glow_takes_times"), 1, ""),
                _number(found["prepare_cold"], 1, " s"),
                _number(found["prepare_warm"], 1, " s"),
                _number(found.get("disagreement"), 1, ""),
                end_section=last,
            )
    return made


def markdown(reports: Mapping[str, Mapping[str, Mapping[str, object]]]) -> str:
    """The run times in milliseconds, and those of glow over those of the others, as Markdown."""
    others = sorted({name for found in reports.values() for name in found} - {"glow"})
    heads = ["network", "glow ms", *(f"{o} {what}" for o in others for what in ("ms", "ratio"))]
    lines = [" | ".join(["", *heads, ""]).strip(), "|---" * len(heads) + "|"]
    for network, found in reports.items():
        cells = [network, _number(found.get("glow", {}).get("run"), 1e3, "")]
        for other in others:
            numbers = found.get(other, {})
            cells.append(_number(numbers.get("run"), 1e3, ""))
            cells.append(_number(numbers.get("glow_takes_times"), 1, ""))
        lines.append(" | ".join(["", *cells, ""]).strip())
    return "\n".join(lines)


def _number(value: object, factor: float, unit: str) -> str:
    return f"{value * factor:.3g}{unit}" if isinstance(value, float) else "-"


def model_file(name: str, folder: str) -> Path:
    """A file as it is; a name as the file of that network, made in `folder`."""
    if Path(name).suffix == ".onnx":
        return Path(name)
    from glow.benchmarks.networks import network_file

    Path(folder).mkdir(parents=True, exist_ok=True)
    return network_file(name, folder)


def all_networks() -> list[str]:
    from glow.benchmarks.networks import ALL

    return list(ALL)


def main(args: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Compare glow with other runtimes.")
    parser.add_argument("networks", nargs="*", help="names or .onnx files; default: all names")
    installed = [name for name in RUNTIMES if find_spec(name)]
    parser.add_argument("--runtimes", nargs="+", choices=list(RUNTIMES), default=installed)
    parser.add_argument("--rounds", type=int, default=3, help="processes per runtime and network")
    parser.add_argument("--repeat", type=int, default=10, help="timed runs in each process")
    parser.add_argument("--models", default=str(HERE.parent / "build" / "networks"))
    parser.add_argument("--markdown", action="store_true", help="print a table for a document")
    parser.add_argument("--json", help="also write the numbers to this file")
    parser.add_argument(
        "--worker", nargs=4, metavar=("RUNTIME", "MODEL", "FEED", "OUTPUT"), help=argparse.SUPPRESS
    )
    parsed = parser.parse_args(args)
    if parsed.worker:
        runtime, model, feed, output = parsed.worker
        print(json.dumps(measure(runtime, model, feed, output, parsed.repeat)))
        return 0

    from rich.console import Console

    reports: dict[str, dict[str, dict[str, object]]] = {}
    for name in parsed.networks or all_networks():
        print(f"{name} ...", file=sys.stderr)
        path = model_file(name, parsed.models)
        results = compare(path, parsed.runtimes, parsed.rounds, parsed.repeat)
        reports[Path(name).stem] = summary(results)
    if parsed.markdown:
        print(markdown(reports))
    else:
        Console(highlight=False).print(table(reports))
    if parsed.json:
        Path(parsed.json).write_text(json.dumps(reports, indent=1))
    return 1 if any("error" in r for found in reports.values() for r in found.values()) else 0


if __name__ == "__main__":
    raise SystemExit(main())
