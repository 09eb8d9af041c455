"""The work of `glow-tune`: the kernels of a network are found, and their schedules are searched."""

from __future__ import annotations

import argparse
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Protocol

import numpy as np
from rich.console import Console
from rich.progress import BarColumn, TextColumn, TimeElapsedColumn

from .. import compile as glow_compile
from ..errors import GlowError
from ..lowering.target import find_target
from ..lowering.tuned_schedules import default_file
from ..progress_bar import progress_bar
from ..quantization.choices_file import load_choices
from ..runtime.environment import cache_directory
from ..runtime.private_files import make_private_directory
from ..runtime.used_schedules import NONE
from ..tuning.jobs import jobs_of, joined
from ..tuning.schedules_file import present_schedules, update_schedules
from ..tuning.search import Search
from ..wording import counted
from .arguments import cpu_options
from .compile_progress import shown_progress
from .inputs import Preprocessing, load_inputs
from .output_file import expect_directory
from .report import seconds
from .tables import DataTable

if TYPE_CHECKING:
    from rich.table import Table

    from ..lowering.target import Target
    from ..models.compiled_model import CompiledModel
    from ..tuning.jobs import Job
    from ..tuning.rivals import Result

_NETWORK_ROUNDS = 100
"""Runs of the whole network with either schedules, in turns."""
_NETWORK_SECONDS = 10.0
"""About how long these take at most."""
_NETWORK_MARGIN = 0.01
"""By what part a network may seem slower before schedules that won alone are given up."""
_PROFILED_RUNS = 5
"""Runs that tell which kernels take most time."""


def _compiled(args: argparse.Namespace, schedules: str, timed: bool = False) -> CompiledModel:
    choices = None if args.quantize is None else str(load_choices(args.quantize))
    with shown_progress() as progress:
        model = glow_compile(
            args.model,
            symbols=dict(args.define_symbol),
            max_elements=args.max_elements,
            progress=progress,
            quantize=choices,
            schedules=schedules,
            timed=timed,
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
    if args.output is None:
        path = default_file(cache_directory(), target.describe())
        make_private_directory(path.parent)
        return path
    path = Path(args.output)
    expect_directory(path)
    return path


class _Report(Protocol):
    def __call__(self, kernel: str, tried: int) -> None: ...


@contextmanager
def _progress(limit: float) -> Iterator[_Report]:
    """Shows on a terminal how much of the time is over, and which kernel is measured."""
    columns = (TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn())
    start = time.monotonic()
    with progress_bar(*columns) as bar:
        task = bar.add_task("measuring kernels", total=limit)

        def report(kernel: str, tried: int) -> None:
            done = min(limit, time.monotonic() - start)
            text = f"{counted(tried, 'schedule')}, {kernel.removeprefix('k_')}"
            bar.update(task, completed=done, description=text)

        yield report


def _search(
    args: argparse.Namespace, jobs: Sequence[Job], target: Target, path: Path
) -> tuple[list[Result], bool]:
    """
    Returns the results, each stored in the file at once, and whether the search was interrupted.
    """
    machine = target.describe()
    known = present_schedules(path, machine)
    results: list[Result] = []
    interrupted = False
    with _progress(args.seconds) as report:
        search = Search(target, args.seconds, known, report)
        try:
            for result in search.run(jobs):
                results.append(result)
                if result.texts or result.job.key in known:
                    found = result.entry if result.texts else None
                    update_schedules(path, {result.job.key: found}, machine)
        except KeyboardInterrupt:
            interrupted = True
    return results, interrupted or search.interrupted


def result_table(results: Sequence[Result]) -> Table:
    """Returns the kernels with faster schedules in the order of the search, and the sum of all."""
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


def _ratio_of_networks(args: argparse.Namespace, path: Path) -> tuple[float, float, float]:
    """
    Returns seconds of runs of the network with the model's schedules and with those of a file, in
    pairs, and the median of the ratios of pairs.
    """
    model, tuned = (_compiled(args, schedules) for schedules in (NONE, str(path)))
    feed = _random_feed(model)
    times: tuple[list[float], list[float]] = ([], [])
    # what others do on the same core does not count for the only thread
    clock = time.thread_time if args.threads == 1 else time.perf_counter
    end = time.monotonic() + _NETWORK_SECONDS
    for turn in range(_NETWORK_ROUNDS + 1):
        if turn > 3 and time.monotonic() > end:
            break
        for which in (0, 1) if turn % 2 else (1, 0):
            start = clock()
            (model, tuned)[which].run(None, feed)
            times[which].append(clock() - start)
    # memory is touched for the first time in the first run
    one, other = times[0][1:], times[1][1:]
    return median(one), median(other), median(b / a for a, b in zip(one, other, strict=True))


def _random_feed(model: CompiledModel) -> dict[str, np.ndarray]:
    return load_inputs([], model.get_inputs(), Preprocessing(), np.random.default_rng(0))[0]


def _jobs(args: argparse.Namespace, target: Target) -> list[Job]:
    """Returns the kernels of the network, those first that take most time in a run."""
    model = _compiled(args, NONE, timed=True)
    calls = model.program_calls(model.arrays(_random_feed(model)))
    found: list[Job] = []
    counts = Counter(program for program, _ in calls)
    for program, inputs in dict(calls).items():
        profile = program.profile(*inputs, repeat=_PROFILED_RUNS)
        times = [each.seconds for each in profile.instructions]
        found += jobs_of(program.stages["nests"], target.describe(), times) * counts[program]
    return joined(found)


def _print_results(
    console: Console, results: Sequence[Result], left: int, fixed: int, interrupted: bool
) -> None:
    if results:
        console.print(result_table(results))
    if fixed:
        console.print(f"kernels without alternatives: {fixed}", soft_wrap=True)
    if left and not interrupted:
        kernels = counted(left, "kernel")
        console.print(f"the time was over before {kernels} could be searched", soft_wrap=True)
    if interrupted:
        console.print("interrupted: the schedules that were found so far are kept", soft_wrap=True)


def run(args: argparse.Namespace, console: Console) -> int:
    """Runs the command of the arguments, and returns the exit code."""
    target = find_target(None, None, None)
    machine, path = target.describe(), _output(args, target)
    present = present_schedules(path, machine)  # reports an error in it before anything takes time
    jobs = _jobs(args, target)
    searched = [job for job in jobs if job.has_alternatives]
    results, interrupted = _search(args, searched, target, path)
    left, fixed = len(searched) - len(results), len(jobs) - len(searched)
    _print_results(console, results, left, fixed, interrupted)
    better = [r for r in results if r.texts]
    if not better:
        console.print("no schedule is faster than that of the cost model: none is kept")
        return 130 if interrupted else 0
    kept = f"faster schedules for {counted(len(better), 'kernel')} of {len(results)} written to"
    console.print(f"{kept} {path}", soft_wrap=True)
    if not all(r.same_bits for r in better):
        names = ", ".join(r.job.name.removeprefix("k_") for r in better if not r.same_bits)
        console.print(f"sums are added in another order, and rounded so: {names}", soft_wrap=True)
    if interrupted:
        return 130
    before, after, ratio = _ratio_of_networks(args, path)
    console.print(
        f"the network, {counted(args.threads or 1, 'thread')}: {seconds(before)} before, "
        f"{seconds(after)} after, ratio {ratio:.3f}",
        soft_wrap=True,
    )
    if ratio > 1 + _NETWORK_MARGIN:
        update_schedules(path, {r.job.key: present.get(r.job.key) for r in better}, machine)
        console.print("the network is slower with them: the file is as it was before")
    return 0
