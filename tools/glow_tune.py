"""
`glow-tune`: measure schedules of the kernels of a network, and keep those that are faster than the
cost model's choice.

```
glow-tune model.onnx --seconds 120 -o model.tuned
glow-run model.onnx --schedules model.tuned
```
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Protocol

from ..errors import GlowError
from ..wording import counted
from .arguments import Parser, add_cpu_options, add_model_arguments, cpu_options, run_tool

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

    from ..compiled_model import CompiledModel
    from ..lowering.target import Target
    from ..lowering.tuned_schedules import TunedSchedules
    from ..runtime.schedule_search import Result

_NETWORK_ROUNDS = 15
"""Runs of the whole network with either schedules, in turns."""
_NETWORK_SECONDS = 10.0
"""About how long these take at most."""


def _arguments() -> argparse.ArgumentParser:
    parser = Parser(
        prog="glow-tune",
        description="Measure schedules of the kernels of a network on this machine, one thread, "
        "and keep those that are faster than the choice of the cost model.",
    )
    parser.add_argument("model", help="an ONNX file, or text of the graph dialect (.mlir)")
    group = parser.add_argument_group("search")
    group.add_argument(
        "--seconds", type=_seconds, default=60.0, metavar="S", help="the time to search; default 60"
    )
    group.add_argument(
        "-o",
        "--output",
        metavar="FILE",
        help="write the schedules here, beside those of other kernels that are there; default: the "
        "file of this machine in the cache, which compilation reads unless told otherwise",
    )
    group = parser.add_argument_group("compilation", "As the network is to be compiled afterwards.")
    add_model_arguments(group)
    add_cpu_options(group, "conv_algorithm", "precision")
    group.add_argument(
        "--quantize",
        metavar="FILE.json",
        help="a profile of glow-profile, or choices of glow-tune-quantization",
    )
    return parser


def _seconds(text: str) -> float:
    try:
        found = float(text)
    except ValueError:
        found = 0.0
    if not 0 < found < float("inf"):
        raise argparse.ArgumentTypeError(f"expected a number of seconds above 0, found {text!r}")
    return found


def _compiled(args: argparse.Namespace, schedules: str) -> CompiledModel:
    from .. import compile as glow_compile
    from ..quantization.choices_file import load_choices
    from .compile_progress import shown_progress

    choices = None if args.quantize is None else str(load_choices(args.quantize))
    with shown_progress() as progress:
        model = glow_compile(
            args.model,
            symbols=dict(args.define_symbol),
            max_elements=args.max_elements,
            progress=progress,
            quantize=choices,
            schedules=schedules,
            **cpu_options(args),
        )
    unknown = [name for name, size in model.symbols.items() if size is None]
    if unknown:
        raise GlowError(
            f"{args.model}: kernels depend on the size of {', '.join(unknown)}; give it with "
            f"--define-symbol {unknown[0]}=SIZE"
        )
    return model


def _output(args: argparse.Namespace, target: Target) -> Path:
    """Returns the file to write. Raises GlowError if its directory does not exist."""
    from ..lowering.tuned_schedules import default_file
    from ..runtime.environment import cache_directory
    from ..runtime.private_files import make_private_directory

    if args.output is None:
        path = default_file(cache_directory(), target.describe())
        make_private_directory(path.parent)
        return path
    path = Path(args.output)
    if not path.absolute().parent.is_dir():
        raise GlowError(f"{path}: its directory does not exist")
    return path


def _present(path: Path, target: Target) -> TunedSchedules:
    """
    Returns the schedules that the file has already. Raises GlowError if it is of another machine,
    or broken.
    """
    from ..lowering.tuned_schedules import TunedSchedules, read_schedules

    if not path.exists():
        return TunedSchedules()
    found = read_schedules(path, target.describe())
    if isinstance(found, str):
        raise GlowError(f"{path}: {found}; write to another file, or delete this one")
    return found


class _Report(Protocol):
    def __call__(self, kernel: str, tried: int) -> None: ...


@contextmanager
def _progress(seconds: float) -> Iterator[_Report]:
    """Shows on a terminal how much of the time is over, and which kernel is measured."""
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    screen = Console(stderr=True)
    columns = (TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn())
    start = time.monotonic()
    with Progress(*columns, console=screen, transient=True, disable=not screen.is_terminal) as bar:
        task = bar.add_task("measuring kernels", total=seconds)

        def report(kernel: str, tried: int) -> None:
            done = min(seconds, time.monotonic() - start)
            text = f"{counted(tried, 'schedule')}, {kernel.removeprefix('k_')}"
            bar.update(task, completed=done, description=text)

        yield report


def _search(
    args: argparse.Namespace, model: CompiledModel, target: Target, path: Path
) -> tuple[list[Result], int, bool]:
    """
    Returns the results, each stored in the file at once, the number of kernels that were not
    reached, and whether the search was interrupted.
    """
    from ..lowering.tuned_schedules import save_schedules
    from ..runtime.schedule_search import Search, jobs_of

    present, jobs = _present(path, target), jobs_of(model.stages["nests"], target)
    results: list[Result] = []
    interrupted = False
    with _progress(args.seconds) as report:
        search = Search(target, args.seconds, present.kernels, report)
        try:
            for result in search.run(jobs):
                results.append(result)
                known = present.kernels.pop(result.job.key, None)
                if result.texts:
                    present.kernels[result.job.key] = result.entry
                if result.texts or known is not None:
                    save_schedules(path, present, target.describe())
        except KeyboardInterrupt:
            interrupted = True
    return results, len(jobs) - len(results), interrupted or search.interrupted


def result_table(results: Sequence[Result]) -> Table:
    """Returns the kernels with faster schedules in the order of the search, and the sum of all."""
    from .report import seconds
    from .tables import DataTable

    table = DataTable("kernels, one thread").texts("kernel")
    table.numbers("calls", "schedules tried", "model", "tuned", "ratio")

    def add(name: str, of: Sequence[Result]) -> None:
        calls, tried = sum(r.job.calls for r in of), sum(r.tried for r in of)
        before = sum(r.model_seconds * r.job.calls for r in of)
        after = sum(r.tuned_seconds * r.job.calls for r in of)
        ratio = f"{after / before:.2f}" if before else "-"
        table.add_row(name, str(calls), str(tried), seconds(before), seconds(after), ratio)

    for result in results:
        if result.texts:
            add(result.job.name.removeprefix("k_"), [result])
    if rest := [r for r in results if not r.texts]:
        add(f"{counted(len(rest), 'other kernel')}", rest)
    add("all of these", results)
    return table


def _network_times(model: CompiledModel, tuned: CompiledModel) -> tuple[float, float]:
    """Returns the medians of runs of a network with either schedules, in turns."""
    import numpy as np

    from .inputs import Preprocessing, load_inputs

    rng = np.random.default_rng(0)
    feed, _ = load_inputs([], model.get_inputs(), Preprocessing(), rng)
    times: tuple[list[float], list[float]] = ([], [])
    end = time.monotonic() + _NETWORK_SECONDS
    for turn in range(_NETWORK_ROUNDS + 1):
        if turn > 2 and time.monotonic() > end:
            break
        for taken, each in zip(times, (model, tuned), strict=True):
            start = time.perf_counter()
            each.run(None, feed)
            taken.append(time.perf_counter() - start)
    # memory is touched for the first time in the first run
    return median(times[0][1:]), median(times[1][1:])


def run(args: argparse.Namespace, console: Console) -> int:
    """Runs the command of the arguments, and returns the exit code."""
    from ..lowering.target import find_target
    from ..runtime.used_schedules import NONE
    from .report import seconds

    target = find_target(None, None, None)
    path = _output(args, target)
    _present(path, target)  # reports an error in it before anything takes time
    model = _compiled(args, NONE)
    results, left, interrupted = _search(args, model, target, path)
    if results:
        console.print(result_table(results))
    better = [r for r in results if r.texts]
    if left and not interrupted:
        kernels = counted(left, "kernel")
        console.print(f"the time was over before {kernels} could be searched", soft_wrap=True)
    if interrupted:
        console.print("interrupted: the schedules that were found so far are kept", soft_wrap=True)
    if not better:
        console.print("no schedule is faster than that of the cost model: none is kept")
        return 130 if interrupted else 0
    kept = f"faster schedules for {counted(len(better), 'kernel')} of {len(results)} written to"
    console.print(f"{kept} {path}", soft_wrap=True)
    if interrupted:
        return 130
    before, after = _network_times(model, _compiled(args, str(path)))
    console.print(
        f"the network, one thread: {seconds(before)} before, {seconds(after)} after, "
        f"ratio {after / before:.2f}",
        soft_wrap=True,
    )
    return 0


def main(args: Sequence[str] | None = None) -> int:
    """
    Returns the command line: `args` are by default those of the process. Returns the exit code.

    Errors are printed on stderr in one line, with exit code 1.
    """
    return run_tool("glow-tune", _arguments, run, args)


if __name__ == "__main__":
    sys.exit(main())
