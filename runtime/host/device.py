"""
A device at work: a thread that runs partitions one after the other, and memory for programs.

Jobs wait in one queue, by their order. Loading and running are independent: a program can be loaded
while another one runs, and several are made at once.
"""

from __future__ import annotations

import itertools
import threading
import time
from collections.abc import Callable, Sequence
from heapq import heappop, heappush
from queue import SimpleQueue
from typing import TYPE_CHECKING, Protocol, TypeAlias

from ...errors import DeviceMemoryError, RejectedError
from ...passes.partition.plans import HAND_OVER
from ...wording import counted
from .footprint import Footprint, measured
from .statistics import DeviceStatistics

if TYPE_CHECKING:
    import numpy as np

    from ...interface.backend import Backend
    from ...interface.program import Program
    from ...passes.partition.devices import Device

PAUSE, LONGEST_PAUSE = 1.0, 60.0
"""
Seconds for which a program that raised is avoided if another replica can do its work: twice as long
for each further time in a row.
"""
RECENT = 0.25
"""The weight of the latest run in the estimated time of a program."""


class Job(Protocol):
    """A run of a program. The worker of the device calls the methods."""

    @property
    def order(self) -> tuple[int, int]:
        """Jobs with lower numbers come first: the priority, and the number of the request."""
        ...

    @property
    def loaded(self) -> Loaded: ...

    def begin(self) -> Sequence[np.ndarray] | None:
        """Returns the inputs; or None if there is nothing to do any more. It does not raise."""
        ...

    def run(self, program: Program, inputs: Sequence[np.ndarray]) -> Sequence[np.ndarray]:
        """Runs the program. Raises its errors, and GlowError for wrong results."""
        ...

    def succeed(self, outputs: Sequence[np.ndarray], start: float, end: float) -> None:
        """
        Notes that the program ran, between two times of `time.perf_counter`. It does not raise.
        """
        ...

    def fail(self, error: BaseException, start: float, end: float) -> None:
        """Notes that the program raised. It does not raise."""
        ...


Prepared: TypeAlias = "tuple[Footprint, Callable[[], Program]]"
"""The memory that a program takes, and the function that makes it."""


class Loaded:
    """A program in the memory of a device, or one that is being made."""

    def __init__(self, seconds: float):
        """`seconds` is the estimated time of a run."""
        self.users = 1
        self.footprint: Footprint | None = None
        """None until it is known."""
        self.program: Program | None = None
        """None until it is made, and for good if that failed."""
        self.made = threading.Event()
        """Whether that is over."""
        self.expected = 0
        """Runs that are to come, the current one included."""
        self.seconds = seconds
        """The seconds of a run: as estimated, and then as measured."""
        self.measured = False
        self.failures = 0
        """The number of times that it raised in a row."""
        self.avoided = 0.0
        """Until when others are preferred, as a time of `time.perf_counter`."""

    def worked(self, seconds: float) -> None:
        """Notes the seconds of a run. The caller holds the lock of the device."""
        self.expected -= 1
        share = RECENT if self.measured else 1.0
        self.seconds += share * (seconds - self.seconds)
        self.measured = True
        self.failures, self.avoided = 0, 0.0

    def failed(self, now: float) -> None:
        """Notes that a run raised. The caller holds the lock of the device."""
        self.expected -= 1
        self.failures += 1
        self.avoid(now)

    def avoid(self, now: float) -> None:
        """Has others be preferred for a while."""
        self.avoided = now + min(PAUSE * 2.0 ** min(self.failures - 1, 30), LONGEST_PAUSE)


