"""
A search for schedules that are faster than those of the cost model, by measuring kernels.

For each nest it tries the schedules that the model ranks best, then neighbours of the fastest so
far (Chen et al. 2018, "Learning to Optimize Tensor Programs", of which this is the simplest form:
the model is fixed, and the search greedy). What wins is measured once more against the model's
schedules at the end, so that the luck of the search does not count.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from io import StringIO
from itertools import islice

from xdsl.printer import Printer

from ..glow_dialects.glow_nest.attributes import ScheduleAttr
from ..glow_dialects.glow_nest.schedule import Schedule
from ..lowering.kernels.schedule_nests import schedule_of
from ..lowering.kernels.schedules.best_schedule import best_schedule
from ..lowering.kernels.schedules.fitted_schedule import fitted
from ..lowering.target import Target
from ..lowering.tuned_schedules import TunedKernel
from .candidates import Scheduled, neighbours, ranked_schedules
from .jobs import Job, NumberedNest, alone, nests_of
from .rivals import Result, Rivals

_RANKED = 8
"""Schedules that the model ranks best, tried before neighbours."""


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
        """Yields results in the order of the jobs, which get time as they have a share of all."""
        left = sum(job.share for job in jobs)
        for job in jobs:
            now = time.monotonic()
            if self.interrupted or now >= self._end:
                return
            end = now + (self._end - now) * (job.share / left if left else 1)
            left -= job.share
            if (result := self._searched(job, end)) is not None:
                yield result

    def _searched(self, job: Job, end: float) -> Result | None:
        before, whole = self._tried, None
        found: dict[str, str] = {}
        try:
            self._on_candidate(job.name, self._tried)
            whole = Rivals(job, self._target)
            self._try_known(whole)
            self._search_nests(whole, found, end)
        except KeyboardInterrupt:
            self.interrupted = True
            if whole is None:
                return None
        self._combine(whole, found)
        result = whole.result()
        result.tried = self._tried - before
        return result

    def _try_known(self, rivals: Rivals) -> None:
        known = self._known.get(rivals.job.key)
        if known is not None and known.nests:
            self._try(rivals, known.nests)

    def _search_nests(self, whole: Rivals, found: dict[str, str], end: float) -> None:
        """Searches schedules of the nests, each alone if it can be, those that do most first."""
        nests = sorted(
            nests_of(whole.job.kernel, self._machine), key=lambda each: -each.nest.visited
        )
        left = sum(each.nest.visited for each in nests)
        for each in nests:
            now = time.monotonic()
            if now >= end:
                return
            own, work = alone(whole.job, each.number), each.nest.visited
            rivals = whole if own is None else Rivals(own, self._target)
            key = str(each.number) if own is None else "0"
            try:
                self._search_nest(rivals, key, each, now + (end - now) * work / left)
            finally:
                if own is not None and key in rivals.texts:
                    found[str(each.number)] = rivals.texts[key]
            left -= work

    def _combine(self, whole: Rivals, found: Mapping[str, str]) -> None:
        """Lets schedules that won alone challenge the whole kernel's: all together, then each."""
        if found and not whole.challenge({**whole.texts, **found}) and len(found) > 1:
            for key, text in found.items():
                whole.challenge({**whole.texts, key: text})

    def _search_nest(self, rivals: Rivals, key: str, numbered: NumberedNest, end: float) -> None:
        """Tries what the model ranks best, then neighbours of the fastest, then the rest."""
        machine, nest, around = self._machine, numbered.nest, numbered.around
        seen = {text_of(best_schedule(nest, machine, around)[1])}
        ranked = ranked_schedules(nest, machine, around)

        def attempt(found: Scheduled) -> bool:
            text = text_of(found[1])
            if text in seen:
                return False
            seen.add(text)
            return self._try(rivals, {**rivals.texts, key: text})

        first = islice(ranked, _RANKED)
        while _one_wins(first, attempt, end):
            pass
        while True:
            present = self._present(rivals, key, numbered)
            if not _one_wins(neighbours(nest, present, machine, around), attempt, end):
                break
        while _one_wins(ranked, attempt, end):
            pass

    def _present(self, rivals: Rivals, key: str, numbered: NumberedNest) -> Scheduled:
        nest = numbered.nest
        if key not in rivals.texts:
            return best_schedule(nest, self._machine, numbered.around)
        return fitted(nest, schedule_of(rivals.texts[key], rivals.job.name), self._machine)

    def _try(self, rivals: Rivals, texts: Mapping[str, str]) -> bool:
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


def text_of(schedule: Schedule) -> str:
    """Returns the text of a schedule, as files have it."""
    text = StringIO()
    ScheduleAttr(schedule).print_parameter(Printer(text))
    return text.getvalue()
