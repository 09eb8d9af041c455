"""Runs all runtimes on a network, each measurement in a process of its own, in turns."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path
from statistics import median

import numpy as np
from glow.benchmarks.bytecode import write_bytecode
from glow.benchmarks.failures import last_line
from glow.benchmarks.measurements import DIRECT, OURS, Case, Measurement

HERE = Path(__file__).resolve().parent
THREAD_VARIABLES = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


@dataclass(frozen=True)
class Settings:
    """The settings of a measurement."""

    rounds: int = 3
    """Processes for each runtime, network and number of threads."""
    repeat: int = 50
    """The most timed runs in each process."""
    seconds: float = 3.0
    """A process that has spent so long on timed runs ends them."""
    timeout: float = 900.0
    """Seconds after which a process counts as failed."""
    models: Path = Path("build", "networks")
    """The folder for files of networks, by default the current directory."""


@dataclass
class _Rounds:
    """The output of the processes of one runtime."""

    found: list[dict[str, float]] = field(default_factory=list)
    times: list[float] = field(default_factory=list)
    outputs: list[np.ndarray] = field(default_factory=list)
    error: str = ""

    def measurement(self, difference: float | None) -> Measurement:
        if self.error:
            return Measurement(error=self.error)
        first, *later = self.found
        return Measurement(
            median=median(self.times),
            least=min(self.times),
            runs=len(self.times),
            cold=first["first"],
            warm=median(f["first"] for f in later) if later else None,
            memory_cold=int(first["memory"]),
            memory_warm=int(max(f["memory"] for f in later)) if later else None,
            memory_running=int(self.found[-1]["memory_running"]),
            difference=difference,
        )


def difference(found: Sequence[np.ndarray], reference: Sequence[np.ndarray]) -> float:
    """
    Returns the worst difference over all outputs, relative to the largest value of the output;
    infinite if shapes differ or a value is not finite.
    """
    if [a.shape for a in found] != [b.shape for b in reference]:
        return float("inf")
    worst = 0.0
    for a, b in zip(found, reference, strict=True):
        x, y = a.astype(np.float64), b.astype(np.float64)
        if not np.isfinite(x).all():
            return float("inf")
        largest = np.abs(y).max(initial=0) or 1.0
        worst = max(worst, float(np.abs(x - y).max(initial=0) / largest))
    return worst


def compare(
    network: str,
    batch: int,
    threads: Sequence[int],
    runtimes: Sequence[str],
    settings: Settings,
    log: Callable[[str], None] = lambda line: None,
) -> list[Case]:
    """
    Returns all runtimes on a network, a case for each number of threads. In every round each
    runtime has one process for each number of threads, one after the other.

    Raises RuntimeError if the network cannot be made.
    """
    write_bytecode()
    with tempfile.TemporaryDirectory(prefix="glow-bench-") as name:
        folder = Path(name)
        feed = folder / "feed.npz"
        model = _prepare(network, batch, feed, settings)
        rounds = {key: _Rounds() for key in product(threads, runtimes)}
        for number in range(settings.rounds):
            log(f"{Path(network).stem}, batch {batch}: round {number + 1} of {settings.rounds}")
            for (count, runtime), result in rounds.items():
                if not result.error:
                    _run_worker(runtime, count, model, feed, folder, settings, result)
    return [_case(network, batch, count, runtimes, rounds) for count in threads]


def _case(
    network: str,
    batch: int,
    threads: int,
    runtimes: Sequence[str],
    rounds: Mapping[tuple[int, str], _Rounds],
) -> Case:
    found = {runtime: rounds[threads, runtime] for runtime in runtimes}
    peers = [r for name, r in found.items() if name not in (OURS, DIRECT) and not r.error]
    case = Case(Path(network).stem, batch, threads)
    for name, result in found.items():
        differs = None
        if peers and not result.error:
            differs = difference(result.outputs, peers[0].outputs)
        case.runtimes[name] = result.measurement(differs)
    return case


def _prepare(network: str, batch: int, feed: Path, settings: Settings) -> str:
    """Returns the path of the model. Its inputs are written to `feed`."""
    command = [HERE / "cases.py", network, settings.models, feed, "--batch", batch]
    done = _python(command, settings.timeout, os.environ)
    if done.returncode:
        raise RuntimeError(f"{network}, batch {batch}: {last_line(done)}")
    return done.stdout.splitlines()[-1]


def _run_worker(
    runtime: str,
    threads: int,
    model: str,
    feed: Path,
    folder: Path,
    settings: Settings,
    result: _Rounds,
) -> None:
    """Measures in a process of its own, and adds the measurements to `result`."""
    output = folder / f"{runtime}-{threads}.npz"
    command = [HERE / "worker.py", runtime, model, feed, output, "--threads", threads]
    command += ["--repeat", settings.repeat, "--seconds", settings.seconds]
    environment = {**os.environ, **dict.fromkeys(THREAD_VARIABLES, str(threads))}
    # of each number of threads its own, so that the first round of each finds it empty
    environment["GLOW_CACHE_DIR"] = str(folder / f"cache-{threads}")
    try:
        done = _python(command, settings.timeout, environment)
    except subprocess.TimeoutExpired:
        result.error = f"took more than {settings.timeout:g} s"
        return
    if done.returncode:
        result.error = last_line(done)
        return
    found = json.loads(done.stdout.splitlines()[-1])
    result.times += found.pop("times")
    result.found.append(found)
    with np.load(output) as outputs:
        result.outputs = [outputs[name] for name in sorted(outputs)]


def _python(
    command: Sequence[object], timeout: float, environment: Mapping[str, str]
) -> subprocess.CompletedProcess[str]:
    # -P: modules of this folder are not to hide others
    return subprocess.run(
        [sys.executable, "-P", *map(str, command)],
        env=environment,
        capture_output=True,
        text=True,
        timeout=timeout,
    )
