"""
A search for schedules that are faster than those of the cost model, by measuring kernels.

For each nest with a reduction it tries the schedules that the model ranks best, then neighbours of
the fastest so far (Chen et al. 2018, "Learning to Optimize Tensor Programs", of which this is the
simplest form: the model is fixed, and the search greedy). A schedule counts as faster only if both
the median and the least time of runs in turns are smaller by a margin. What wins is measured once
more against the model's schedules at the end, so that the luck of the search does not count.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from io import StringIO
from itertools import islice
from statistics import median

import numpy as np
from xdsl.dialects.builtin import MemRefType, ModuleOp
from xdsl.ir import SSAValue
from xdsl.printer import Printer

from ..errors import GlowError
from ..glow_dialects.glow_inst.instruction import buffer_of
from ..glow_dialects.glow_inst.memory import WeightOp
from ..glow_dialects.glow_nest.attributes import ScheduleAttr
from ..glow_dialects.glow_nest.call import CallOp
from ..glow_dialects.glow_nest.content import accesses_of, with_unique_names
from ..glow_dialects.glow_nest.kernel import KernelOp
from ..glow_dialects.glow_nest.nest import Nest, simplified
from ..glow_dialects.glow_nest.ops import NestOp, StepOp
from ..glow_dialects.glow_nest.schedule import Schedule
from ..glow_dialects.glow_nest.steps import KernelSteps
from ..lowering.kernels.kernel_key import kernel_key
from ..lowering.kernels.schedule_nests import schedule_nests, schedule_of
from ..lowering.kernels.schedules.best_schedule import best_schedule
from ..lowering.kernels.schedules.prefetch import ALONE, Around, loops_around
from ..lowering.kernels.schedules.ranked_schedules import (
    Scheduled,
    fitted,
    neighbours,
    ranked_schedules,
)
from ..lowering.kernels.split_reductions import split_reductions
from ..lowering.target import Target
from ..lowering.tuned_schedules import TunedKernel
from ..semantics import numpy_dtype
from .kernel_timing import Arguments, TimedKernel, arguments_for

MARGIN = 0.02
"""The share of time that a schedule must save to win."""
_RANKED = 8
"""Schedules that the model ranks best, tried before neighbours."""
_SCREENING, _DUEL, _FINAL = 3, 9, 15
"""Runs in turns: of each candidate, of one that seems faster, of the winner at the end."""
_SAMPLE = 2e-3
"""Seconds of a run, in which small kernels are called many times."""
_TOLERANCE = {8: 1e-10, 4: 1e-4, 2: 1e-2}
"""Largest difference relative to the largest value, by bytes of a float."""


@dataclass(frozen=True)
class Job:
    """A distinct kernel of a network."""

    key: str
    kernel: KernelOp
    """Its nests have no schedules yet."""
    weights: Sequence[bool]
    """Which parameters are weights."""
    calls: int

    @property
    def name(self) -> str:
        return self.kernel.sym_name.data


@dataclass
class Result:
    """The result of the search for a kernel."""

    job: Job
    model_seconds: float
    tuned_seconds: float
    tried: int = 0
    texts: Mapping[str, str] = field(default_factory=dict)
    """Schedules by number of nest that are better than the model's."""

    @property
    def entry(self) -> TunedKernel:
        return TunedKernel(self.job.name, self.texts, self.model_seconds, self.tuned_seconds)


def jobs_of(nests: ModuleOp, target: Target) -> list[Job]:
    """Returns the distinct kernels of the stage `nests` that have schedules to choose from."""
    module, machine = nests.clone(), target.describe()
    calls: dict[str, list[CallOp]] = {}
    for op in module.walk():
        if isinstance(op, CallOp):
            calls.setdefault(op.callee.string_value(), []).append(op)
    found: list[Job] = []
    for op in module.body.block.ops:
        if isinstance(op, KernelOp) and _can_be_measured(op):
            split_reductions(op, machine)
            users = calls.get(op.sym_name.data, [])
            if users and any(_has_choice(n.nest) for n in _nests(op)):
                weights = [_is_weight(v) for v in users[0].arguments]
                found.append(Job(kernel_key(op), op.clone(), weights, len(users)))
    return found


def _is_weight(value: SSAValue) -> bool:
    return isinstance(buffer_of(value).owner, WeightOp)


def _can_be_measured(kernel: KernelOp) -> bool:
    """Returns whether a kernel runs on random data: no steps or places depend on the data."""
    steps = [op for op in kernel.walk() if isinstance(op, StepOp)]
    return all(isinstance(op, NestOp) for op in steps) and not any(
        access.indirect for op in steps for access in accesses_of(op.contents().step)
    )


@dataclass(frozen=True)
class _NumberedNest:
    """A nest of a kernel as `schedule_nests` numbers and sees it."""

    number: int
    nest: Nest
    around: Around


