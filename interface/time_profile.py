"""
A profile of the time of a program: measured seconds of each instruction, within runs of the
network.

A profile has medians of several runs as thread 0 saw them, how much each instruction has to do, and
all times of all threads.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import median

import numpy as np

from .. import perfetto

_SHORTEST_WAIT = 1e-7
"""Seconds; a shorter gap between instructions in a trace is the reading of the counter."""


@dataclass(frozen=True)
class MeasuredWork:
    """A time, and the work in it."""

    seconds: float
    """Seconds of thread 0: the median of all runs, without `waiting`."""
    waiting: float
    """The seconds between the instruction before and this one: at a barrier, if there is one."""
    flops: int
    """Multiplications and additions of convolutions and matrix products, by all threads."""
    bytes: int
    """The bytes that all threads must read and write, if nothing is moved twice."""

    @property
    def gflops(self) -> float:
        """GFLOP/s."""
        return self.flops / self.seconds / 1e9 if self.seconds else 0.0

    @property
    def gigabytes(self) -> float:
        """GB/s."""
        return self.bytes / self.seconds / 1e9 if self.seconds else 0.0


@dataclass(frozen=True)
class InstructionTime(MeasuredWork):
    """An instruction of the program."""

    number: int
    """The place of the instruction in the program, from 0."""
    name: str
    """
    The name of the value that the instruction computes, or of the buffer that contains the value.
    """
    kind: str
    """The instruction without `glow_inst.`, such as `blocked_convolution`."""
    fused: tuple[str, ...]
    """The operators of its epilogue or stack, without `glow.`."""
    outputs: tuple[str, ...]
    """Types of the buffers that it writes, such as `1x64x56x56xf32`."""
    inputs: tuple[str, ...]
    """Types of the buffers that it reads; those of the epilogue last."""


@dataclass(frozen=True)
class KindTime(MeasuredWork):
    """All instructions of one kind."""

    kind: str
    count: int


@dataclass(frozen=True, eq=False)
class TimedRun:
    """A run of the program."""

    seconds: float
    """Seconds of the whole call, with the start of threads and the wait for them at the end."""
    times: np.ndarray
    """
    f64[threads, instructions, 2]: when each thread began and ended each instruction, in seconds
    from the call.
    """

    @property
    def computing(self) -> float:
        """Seconds of thread 0 in instructions."""
        return float((self.times[0, :, 1] - self.times[0, :, 0]).sum())

    @property
    def waiting(self) -> float:
        """Seconds of thread 0 between instructions."""
        return float((self.times[0, 1:, 0] - self.times[0, :-1, 1]).sum())


@dataclass(frozen=True, eq=False)
class TimeProfile:
    """Measured times of a program."""

    instructions: tuple[InstructionTime, ...]
    """The instructions in the order of the program."""
    runs: tuple[TimedRun, ...]
    threads: int

    @property
    def seconds(self) -> float:
        """The median seconds of a run."""
        return median(run.seconds for run in self.runs)

    @property
    def computing(self) -> float:
        """
        The median seconds of a run in instructions. The sum of the medians of single instructions
        is less, because none of these includes a rare disturbance.
        """
        return median(run.computing for run in self.runs)

    @property
    def waiting(self) -> float:
        """The median seconds of a run between instructions."""
        return median(run.waiting for run in self.runs)

    @property
    def outside(self) -> float:
        """The median seconds of a run before the first instruction and after the last one."""
        return median(run.seconds - run.computing - run.waiting for run in self.runs)

    def kinds(self) -> list[KindTime]:
        """Returns the sums of each kind of instruction, those first that take longest."""
        groups: dict[str, list[InstructionTime]] = {}
        for i in self.instructions:
            groups.setdefault(i.kind, []).append(i)
        sums = [
            KindTime(
                sum(i.seconds for i in group),
                sum(i.waiting for i in group),
                sum(i.flops for i in group),
                sum(i.bytes for i in group),
                kind,
                len(group),
            )
            for kind, group in groups.items()
        ]
        return sorted(sums, key=lambda k: -k.seconds)

    def typical_run(self) -> TimedRun:
        """Returns the run that took the median time; of two in the middle, the shorter."""
        return sorted(self.runs, key=lambda run: run.seconds)[(len(self.runs) - 1) // 2]

    def trace(self) -> dict[str, object]:
        """
        Returns the typical run as an object for JSON, for Perfetto: a track for each thread, with
        the instructions and, if there are several threads, where each waits.
        """
        run = self.typical_run()
        events = [perfetto.process(0, "glow")]
        for thread in range(self.threads):
            events.append(perfetto.track(thread, f"thread {thread}"))
        events.append(perfetto.slice_event(0, "run", 0.0, run.seconds * 1e6, {}))
        for thread in range(self.threads):
            events += self._track(thread, run.times[thread])
        return perfetto.document(events)

    def write_trace(self, path: str | Path) -> None:
        """Writes `trace` to a file. Raises OSError."""
        Path(path).write_text(json.dumps(self.trace()), encoding="utf-8")

    def _track(self, thread: int, times: np.ndarray) -> Iterator[perfetto.Event]:
        before = times[0, 0] if len(times) else 0.0
        for i, (begin, end) in zip(self.instructions, times.tolist(), strict=True):
            if self.threads > 1 and begin - before >= _SHORTEST_WAIT:
                yield _slice(thread, "waiting", before, begin, {})
            yield _slice(thread, f"{i.name}: {i.kind}", begin, end, _arguments(i))
            before = end


def joined(profiles: Sequence[TimeProfile]) -> TimeProfile:
    """
    Returns the profile of programs that run one after the other, from as many runs of each. A call
    of a program takes time beside its instructions, which is between instructions then.
    """
    if len(profiles) == 1:
        return profiles[0]
    each = [i for profile in profiles for i in profile.instructions]
    instructions = tuple(replace(i, number=number) for number, i in enumerate(each))
    runs = (_joined_run(runs) for runs in zip(*(p.runs for p in profiles), strict=True))
    return TimeProfile(instructions, tuple(runs), profiles[0].threads)


def _joined_run(runs: Sequence[TimedRun]) -> TimedRun:
    """Returns a run each part of which begins where the one before ends."""
    begins = np.cumsum([0.0, *(run.seconds for run in runs)])
    times = [run.times + begin for run, begin in zip(runs, begins[:-1], strict=True)]
    return TimedRun(float(begins[-1]), np.concatenate(times, axis=1))


def _slice(
    thread: int, name: str, begin: float, end: float, arguments: dict[str, object]
) -> perfetto.Event:
    return perfetto.slice_event(thread, name, begin * 1e6, (end - begin) * 1e6, arguments)


def _arguments(i: InstructionTime) -> dict[str, object]:
    return {
        "number": i.number,
        "kind": i.kind,
        "fused": ", ".join(i.fused),
        "outputs": ", ".join(i.outputs),
        "inputs": ", ".join(i.inputs),
        "flops": i.flops,
        "bytes": i.bytes,
        "median us": round(i.seconds * 1e6, 3),
        "GFLOP/s": round(i.gflops, 3),
    }
