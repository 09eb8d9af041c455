"""
Compares many random graphs with the oracles, and shrinks those that differ.

    python -m glow.tests.fuzz --graphs 5000 --seed 1

The same seed draws the same graphs. Graphs are drawn in batches; of the first one of a batch that
fails, the smallest graph that still fails is printed, and the next batch begins.
"""

from __future__ import annotations

import argparse
import sys
import time
import traceback

from glow.tests.support.fuzzing import Drawn, Report, check, graphs
from hypothesis import HealthCheck, Phase, given, note, seed, settings

BATCH = 100


def run_batch(number: int, count: int, report: Report) -> str | None:
    """Compares some graphs; returns the text of a failure."""

    @seed(number)
    @settings(
        max_examples=count,
        deadline=None,
        database=None,
        suppress_health_check=list(HealthCheck),
        phases=[Phase.generate, Phase.shrink],
        report_multiple_bugs=False,
    )
    @given(graphs())
    def compare(drawn: Drawn) -> None:
        note(repr(drawn))
        check(drawn, report)

    try:
        compare()
    except Exception as problem:
        notes = "\n".join(getattr(problem, "__notes__", []))
        return "".join(traceback.format_exception(problem)[-8:]) + notes
    return None


def main() -> int:
    """Returns 1 if a graph failed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--graphs", type=int, default=1000, metavar="N", help="how many graphs")
    parser.add_argument("--seed", type=int, default=0, metavar="S", help="of all choices")
    options = parser.parse_args()
    start, done, failures, report = time.monotonic(), 0, 0, Report()
    while done < options.graphs:
        count = min(BATCH, options.graphs - done)
        failure = run_batch(options.seed * 1_000_000 + done, count, report)
        done += count
        if failure is not None:
            failures += 1
            print(failure, flush=True)
        seconds = time.monotonic() - start
        print(
            f"{done} graphs, {failures} failures, {report.compiled} compiled, "
            f"{report.exported} also in onnxruntime, {len(report.operators)} operators, "
            f"{seconds:.0f} s",
            flush=True,
        )
    for name, count in report.operators.most_common():
        print(f"{count:6} {name}")
    for reason, count in report.refused.most_common(20):
        print(f"{count:6} refused: {reason}")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
