"""
Glow beside other runtimes, in one run on the same machine.

    python -m glow.benchmarks.run                   # all networks, all installed runtimes
    python -m glow.benchmarks.run squeezenet my.onnx --runtimes glow onnxruntime --threads 1

Every measurement is a process of its own, and the runtimes take turns, so that a busy moment of the
machine hits all of them. A time is the median over all runs of all rounds; the first runs of a
process warm it up and do not count. Outputs are compared with those of the first other runtime: the
exit code is 1 if a runtime failed or differs by more than `--tolerance`. Networks are those of
`glow.benchmarks.networks`, or files.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path

from glow.benchmarks.chart import svg
from glow.benchmarks.compare import Settings, compare
from glow.benchmarks.machines import this_machine
from glow.benchmarks.measurements import DIRECT, Results
from glow.benchmarks.networks import ALL
from glow.benchmarks.report import machine, sections
from glow.benchmarks.worker import RUNTIMES
from rich.console import Console

PACKAGES = {"glow": "glow-compiler"}
"""Distributions of runtimes that are called otherwise than their modules."""

FILE_WIDTH = 120
"""The columns of output that does not go to a terminal."""

BATCHED = {"resnet50": 8, "squeezenet": 8}
"""Networks that also run in batches by default, and how large these are."""


def describe(runtimes: Sequence[str], settings: Settings) -> Results:
    """Returns results without cases, but with the machine and the versions of the runtimes."""
    return Results(
        machine=this_machine(),
        versions={name: version(PACKAGES.get(name, name)) for name in runtimes},
        settings={
            "rounds": settings.rounds,
            "repeat": settings.repeat,
            "seconds": settings.seconds,
        },
        date=time.strftime("%Y-%m-%d"),
    )


def jobs(networks: Sequence[str], batches: Sequence[int]) -> Iterator[tuple[str, int]]:
    """Networks and batch sizes; by default batch 1, and larger ones of a few networks."""
    for name in networks or ALL:
        yield from ((name, batch) for batch in batches or (1,))
    if not networks and not batches:
        yield from BATCHED.items()


def counts(text: str) -> list[int]:
    """Returns positive numbers that are separated by commas."""
    found = sorted({int(part) for part in text.split(",")})
    if found[0] < 1:
        raise ValueError(text)
    return found


def arguments() -> argparse.ArgumentParser:
    usual = Settings()
    parser = argparse.ArgumentParser(description="Compare glow with other runtimes.")
    parser.add_argument("networks", nargs="*", help="names or .onnx files; default: all names")
    installed = [name for name in RUNTIMES if find_spec(name)]
    parser.add_argument("--runtimes", nargs="+", choices=list(RUNTIMES), default=installed)
    parser.add_argument(
        "--no-winograd", action="store_true", help="also run glow without Winograd convolution"
    )
    parser.add_argument("--threads", type=counts, default=[1, 2], help="default: 1,2")
    parser.add_argument(
        "--batch",
        type=counts,
        default=[],
        help="sizes of batches, such as 1,8; default: 1, and if all networks run, 8 of some",
    )
    parser.add_argument(
        "--rounds", type=int, default=usual.rounds, help="processes per runtime and network"
    )
    parser.add_argument(
        "--repeat", type=int, default=usual.repeat, help="the most timed runs of a process"
    )
    parser.add_argument(
        "--seconds", type=float, default=usual.seconds, help="no more timed runs after so long"
    )
    parser.add_argument(
        "--timeout", type=float, default=usual.timeout, help="seconds that a process may take"
    )
    parser.add_argument("--models", type=Path, default=usual.models, help="where networks are kept")
    parser.add_argument(
        "--tolerance", type=float, default=1e-3, help="largest difference of outputs"
    )
    parser.add_argument("--markdown", action="store_true", help="print tables for a document")
    parser.add_argument("--json", type=Path, help="also write the results to this file")
    parser.add_argument("--svg", type=Path, help="also draw a chart")
    return parser


def show(results: Results, markdown: bool) -> None:
    console = Console(highlight=False)
    if not console.is_terminal:
        console.width = FILE_WIDTH
    for section in sections(results):
        if markdown:
            print(section.markdown())
        else:
            console.print(section.rich())
    print(machine(results))


def write(results: Results, parsed: argparse.Namespace) -> None:
    for path, text in ((parsed.json, results.to_json), (parsed.svg, lambda: svg(results))):
        if path:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text(), encoding="utf-8")


def main(args: Sequence[str] | None = None) -> int:
    parsed = arguments().parse_args(args)
    settings = replace(
        Settings(models=parsed.models, timeout=parsed.timeout),
        rounds=max(1, parsed.rounds),
        repeat=max(1, parsed.repeat),
        seconds=parsed.seconds,
    )
    results = describe(parsed.runtimes, settings)
    problems: list[str] = []
    runtimes = [*parsed.runtimes, *([DIRECT] if parsed.no_winograd else [])]
    for name, batch in jobs(parsed.networks, parsed.batch):
        try:
            results.cases += compare(
                name,
                batch,
                parsed.threads,
                runtimes,
                settings,
                lambda line: print(line, file=sys.stderr),
            )
        except RuntimeError as error:
            problems.append(str(error))
            continue
        # saved after each case, so that results are kept if the run is ended
        write(results, parsed)
    show(results, parsed.markdown)
    problems += results.failures(parsed.tolerance)
    for line in problems:
        print(f"error: {line}", file=sys.stderr)
    return 1 if problems else 0


if __name__ == "__main__":
    raise SystemExit(main())