class DeviceManager:
    """
    A device with a thread that lives until `close`.

    Raises GlowError if there is too little memory. The errors of programs go to the job.
    """

    def __init__(self, device: Device):
        self.name = device.name
        self.backend: Backend = device.backend
        self.device = device
        self._lock = threading.Lock()
        """Held for moments only, and never while anything else is called."""
        self._jobs: list[tuple[int, int, int, Job]] = []
        """A heap."""
        self._numbers = itertools.count()
        self._tickets: SimpleQueue[None] = SimpleQueue()
        """One for each job, and one for the end."""
        self._closed = False
        self._programs: dict[str, Loaded] = {}
        self._runs = self._failures = self._longest = 0
        self._busy = 0.0
        # a daemon, because Python joins all other threads before it runs the exit functions
        self._worker = threading.Thread(target=self._work, name=f"glow {self.name}", daemon=True)
        self._worker.start()

    # programs

    def load(
        self, key: str, prepare: Callable[[], Prepared], what: str, seconds: float = 0.0
    ) -> Loaded:
        """
        Returns the program called `key`: the one that is loaded already, or a new one, of which a
        run is estimated to take `seconds`. Each call must be followed by `evict`, unless it raises;
        after the last one, the memory is free.

        Raises DeviceMemoryError, in which `what` names the program, if there is too little memory,
        before the program is made; and whatever `prepare` and what it returns raise.
        """
        while True:
            loaded, is_new = self._enter(key, seconds)
            if is_new:
                self._make(key, loaded, prepare, what)
                return loaded
            loaded.made.wait()
            if loaded.program is not None:
                return loaded
            # the thread that made it failed, perhaps because of other programs that it wanted to
            # load

    def _enter(self, key: str, seconds: float) -> tuple[Loaded, bool]:
        with self._lock:
            loaded = self._programs.get(key)
            if loaded is not None:
                loaded.users += 1
                return loaded, False
            loaded = self._programs[key] = Loaded(seconds)
            return loaded, True

    def _make(self, key: str, loaded: Loaded, prepare: Callable[[], Prepared], what: str) -> None:
        try:
            planned, make = prepare()
            self._reserve(loaded, planned, what)
            program = make()
            footprint = measured(program, planned)
            if footprint != planned:
                self._reserve(loaded, footprint, what)
            loaded.program = program
        except BaseException:
            with self._lock:
                del self._programs[key]
            raise
        finally:
            loaded.made.set()

    def _reserve(self, loaded: Loaded, footprint: Footprint, what: str) -> None:
        """Reserves memory for a program, instead of the memory that was reserved for it before."""
        with self._lock:
            found = self._footprints(without=loaded)
            used, limit = _bytes(found), self.device.memory
            needed = _bytes([*found, footprint])
            if limit is not None and needed > limit:
                raise DeviceMemoryError(
                    f"{what} needs {footprint}; device {self.name} has "
                    f"{counted(limit, 'byte')} of memory, of which {used} are taken: "
                    "remove networks, give the device more memory, or split the network over more "
                    "devices",
                    self.name,
                    needed - limit,
                )
            loaded.footprint = footprint

    def _footprints(self, without: Loaded | None = None) -> list[Footprint]:
        """Returns the memory of the loaded programs. The caller holds the lock."""
        programs = (p for p in self._programs.values() if p is not without)
        return [p.footprint for p in programs if p.footprint is not None]

    def evict(self, key: str) -> None:
        """Undoes one `load`."""
        with self._lock:
            loaded = self._programs[key]
            loaded.users -= 1
            if not loaded.users:
                del self._programs[key]

    @property
    def free(self) -> int | None:
        """
        The bytes that a program may take if it runs alone; None if there is no limit. Other
        programs may need more than that while they run.
        """
        with self._lock:
            if self.device.memory is None:
                return None
            return self.device.memory - sum(f.resident for f in self._footprints())

    # expected runs

    def expect(self, loaded: Loaded, now: float) -> None:
        """Notes that a request will run a program, or call `forgo`."""
        with self._lock:
            loaded.expected += 1
            if loaded.failures:
                loaded.avoid(now)  # one request at a time may try whether it works again

    def forgo(self, loaded: Loaded) -> None:
        """Notes that a request which was expected to run a program will not do so."""
        with self._lock:
            loaded.expected -= 1

    def backlog(self) -> float:
        """Returns estimated seconds until the device has done all that is expected of it."""
        with self._lock:
            return sum(p.expected * (HAND_OVER + p.seconds) for p in self._programs.values())

    # jobs

    def submit(self, job: Job) -> None:
        """
        Has the worker run a job, which was expected. Returns at once. Raises RejectedError after
        `close`.
        """
        with self._lock:
            if self._closed:
                raise RejectedError(f"device {self.name} is closed")
            heappush(self._jobs, (*job.order, next(self._numbers), job))
            self._longest = max(self._longest, len(self._jobs))
        self._tickets.put(None)

    def is_here(self) -> bool:
        """Returns whether the calling thread is the worker."""
        return threading.current_thread() is self._worker

    def _work(self) -> None:
        while True:
            self._tickets.get()
            with self._lock:
                if not self._jobs:
                    return
                job = heappop(self._jobs)[-1]
            self._run(job)
            del job  # the job and its data are released while the worker waits

    def _run(self, job: Job) -> None:
        loaded = job.loaded
        inputs = job.begin()
        if inputs is None:
            self.forgo(loaded)
            return
        assert loaded.program is not None
        start = time.perf_counter()
        try:
            outputs = job.run(loaded.program, inputs)
        except BaseException as error:  # also SystemExit: a program does not end the device
            end = time.perf_counter()
            with self._lock:
                self._runs += 1
                self._failures += 1
                self._busy += end - start
                loaded.failed(end)
            job.fail(error, start, end)
            return
        end = time.perf_counter()
        del inputs  # so that tensors that nobody needs any more go now
        with self._lock:
            self._runs += 1
            self._busy += end - start
            loaded.worked(end - start)
        job.succeed(outputs, start, end)

    def statistics(self) -> DeviceStatistics:
        with self._lock:
            return DeviceStatistics(
                runs=self._runs,
                failures=self._failures,
                busy=self._busy,
                queue=len(self._jobs),
                longest_queue=self._longest,
                programs=sum(p.program is not None for p in self._programs.values()),
                memory=_bytes(self._footprints()),
                limit=self.device.memory,
            )

    def close(self) -> None:
        """Runs the jobs that wait, and ends the worker. No more jobs are accepted."""
        with self._lock:
            closed, self._closed = self._closed, True
        if not closed:
            self._tickets.put(None)

    def join(self) -> None:
        """Waits for the worker to end, after `close`."""
        self._worker.join()


def _bytes(footprints: Sequence[Footprint]) -> int:
    """Returns the bytes that programs take together: the device runs one of them at a time."""
    return sum(f.resident for f in footprints) + max((f.tensors for f in footprints), default=0)
