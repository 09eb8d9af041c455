"""
`glow-test-backend` checks whether a backend computes the operators that it claims.

```
glow-test-backend cpu
glow-test-backend vta --filter convolution --seed 17
glow-test-backend cpu --list
```

For each operator and element type that the backend claims, cases at odd shapes with random data run
through its whole pipeline, and the results are compared with the interpreter's: integers exactly,
floats as `conformance.check.TOLERANCES` says. Other packages can bring operators, and generators of
cases for them, with their backends: see `conformance.cases`.
"""

from __future__ import annotations

import argparse
import random
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..errors import GlowError
from ..wording import counted
from .arguments import count, seed

if TYPE_CHECKING:
    from ..interface.backend import Backend
    from .conformance.check import Outcome
    from .conformance.plan import Subject

SHOWN = 3
"""The number of failures of one operator that are printed."""
LONGEST = 2000
"""Characters of the message of one failure."""


class _Parser(argparse.ArgumentParser):
    """Reports wrong arguments as other errors are reported: one line, exit code 1."""

    def error(self, message: str):
        raise GlowError(message)


def _arguments() -> argparse.ArgumentParser:
    parser = _Parser(
        prog="glow-test-backend",
        description="Run cases of every operator that a backend claims, on every element type, and "
        "compare with the interpreter. The exit code is 1 if one fails.",
    )
    parser.add_argument("backend", help="the name of an installed backend")
    parser.add_argument("--seed", type=seed, help="of random data; default: another one each time")
    parser.add_argument(
        "--filter", default="", metavar="TEXT", help="only operators whose name contains this"
    )
    parser.add_argument("--threads", type=count, default=1, metavar="N", help="default: 1")
    parser.add_argument("--list", action="store_true", help="print the claims and run nothing")
    return parser


@dataclass(frozen=True)
class Report:
    """The outcomes of the cases of one operator."""

    subject: Subject
    outcomes: Sequence[Outcome]
    seconds: float

    @property
    def failures(self) -> list[str]:
        """The texts of failures: one for each case that failed, and for each problem of a claim."""
        failed = [o for o in self.outcomes if not o.passed]
        return [*self.subject.problems, *map(_failure, failed)]

    @property
    def line(self) -> str:
        """A row of the table."""
        exact = all(o.limit == 0 for o in self.outcomes)
        # the one that comes nearest to its limit
        worst = max(self.outcomes, key=_share, default=None)
        apart = "exact" if worst is None or exact else f"{worst.difference:.1e}"
        allowed = "" if worst is None or exact else f"{worst.limit:.0e}"
        result = f"{len(self.failures)} failed" if self.failures else "passed"
        rows, cases = len(self.subject.rows), len(self.outcomes)
        name = self.subject.operator.name
        return (
            f"{name:36} {rows:5} {cases:5}  {apart:>8} {allowed:>8}  {self.seconds:5.1f}  {result}"
        )


HEADER = f"{'operator':36} types cases    differ at most  seconds"


def _share(outcome: Outcome) -> float:
    return outcome.difference / outcome.limit if outcome.limit else outcome.difference


def _failure(outcome: Outcome) -> str:
    if outcome.error:
        return f"{outcome.case}\n    {outcome.error[:LONGEST]}"
    apart = f"a difference of {outcome.difference:.3g}, at most {outcome.limit:.3g} expected"
    return f"{outcome.case}\n    {apart}"


def run(backend: Backend, seed: int, wanted: str) -> int:
    """Tests a backend, print the table, and returns how many cases and claims failed."""
    # --help needs no compiler
    from .conformance.check import check
    from .conformance.plan import plan

    print(f"backend {backend.name}, seed {seed}")
    print(HEADER)
    reports: list[Report] = []
    for subject in plan(backend, seed, wanted):
        start = time.perf_counter()
        outcomes = check(backend, subject.cases) if subject.cases else []
        reports.append(Report(subject, outcomes, time.perf_counter() - start))
        print(reports[-1].line, flush=True)
    failed = [r for r in reports if r.failures]
    for report in failed:
        name = report.subject.operator.name
        print(f"\n{name}: {len(report.failures)} failed; run these alone with --filter={name}")
        for text in report.failures[:SHOWN]:
            print(f"  {text}")
    count = sum(len(r.failures) for r in reports)
    cases = sum(len(r.outcomes) for r in reports)
    tested = f"{counted(cases, 'case')} of {counted(len(reports), 'operator')}"
    print(f"\n{tested}: {count or 'none'} failed (seed {seed})")
    return count


def list_claims(backend: Backend, wanted: str) -> None:
    """Prints a backend's claims: one line for each operator and condition."""
    for claim in (claim for claims in backend.claims_by_operator().values() for claim in claims):
        if wanted in claim.operator.name:
            types = "every type" if claim.elements is None else "; ".join(map(str, claim.elements))
            print(f"{claim.operator.name:36} {types}")


def main(args: Sequence[str] | None = None) -> int:
    """
    Runs the tool with `args`, by default those of the process. Returns the exit code.

    Errors are printed on stderr in one line, with exit code 1.
    """
    try:
        options = _arguments().parse_args(sys.argv[1:] if args is None else list(args))
        # --help needs no backend
        from ..interface.backend import find_backend

        backend = find_backend(options.backend, threads=options.threads, cache=False)
        if not any(options.filter in operator.name for operator in backend.claims_by_operator()):
            raise GlowError(f"{backend.name} claims no operator that contains {options.filter!r}")
        if options.list:
            list_claims(backend, options.filter)
            sys.stdout.flush()
            return 0
        seed = random.SystemRandom().randrange(1 << 32) if options.seed is None else options.seed
        return 1 if run(backend, seed, options.filter) else 0
    except GlowError as error:
        print(f"glow-test-backend: error: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:
        # the reader of a pipe has seen enough
        sys.stderr.close()
        return 0


if __name__ == "__main__":
    sys.exit(main())