def _nests(kernel: KernelOp) -> list[_NumberedNest]:
    """Returns the nests of a kernel that have elements."""
    steps = KernelSteps(kernel)
    around, found = loops_around(steps), []
    for number, op in enumerate(op for op in kernel.walk() if isinstance(op, NestOp)):
        nest = steps.nest(op)
        if not nest.is_empty:
            nest, change = with_unique_names(simplified(nest))
            found.append(_NumberedNest(number, nest, around.get(op, ALONE).on(change)))
    return found


def _has_choice(nest: Nest) -> bool:
    return nest.reduction is not None and not nest.reduction.fields


class Search:
    """Measures candidates until the time is over or a user interrupts it."""

    def __init__(
        self,
        target: Target,
        seconds: float,
        known: Mapping[str, TunedKernel],
        on_candidate: Callable[[str, int], None] = lambda _name, _tried: None,
    ):
        """`known` are schedules that were found before, which are tried first."""
        self._target = target
        self._machine = target.describe()
        self._end = time.monotonic() + seconds
        self._known = known
        self._on_candidate = on_candidate
        self._tried = 0
        self.interrupted = False

    def run(self, jobs: Sequence[Job]) -> Iterator[Result]:
        """Results, first those of the kernels that take most time."""
        try:
            rivals = self._rivals(jobs)
        except KeyboardInterrupt:
            self.interrupted = True
            return
        while rivals and not self.interrupted and time.monotonic() < self._end:
            rival = rivals.pop(0)
            rest = rival.share + sum(r.share for r in rivals)
            now = time.monotonic()
            rival.end = now + (self._end - now) * rival.share / rest
            yield self._searched(rival)

    def _rivals(self, jobs: Sequence[Job]) -> list[_Rivals]:
        """Returns the kernels with the schedules of the model, those first that take most time."""
        found: list[_Rivals] = []
        for job in jobs:
            if time.monotonic() >= self._end:
                break
            self._on_candidate(job.name, self._tried)
            found.append(_Rivals(job, self._target))
        return sorted(found, key=lambda r: -r.share)

    def _searched(self, rivals: _Rivals) -> Result:
        before = self._tried
        try:
            self._try_known(rivals)
            nests = [n for n in _nests(rivals.job.kernel) if _has_choice(n.nest)]
            for left, nest in zip(range(len(nests), 0, -1), nests, strict=True):
                now = time.monotonic()
                self._search_nest(rivals, nest, now + (rivals.end - now) / left)
        except KeyboardInterrupt:
            self.interrupted = True
        result = rivals.result()
        result.tried = self._tried - before
        return result

    def _try_known(self, rivals: _Rivals) -> None:
        known = self._known.get(rivals.job.key)
        if known is not None and known.nests:
            self._try(rivals, known.nests)

    def _search_nest(self, rivals: _Rivals, numbered: _NumberedNest, end: float) -> None:
        """
        Tries the schedules that the model ranks best, then neighbours of the fastest, then the
        rest.
        """
        key, machine = str(numbered.number), self._machine
        nest, around = numbered.nest, numbered.around
        seen = {_text(best_schedule(nest, machine, around)[1])}
        ranked = ranked_schedules(nest, machine, around)

        def attempt(found: Scheduled) -> bool:
            text = _text(found[1])
            if text in seen:
                return False
            seen.add(text)
            return self._try(rivals, {**rivals.texts, key: text})

        first = islice(ranked, _RANKED)
        while _one_wins(first, attempt, end):
            pass
        while True:
            present = self._present(rivals, numbered)
            if not _one_wins(neighbours(nest, present, machine, around), attempt, end):
                break
        while _one_wins(ranked, attempt, end):
            pass

    def _present(self, rivals: _Rivals, numbered: _NumberedNest) -> Scheduled:
        text = rivals.texts.get(str(numbered.number))
        if text is None:
            return best_schedule(numbered.nest, self._machine, numbered.around)
        return fitted(numbered.nest, schedule_of(text, rivals.job.name), self._machine)

    def _try(self, rivals: _Rivals, texts: Mapping[str, str]) -> bool:
        self._tried += 1
        self._on_candidate(rivals.job.name, self._tried)
        return rivals.challenge(texts)


def _one_wins(
    candidates: Iterator[Scheduled], attempt: Callable[[Scheduled], bool], end: float
) -> bool:
    """
    Returns whether one of the candidates wins. The rest is then skipped; the search stops after
    `end`.
    """
    for found in candidates:
        if time.monotonic() >= end:
            return False
        if attempt(found):
            return True
    return False


