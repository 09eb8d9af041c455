"""The results of benchmarks: measurements of runtimes on networks, as data and as JSON."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from math import exp, log
from pathlib import Path
from typing import Any

OURS = "glow"
DIRECT = "glow_direct"
"""Glow with convolutions by their definition (`--no-winograd`)."""


@dataclass(frozen=True)
class Measurement:
    """
    The measurement of one runtime on one network: seconds and bytes. Times are of whole batches.
    """

    median: float = 0.0
    """The median seconds of all timed runs of all rounds."""
    least: float = 0.0
    runs: int = 0
    cold: float = 0.0
    """Seconds from the start to the first result, with empty caches."""
    warm: float | None = None
    """The median of the same in later rounds; None if there was one round."""
    memory_cold: int = 0
    """The peak of the process whose caches were empty."""
    memory_warm: int | None = None
    """The largest peak of the other processes."""
    memory_running: int = 0
    """The peak while runs were timed, in the last round."""
    difference: float | None = None
    """
    The difference from the outputs of the first other runtime, relative to the largest value of an
    output.
    """
    error: str = ""


@dataclass
class Case:
    """A network for a batch and a number of threads, and the measurements of each runtime on it."""

    network: str
    batch: int
    threads: int
    runtimes: dict[str, Measurement] = field(default_factory=dict)

    def median(self, runtime: str) -> float | None:
        found = self.runtimes.get(runtime)
        return None if found is None or found.error else found.median

    def peers(self) -> list[str]:
        return [name for name in self.runtimes if name not in (OURS, DIRECT)]

    def faster_peer(self) -> float | None:
        """Returns the least median of the other runtimes, in seconds."""
        return min((t for name in self.peers() if (t := self.median(name))), default=None)

    def speed(self, runtime: str = OURS) -> float | None:
        """Returns the time of the faster peer divided by that of a runtime."""
        ours, best = self.median(runtime), self.faster_peer()
        return best / ours if ours and best else None

    def failures(self, tolerance: float) -> list[str]:
        """Returns the failures, including outputs that differ by more than `tolerance`."""
        found: list[str] = []
        title = f"{self.network}, batch {self.batch}, threads {self.threads}"
        for name, measured in self.runtimes.items():
            if measured.error:
                found.append(f"{title}: {name} failed: {measured.error}")
            elif measured.difference is not None and not measured.difference <= tolerance:
                found.append(f"{title}: {name} differs by {measured.difference:.3g}")
        return found


@dataclass
class Results:
    """A run of the benchmarks on one machine."""

    machine: dict[str, str]
    versions: dict[str, str]
    settings: dict[str, float]
    date: str
    cases: list[Case] = field(default_factory=list)

    def batches(self) -> list[int]:
        return sorted({case.batch for case in self.cases})

    def threads(self) -> list[int]:
        return sorted({case.threads for case in self.cases})

    def runtimes(self) -> list[str]:
        """
        Returns the runtimes, ours first. The variant without Winograd convolution is none of them.
        """
        names = list(dict.fromkeys(name for case in self.cases for name in case.runtimes))
        return sorted((n for n in names if n != DIRECT), key=lambda name: name != OURS)

    def has_direct(self) -> bool:
        """Returns whether the variant without Winograd convolution ran too."""
        return any(DIRECT in case.runtimes for case in self.cases)

    def networks(self, batch: int = 1) -> list[str]:
        return list(dict.fromkeys(case.network for case in self.cases if case.batch == batch))

    def find(self, network: str, batch: int, threads: int) -> Case | None:
        wanted = (network, batch, threads)
        return next((c for c in self.cases if (c.network, c.batch, c.threads) == wanted), None)

    def mean_speed(self, batch: int, threads: int, runtime: str = OURS) -> float | None:
        """Returns the geometric mean over all networks that ran."""
        cases = [c for c in self.cases if c.batch == batch and c.threads == threads]
        return geometric_mean([s for case in cases if (s := case.speed(runtime))])

    def largest_difference(self) -> float | None:
        """
        Returns the largest difference of the outputs of any runtime in any case; None if none were
        compared.
        """
        found = (m.difference for case in self.cases for m in case.runtimes.values())
        return max((d for d in found if d is not None), default=None)

    def failures(self, tolerance: float) -> list[str]:
        """Returns the failures of all cases."""
        return [line for case in self.cases for line in case.failures(tolerance)]

    def to_json(self) -> str:
        means = {
            f"batch {batch}, threads {threads}": mean
            for batch in self.batches()
            for threads in self.threads()
            if (mean := self.mean_speed(batch, threads))
        }
        return json.dumps({**asdict(self), "geometric_means": means}, indent=1) + "\n"

    @staticmethod
    def from_json(text: str) -> Results:
        found: dict[str, Any] = json.loads(text)
        cases = [
            Case(
                case["network"],
                case["batch"],
                case["threads"],
                {name: Measurement(**values) for name, values in case["runtimes"].items()},
            )
            for case in found["cases"]
        ]
        parts: Mapping[str, Any] = {
            name: found[name] for name in ("machine", "versions", "settings", "date")
        }
        return Results(**parts, cases=cases)

    @staticmethod
    def read(path: Path) -> Results:
        return Results.from_json(path.read_text(encoding="utf-8"))


def geometric_mean(values: Sequence[float]) -> float | None:
    return exp(sum(map(log, values)) / len(values)) if values else None
