"""
The schedules of one kernel, measured against each other.

Two schedules are measured in pairs of runs, one directly after the other. A schedule counts as
faster only if the median of the ratios of the pairs is smaller than 1 by a margin, if the least
times say the same, and if three quarters of the pairs agree: load by other programs, which comes
and goes, changes all times, but hardly the ratios of neighbours.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from statistics import median

import numpy as np
from xdsl.dialects.builtin import MemRefType
from xdsl.utils.exceptions import VerifyException

from ..errors import GlowError
from ..lowering.kernels.schedule_nests import schedule_nests
from ..lowering.target import Target
from ..lowering.tuned_schedules import TunedKernel
from ..semantics import numpy_dtype
from .jobs import Job
from .kernel_timing import Arguments, TimedKernel, arguments_for

MARGIN = 0.02
"""The share of time that a schedule must save to win."""
_MAJORITY = 3 / 4
"""The part of the pairs in which it must be faster."""
_SCREENING, _DUEL, _FINAL = 3, 8, 21
"""Pairs of runs: of each candidate, of one that seems faster, of the winner at the end."""
_SAMPLE = 2e-3
"""Seconds of a run, in which small kernels are called many times."""
_TOLERANCE = {8: 1e-10, 4: 1e-4, 2: 1e-2}
"""Largest difference relative to the largest value, by bytes of a float."""
_UNFIT = (GlowError, VerifyException, ValueError, AssertionError, StopIteration, UserWarning)
"""The errors that the generator raises for schedules that it cannot follow."""


@dataclass
class Result:
    """The result of the search for a kernel."""

    job: Job
    model_seconds: float
    tuned_seconds: float
    tried: int = 0
    texts: Mapping[str, str] = field(default_factory=dict)
    """Schedules by number of nest that are better than the model's."""
    same_bits: bool = True
    """Whether the results with these were those of the model's schedules to the bit."""

    @property
    def entry(self) -> TunedKernel:
        return TunedKernel(self.job.name, self.texts, self.model_seconds, self.tuned_seconds)


class Rivals:
    """The schedules of one kernel: those of the model, and the fastest so far."""

    def __init__(self, job: Job, target: Target):
        self.job = job
        self.texts: Mapping[str, str] = {}
        self._target, self._machine = target, target.describe()
        self._model = self._fastest = self._compiled({})
        l3 = self._machine.l3_bytes
        self._arguments: Arguments = arguments_for(job, l3, self._model.scratch_bytes)
        self._initial = [a.copy() for a in self._arguments.arrays]
        self._wanted = self._outcome(self._model)
        once = min(self._model.run(self._arguments) for _ in range(3))
        self._times = max(1, min(10_000, round(_SAMPLE / once)))

    def challenge(self, texts: Mapping[str, str]) -> bool:
        """Returns whether other schedules are faster than the fastest so far; they are then."""
        try:
            rival = self._compiled(texts)
        except _UNFIT:
            return False
        rival.run(self._arguments)
        one, other = self._in_turns(self._fastest, rival, _SCREENING)
        if min(other) > min(one) * (1 - MARGIN):
            return False
        if not wins(*self._in_turns(self._fastest, rival, _DUEL)):
            return False
        if not all(map(agree, self._wanted, self._outcome(rival))):
            return False
        self._fastest, self.texts = rival, dict(texts)
        return True

    def result(self) -> Result:
        """Returns the best schedules, measured once more against the model's."""
        if not self.texts:
            taken = median(self._model.run(self._arguments, self._times) for _ in range(3))
            return Result(self.job, taken, taken)
        one, other = self._in_turns(self._model, self._fastest, _FINAL)
        result = Result(self.job, median(one), median(one))
        if wins(one, other):
            result.tuned_seconds = result.model_seconds * _ratio(one, other)
            result.texts = self.texts
            found = self._outcome(self._fastest)
            result.same_bits = all(
                a.tobytes() == b.tobytes() for a, b in zip(self._wanted, found, strict=True)
            )
        return result

    def _compiled(self, texts: Mapping[str, str]) -> TimedKernel:
        kernel = self.job.kernel.clone()
        with warnings.catch_warnings():
            warnings.simplefilter("error")  # that a schedule does not fit
            schedule_nests(kernel, self._machine, texts)
        return TimedKernel(kernel, self._target, self._machine)

    def _in_turns(
        self, one: TimedKernel, other: TimedKernel, pairs: int
    ) -> tuple[list[float], list[float]]:
        """Returns seconds of both, in pairs of runs; each is the first of every other pair."""
        times: tuple[list[float], list[float]] = ([], [])
        for turn in range(pairs):
            for which in (0, 1) if turn % 2 else (1, 0):
                kernel = (one, other)[which]
                times[which].append(kernel.run(self._arguments, self._times))
        return times

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


def wins(one: Sequence[float], other: Sequence[float]) -> bool:
    """Returns whether the other times, of pairs of runs, are clearly smaller by the margin."""
    faster = sum(b < a for a, b in zip(one, other, strict=True))
    return (
        _ratio(one, other) < 1 - MARGIN
        and min(other) < min(one) * (1 - MARGIN)
        and faster >= math.ceil(_MAJORITY * len(one))
    )


def _ratio(one: Sequence[float], other: Sequence[float]) -> float:
    """Returns the median of the ratios of pairs."""
    return median(b / a for a, b in zip(one, other, strict=True))


def agree(wanted: np.ndarray, found: np.ndarray) -> bool:
    """Returns whether integers are equal, and floats up to rounding of sums in another order."""
    if wanted.dtype.kind in "iub":
        return bool(np.array_equal(wanted, found))
    a, b = wanted.astype(np.float64), found.astype(np.float64)
    finite = np.abs(a[np.isfinite(a)])
    limit = _TOLERANCE[wanted.dtype.itemsize] * max(1.0, float(finite.max(initial=0)))
    return bool(np.allclose(b, a, rtol=0, atol=limit, equal_nan=True))