class _Rivals:
    """The schedules of one kernel: those of the model, and the fastest so far."""

    def __init__(self, job: Job, target: Target):
        self.job = job
        self.end = 0.0
        """When the search for this kernel ends."""
        self.texts: Mapping[str, str] = {}
        self._target = target
        self._model = self._compiled({}, 1)
        l3 = target.describe().l3_bytes
        self._arguments: Arguments = arguments_for(
            job.kernel, job.weights, l3, self._model.scratch_bytes
        )
        self._initial = [a.copy() for a in self._arguments.arrays]
        self._wanted = self._outcome(self._model)
        if self._arguments.sets > 1:
            self._model = self._compiled({}, self._arguments.sets)
        self._fastest = self._model
        self._model.run(self._arguments)
        once = min(self._model.run(self._arguments) for _ in range(2))
        self._times = max(1, min(10_000, round(_SAMPLE / once)))
        self._seconds = min(self._model.run(self._arguments, self._times), once)

    @property
    def share(self) -> float:
        """Seconds of a run of the network."""
        return self._seconds * self.job.calls

    def challenge(self, texts: Mapping[str, str]) -> bool:
        """Returns whether other schedules are faster than the fastest so far; they are then."""
        try:
            rival = self._compiled(texts, self._arguments.sets)
        except (GlowError, ValueError, AssertionError, StopIteration, UserWarning):
            return False  # a schedule that the generator cannot make is no candidate
        rival.run(self._arguments)
        one, other = self._in_turns(self._fastest, rival, _SCREENING)
        if min(other) > min(one) * (1 - MARGIN) or not self._is_faster(rival, _DUEL):
            return False
        if not self._agrees(self._outcome(rival)):
            return False
        self._fastest, self.texts = rival, dict(texts)
        return True

    def result(self) -> Result:
        """Returns the best schedules, measured once more against the model's."""
        one = [self._model.run(self._arguments, self._times) for _ in range(_SCREENING)]
        result = Result(self.job, median(one), median(one))
        if not self.texts:
            return result
        one, other = self._in_turns(self._model, self._fastest, _FINAL)
        result.model_seconds = result.tuned_seconds = median(one)
        if _wins(one, other):
            result.tuned_seconds, result.texts = median(other), self.texts
        return result

    def _compiled(self, texts: Mapping[str, str], sets: int) -> TimedKernel:
        kernel = self.job.kernel.clone()
        with warnings.catch_warnings():
            warnings.simplefilter("error")  # that a schedule does not fit
            schedule_nests(kernel, self._target.describe(), texts)
        return TimedKernel(kernel, self._target, sets)

    def _in_turns(
        self, one: TimedKernel, other: TimedKernel, rounds: int
    ) -> tuple[list[float], list[float]]:
        """Returns seconds of both, of runs that alternate, each first every other time."""
        times: tuple[list[float], list[float]] = ([], [])
        for turn in range(rounds):
            for which in (0, 1) if turn % 2 else (1, 0):
                kernel = (one, other)[which]
                times[which].append(kernel.run(self._arguments, self._times))
        return times

    def _is_faster(self, rival: TimedKernel, rounds: int) -> bool:
        return _wins(*self._in_turns(self._fastest, rival, rounds))

    def _outcome(self, kernel: TimedKernel) -> list[np.ndarray]:
        """Returns the contents of all parameters after a run of a kernel."""
        for array, initial in zip(self._arguments.arrays, self._initial, strict=True):
            array[:] = initial
        kernel.run(self._arguments)
        found = []
        for array, argument in zip(
            self._arguments.arrays, self.job.kernel.body.block.args, strict=True
        ):
            t = argument.type
            assert isinstance(t, MemRefType)
            dtype = numpy_dtype(t.element_type)
            found.append(array[: array.nbytes // dtype.itemsize * dtype.itemsize].view(dtype))
        return [a.copy() for a in found]

    def _agrees(self, found: Sequence[np.ndarray]) -> bool:
        return all(agree(a, b) for a, b in zip(self._wanted, found, strict=True))


def agree(wanted: np.ndarray, found: np.ndarray) -> bool:
    """Returns whether integers are equal, and floats up to rounding of sums in another order."""
    if wanted.dtype.kind in "iub":
        return bool(np.array_equal(wanted, found))
    a, b = wanted.astype(np.float64), found.astype(np.float64)
    finite = np.abs(a[np.isfinite(a)])
    limit = _TOLERANCE[wanted.dtype.itemsize] * max(1.0, float(finite.max(initial=0)))
    return bool(np.allclose(b, a, rtol=0, atol=limit, equal_nan=True))


def _wins(one: Sequence[float], other: Sequence[float]) -> bool:
    """
    Returns whether the other times are smaller by the margin, by their median and their minimum.
    """
    return all(f(other) < f(one) * (1 - MARGIN) for f in (median, min))


def _text(schedule: Schedule) -> str:
    text = StringIO()
    ScheduleAttr(schedule).print_parameter(Printer(text))
    return text.getvalue()
