"""
The backend suite of the onnx package, compiled for the CPU, against the results that are expected.

    python -m glow.tests.conformance.suite                 # all cases, in two processes
    python -m glow.tests.conformance.suite --only gather    # those whose names contain a text
    python -m glow.tests.conformance.suite --update         # write the file of expected results
    python -m glow.tests.conformance.suite --sanitize       # kernels check each of their accesses

Each case goes through `glow.onnx_backend` as it is: inputs of the model stay inputs. It passes, is
refused by an UnsupportedError, or fails. `expected.txt` says for each case `pass`, or why it is
refused. A case that is worse than expected is a regression. One that is better has to be noted in
the file, and counts as an error until then. Where the suite asks for the rounding errors of one
implementation, the file says `differs:` and why; where chance decides, it says `random:`.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
import traceback
import unittest
import warnings
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import cache
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from glow.errors import UnsupportedError
from glow.onnx_backend import GlowBackend, GlowBackendRep
from glow.wording import counted
from onnx import ModelProto
from onnx.backend.test import BackendTest

EXPECTED = Path(__file__).with_name("expected.txt")
PASS, REFUSED, FAILED = "pass", "refused", "failed"
DIFFERS, RANDOM = "differs: ", "random: "
MAY_FAIL = DIFFERS, RANDOM
"""Prefixes of the reasons why a case fails, or passes or fails by chance."""
_KINDS = {
    "OnnxBackendNodeModelTest": "node",
    "OnnxBackendSimpleModelTest": "simple",
    "OnnxBackendRealModelTest": "real",
    "OnnxBackendPyTorchConvertedModelTest": "pytorch-converted",
    "OnnxBackendPyTorchOperatorModelTest": "pytorch-operator",
}


@dataclass(frozen=True)
class Result:
    """The outcome of a case. `detail` is the reason of a refusal or a failure."""

    name: str
    kind: str
    operator: str
    status: str
    detail: str
    seconds: float


class _Recorder(GlowBackend):
    """The backend, which notes the operators of the models that it prepares."""

    operators: list[str] = []
    options: dict[str, Any] = {}
    """Options of the backend."""

    @classmethod
    def is_compatible(cls, model: ModelProto, device: str = "CPU", **kwargs: Any) -> bool:
        return True  # `prepare` says why not

    @classmethod
    def prepare(cls, model: ModelProto, device: str = "CPU", **kwargs: Any) -> GlowBackendRep:
        cls.operators[:] = [node.op_type for node in model.graph.node]
        return super().prepare(model, device, backend="cpu", **cls.options, **kwargs)


@cache
def cases() -> Mapping[str, tuple[str, type[unittest.TestCase]]]:
    """Returns the kind of each case and the class that has it as a method, by name."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # some cases overflow on purpose
        classes = BackendTest(_Recorder, __name__).test_cases
    return {
        name.removesuffix("_cpu"): (_KINDS[kind], of)
        for kind, of in classes.items()
        for name in unittest.defaultTestLoader.getTestCaseNames(of)
        if name.endswith("_cpu")
    }


def run_case(name: str) -> Result:
    """Runs one case in this process."""
    kind, of = cases()[name]
    method = f"{name}_cpu"
    start = time.perf_counter()
    _Recorder.operators.clear()
    status, detail = PASS, ""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            getattr(of(method), method)()
    except UnsupportedError as error:
        status, detail = REFUSED, _reason(error)
    except Exception as error:
        place = traceback.extract_tb(error.__traceback__)[-1]
        message = " ".join(str(error).split())[:400]
        where = f"{Path(place.filename).name}:{place.lineno}"
        status, detail = FAILED, f"{type(error).__name__}: {message} ({where})"
    seconds = time.perf_counter() - start
    return Result(name, kind, _operator(name, kind), status, detail, seconds)


def _reason(error: UnsupportedError) -> str:
    """Returns the problems that an error lists, in one line."""
    first, *problems = str(error).splitlines()
    return "; ".join(dict.fromkeys(p.strip() for p in problems)) or first


def _operator(name: str, kind: str) -> str:
    """Returns the operator that a case is about; of cases of several operators, the kind."""
    operators = list(_Recorder.operators)
    if "_expanded" in name:
        return f"{name.removeprefix('test_').partition('_')[0]} (as its definition)"
    return operators[0] if kind == "node" and len(operators) == 1 else f"({kind})"


