"""
Compiles exported models and compares them with onnxruntime, each in a process of its own:

    python -m glow.benchmarks.exports.check FILE.onnx... [--seconds 1] [--limit 120] [--json FILE]

A model is compiled as users do it, `glow.compile(path)`, and called with the inputs in the .npz
file beside it, one call for each of its sizes. It is *equal* if no output differs from that of
onnxruntime by more than 1e-4 of the output's largest value, *wrong* if one does, and *refused* if
glow raises an error. An exporter may have written a size as a number, so that onnxruntime runs the
model at some sizes only; the others are left out, and `sizes` says how many count. A model that it
runs at none is *failed*. With `--seconds`, both are timed in turns with one thread, with the first
of the inputs; the ratio is the fastest time of onnxruntime divided by that of glow.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import numpy as np

from ..compare import difference
from ..worker import Feed, Runner, prepare_onnxruntime

TOLERANCE = 1e-4


def feeds_of(path: Path, used: Sequence[str]) -> list[Feed]:
    """Returns the inputs beside a model, without those that its exporter removed."""
    found: dict[int, dict[str, np.ndarray]] = {}
    with np.load(path.with_suffix(".npz"), allow_pickle=False) as arrays:
        for key in arrays.files:
            index, _, name = key.partition("/")
            if name in used:
                found.setdefault(int(index), {})[name] = arrays[key]
    return [found[i] for i in sorted(found)]


def check(path: Path, seconds: float, backend: str) -> dict[str, object]:
    """Returns what came of one model."""
    import onnxruntime  # only the processes that check a model need it

    names = [i.name for i in onnxruntime.InferenceSession(str(path)).get_inputs()]
    feeds = feeds_of(path, names)
    if path.stem.endswith(".fixed"):
        feeds = feeds[:1]
    reference = prepare_onnxruntime(str(path), 1)
    pairs = [(feed, want) for feed in feeds if (want := _outputs(reference, feed)) is not None]
    if not pairs:
        return {"model": path.stem, "state": "failed", "error": "onnxruntime runs it at no sizes"}
    import glow  # after the peer, whose errors are not ours

    found: dict[str, object] = {"model": path.stem, "sizes": f"{len(pairs)}/{len(feeds)}"}
    calls: list[float] = []
    start = time.perf_counter()
    try:
        model = glow.compile(str(path), backend, threads=1)
        compiled = time.perf_counter() - start
        worst = 0.0
        for feed, want in pairs:
            start = time.perf_counter()
            got = model.run(None, feed)
            calls.append(time.perf_counter() - start)
            worst = max(worst, difference(got, want))
    except Exception as error:  # any error is what this program looks for
        return {**found, "state": "refused", "error": f"{type(error).__name__}: {error}"}
    found["compile"] = round(compiled, 2)
    found["calls"] = [round(c, 2) for c in calls]
    found["difference"] = worst
    found["state"] = "equal" if worst <= TOLERANCE else "wrong"
    if seconds:
        first, _ = pairs[0]
        found.update(_timed(lambda: model.run(None, first), lambda: reference(first), seconds))
    return found


def _outputs(run: Runner, feed: Feed) -> Sequence[np.ndarray] | None:
    """Returns the outputs of onnxruntime; None if it does not run a model at these sizes."""
    try:
        return run(feed)
    except Exception:  # its errors have no common class
        return None


def _timed(
    ours: Callable[[], object], peer: Callable[[], object], seconds: float
) -> dict[str, object]:
    """Returns the fastest times, in milliseconds, of functions run in turns, and the ratio."""
    times: tuple[list[float], list[float]] = ([], [])
    end = time.perf_counter() + seconds
    while time.perf_counter() < end or len(times[0]) < 4:
        for run, measured in zip((ours, peer), times, strict=True):
            run()
            part = time.perf_counter() + seconds / 8
            while time.perf_counter() < part or not measured:
                start = time.perf_counter()
                run()
                measured.append(time.perf_counter() - start)
    a, b = (min(t) * 1e3 for t in times)
    return {"glow": round(a, 3), "onnxruntime": round(b, 3), "ratio": round(b / a, 2)}


def _line(found: Mapping[str, object]) -> str:
    rest = str(found.get("error", "")).splitlines()
    details = {k: v for k, v in found.items() if k not in ("model", "state", "error")}
    shown = " | ".join(line.strip() for line in rest)[:300] or " ".join(
        f"{k} {v:.1e}" if k == "difference" else f"{k} {v}" for k, v in details.items()
    )
    return f"{found['model']:44} {found['state']:8} {shown}"


def _in_process(path: Path, limit: float, rest: Sequence[str]) -> dict[str, object]:
    """Checks a model in a process of its own, which may take `limit` seconds."""
    command = [sys.executable, "-m", __spec__.name, "--one", str(path), *rest]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=limit, check=False)
    except subprocess.TimeoutExpired:
        return {"model": path.stem, "state": "slow", "error": f"more than {limit:.0f} s"}
    if done.returncode:
        last = (done.stderr.strip().splitlines() or [f"exit code {done.returncode}"])[-1]
        return {"model": path.stem, "state": "failed", "error": last}
    return json.loads(done.stdout.splitlines()[-1])


def main(arguments: Sequence[str] | None = None) -> int:
    """Checks the models of the command line; returns 1 unless all are equal."""
    parser = argparse.ArgumentParser(prog="glow.benchmarks.exports.check", description=__doc__)
    parser.add_argument("models", nargs="+", type=Path, metavar="FILE.onnx")
    parser.add_argument("--seconds", type=float, default=0.0, help="time both for so long")
    parser.add_argument("--backend", default="cpu", help="cpu; interpreter compiles nothing")
    parser.add_argument("--limit", type=float, default=180.0, help="seconds for one model")
    parser.add_argument("--json", type=Path, help="write the results to this file")
    parser.add_argument("--one", action="store_true", help="check in this process, print JSON")
    options = parser.parse_args(arguments)
    if options.one:
        print(json.dumps(check(options.models[0], options.seconds, options.backend)))
        return 0
    rest = ["--seconds", str(options.seconds), "--backend", options.backend]
    results = []
    for path in options.models:
        results.append(_in_process(path, options.limit, rest))
        print(_line(results[-1]), flush=True)
        if options.json:
            options.json.write_text(json.dumps(results, indent=1))
    states = [str(r["state"]) for r in results]
    print(", ".join(f"{states.count(s)} {s}" for s in dict.fromkeys(states)))
    return int(any(s != "equal" for s in states))


if __name__ == "__main__":
    sys.exit(main())
