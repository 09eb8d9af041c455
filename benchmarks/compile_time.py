"""
Measures the time of compilation by stage, cold and warm.

    python -m glow.benchmarks.compile_time resnet50 vgg19 [--rounds 3] [--json FILE]
    python -m glow.benchmarks.compile_time resnet50 --profile 40

Each measurement is a process of its own, because what it imports takes time too. The cold ones have
an empty cache, and a warm one follows each of them. The table has the least of all rounds for each
step; `first result` is what a user waits for from the start of `import glow` to the end of the
first run. CPU time is that of all threads: more than the wall clock if two stages overlap, less if
other processes take the processor.

With `--profile N`, one compilation without a cache runs under Python's profiler instead, and the N
functions that take most time themselves are printed.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TypeAlias

from glow.benchmarks.bytecode import write_bytecode
from glow.benchmarks.failures import in_one_line, last_line
from glow.errors import GlowError
from rich.console import Console
from rich.table import Table

Times: TypeAlias = dict[str, float]

_WORKER = """
import json, sys, time
start = time.perf_counter()
import glow
model = glow.compile(sys.argv[1], cache=sys.argv[2])
compiled = time.perf_counter()
import numpy as np
model(*[np.ones(i.shape, i.dtype) for i in model.get_inputs()])
end = time.perf_counter()
times = model.times
rest = compiled - start - sum(times.values())
print(json.dumps({
    "imports and lookup": rest, **times, "compile": compiled - start, "first result": end - start,
    "CPU time": time.process_time(), "peak MB": model.peak_memory / 1e6,
}))
"""

_PROFILE = """
import cProfile, pstats, sys, time
import glow
# of this thread only, so that neither other processes nor waiting count
profile = cProfile.Profile(time.thread_time)
profile.runcall(glow.compile, sys.argv[1], cache=False)
pstats.Stats(profile).sort_stats("tottime").print_stats(int(sys.argv[2]))
"""

TOTALS = ("compile", "first result", "CPU time", "peak MB")


def started(model: Path, cache: str) -> Times:
    """Returns the seconds of each step in a fresh process. Raises GlowError if it fails."""
    command = [sys.executable, "-c", _WORKER, str(model), cache]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        raise GlowError(last_line(done))
    return json.loads(done.stdout)


def measure(model: Path, rounds: int) -> dict[str, Times]:
    """Returns the least time of each step, `cold` and `warm`."""
    write_bytecode()
    found: dict[str, Times] = {"cold": {}, "warm": {}}
    for _ in range(rounds):
        with tempfile.TemporaryDirectory() as cache:
            for kind, least in found.items():
                for step, seconds in started(model, cache).items():
                    least[step] = min(seconds, least.get(step, seconds))
    return found


def table(name: str, found: Mapping[str, Times]) -> Table:
    """Returns seconds by step, and the share of the steps of a cold compilation."""
    cold, warm = found["cold"], found["warm"]
    made = Table(title=f"{name}: compilation", title_justify="left")
    for title in ("step", "cold", "share", "warm"):
        made.add_column(title, justify="left" if title == "step" else "right")
    for step in dict.fromkeys([*cold, *warm]):
        if step == TOTALS[0]:
            made.add_section()
        share = f"{cold[step] / cold['compile']:.0%}" if step in cold else ""
        row = [_number(times.get(step), step) for times in (cold, warm)]
        made.add_row(step, row[0], "" if step in TOTALS else share, row[1])
    return made


def _number(value: float | None, step: str) -> str:
    if value is None:
        return ""
    return f"{value:.0f}" if step.endswith("MB") else f"{value:.3f} s"


def profile(model: Path, count: int) -> None:
    """Prints the functions that take most time."""
    command = [sys.executable, "-c", _PROFILE, str(model), str(count)]
    done = subprocess.run(command, stderr=subprocess.PIPE, text=True)
    if done.returncode:
        raise GlowError(last_line(done))


def model_file(name: str, folder: str) -> Path:
    """Returns an ONNX file, given by its path or as the name of a network."""
    if Path(name).suffix == ".onnx":
        return Path(name)
    from glow.benchmarks.networks import network_file

    return network_file(name, folder)


def main(args: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="How long compilation takes, by stage.")
    parser.add_argument("networks", nargs="*", default=["resnet50"], help="names or ONNX files")
    parser.add_argument("--rounds", type=int, default=3, help="the least of so many; default 3")
    parser.add_argument("--profile", type=int, metavar="N", help="functions to show of a profile")
    parser.add_argument("--json", metavar="FILE", help="write the numbers")
    parsed = parser.parse_args(args)
    results: dict[str, dict[str, Times]] = {}
    with in_one_line(), tempfile.TemporaryDirectory() as folder:
        for name in parsed.networks:
            model = model_file(name, folder)
            if parsed.profile is not None:
                profile(model, parsed.profile)
                continue
            results[model.stem] = measure(model, parsed.rounds)
            Console().print(table(model.stem, results[model.stem]))
    if parsed.json is not None:
        Path(parsed.json).write_text(json.dumps(results, indent=1), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