def run_cases(names: Sequence[str], jobs: int) -> list[Result]:
    """
    Runs cases in `jobs` processes. A case that ends its process is one that failed; those that the
    process had not started are run in another.
    """
    cases()  # once, for all processes
    results: list[Result] = []
    if jobs == 1:
        return [run_case(name) for name in names]
    waiting = list(names)
    while waiting:
        with ProcessPoolExecutor(jobs, mp_context=get_context("fork")) as pool:
            futures = {name: pool.submit(run_case, name) for name in waiting}
            done = {n: f.result() for n, f in futures.items() if f.exception() is None}
        results += done.values()
        left = [name for name in waiting if name not in done]
        if left and not done:
            name, *left = left
            results.append(_ended(name))
        elif left:
            # the first ones that are left were running
            results += _alone(left[:jobs])
            left = left[jobs:]
        waiting = left
    return sorted(results, key=lambda r: r.name)


def _alone(names: Iterable[str]) -> list[Result]:
    """Returns each case in a process of its own."""
    results: list[Result] = []
    for name in names:
        with ProcessPoolExecutor(1, mp_context=get_context("fork")) as pool:
            future = pool.submit(run_case, name)
            results.append(_ended(name) if future.exception() else future.result())
    return results


def _ended(name: str) -> Result:
    return Result(name, cases()[name][0], "", FAILED, "the process ended", 0.0)


def read_expected(path: Path = EXPECTED) -> dict[str, str]:
    """Returns `pass`, or the reason of a refusal, by case."""
    lines = path.read_text().splitlines()
    return dict(line.split(": ", 1) for line in lines if line and not line.startswith("#"))


def write_expected(results: Sequence[Result], path: Path = EXPECTED) -> None:
    """Replaces the entries of the cases that ran. Those that failed have none."""
    expected = {**read_expected(path)} if path.exists() else {}
    for result in results:
        wanted = expected.get(result.name, "")
        if result.status == FAILED:
            if not wanted.startswith(MAY_FAIL):
                expected.pop(result.name, None)
        elif result.status == REFUSED or not wanted.startswith(RANDOM):
            expected[result.name] = result.detail or PASS
    lines = [f"{name}: {expected[name]}\n" for name in sorted(expected) if name in cases()]
    note = "# Written by `python -m glow.tests.conformance.suite --update`.\n"
    path.write_text(note + "".join(lines))


def deviations(results: Sequence[Result], expected: Mapping[str, str]) -> list[str]:
    """Returns a line for each case that is not as expected."""
    found: list[str] = []
    for result in results:
        wanted = expected.get(result.name, "")
        may_pass = wanted == PASS or wanted.startswith(RANDOM)
        if result.status == FAILED:
            if not wanted.startswith(MAY_FAIL):
                found.append(f"{result.name}: {result.detail}")
        elif result.status == REFUSED and (may_pass or not wanted):
            found.append(f"{result.name}: refused, expected to pass: {result.detail}")
        elif result.status == PASS and not may_pass:
            found.append(f"{result.name}: passes, which {EXPECTED.name} does not say yet")
    return found


def table(results: Sequence[Result]) -> str:
    """Returns how many cases pass, by kind and by operator."""
    return f"{_counts('kind', results)}\n\n{_counts('operator', results)}"


def _counts(by: str, results: Sequence[Result]) -> str:
    groups: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for result in results:
        groups[getattr(result, by)][result.status] += 1
    rows: list[tuple[str, ...]] = [(by, "cases", PASS, REFUSED, FAILED)]
    for name, count in sorted(groups.items()):
        rows.append((name, str(count.total()), *(str(count[s]) for s in rows[0][2:])))
    total = Counter(result.status for result in results)
    rows.append(("all", str(len(results)), *(str(total[s]) for s in rows[0][2:])))
    width = max(len(row[0]) for row in rows)
    return "\n".join(row[0].ljust(width) + "".join(c.rjust(9) for c in row[1:]) for row in rows)


def main() -> int:
    parser = argparse.ArgumentParser(description="the backend suite of the onnx package")
    parser.add_argument("--jobs", type=int, default=2, help="processes")
    parser.add_argument("--only", default="", help="run the cases whose names contain this text")
    parser.add_argument("--update", action="store_true", help=f"write {EXPECTED.name}")
    parser.add_argument("--sanitize", action="store_true", help="compile with sanitize=True")
    options = parser.parse_args()
    if options.sanitize:
        _Recorder.options["sanitize"] = True
    start = time.perf_counter()
    with tempfile.TemporaryDirectory() as directory:
        # compiled code and outputs of this run alone
        os.environ["GLOW_CACHE_DIR"] = f"{directory}/cache"
        os.environ["ONNX_HOME"] = f"{directory}/onnx"
        results = run_cases([name for name in cases() if options.only in name], options.jobs)
    print(table(results))
    if options.update:
        write_expected(results)
    found = deviations(results, read_expected())
    print(f"\n{counted(len(results), 'case')} in {time.perf_counter() - start:.0f} s")
    print("\n".join(found) or "all as expected")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
