"""
A device at work: a thread that runs partitions one after the other, and memory for programs.

Jobs wait in one queue, by their order. Loading and running are independent: a program can be loaded
while another one runs.
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
from .footprint import Footprint, measured
from .statistics import DeviceStatistics

if TYPE_CHECKING:
    import numpy as np

    from ...backend import Backend, Program
    from ...passes.partitioning.devices import Device


class Job(Protocol):
    """A run of a program. The worker of the device calls the methods, none of which may raise."""

    @property
    def order(self) -> tuple[int, int]:
        """Jobs with lower numbers come first: the priority, and the number of the request."""
        ...

    @property
    def program(self) -> Program: ...

    def begin(self) -> Sequence[np.ndarray] | None:
        """The inputs; or None if there is nothing to do any more."""
        ...

    def succeed(self, outputs: Sequence[np.ndarray], start: float, end: float) -> None:
        """The program ran, between two times of `time.perf_counter`."""
        ...

    def fail(self, error: BaseException, start: float, end: float) -> None:
        """The program raised."""
        ...


Prepared: TypeAlias = "tuple[Footprint, Callable[[], Program]]"
"""How much memory a program takes, and what makes it."""


class _Loaded:
    """A program in the memory of the device."""

    def __init__(self, footprint: Footprint):
        self.footprint = footprint
        self.program: Program | None = None
        self.users = 1


class DeviceManager:
    """
    One device. Its thread lives until `close`.

    Raises GlowError for memory that is used up, and for nothing that programs do: these errors go
    to the job.
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
        self._loading = threading.Lock()
        """Programs are loaded one after the other."""
        self._programs: dict[str, _Loaded] = {}
        self._runs = self._failures = self._longest = 0
        self._busy = 0.0
        # a daemon, because Python joins all other threads before it calls what runs at exit
        self._worker = threading.Thread(target=self._work, name=f"glow {self.name}", daemon=True)
        self._worker.start()

    # programs

    def load(
        self, key: str, prepare: Callable[[], Prepared], what: str
    ) -> tuple[Program, Footprint]:
        """
        The program called `key`, with its memory: the one that is loaded already, or a new one.
        Each call must be followed by `evict`, unless it raises; after the last one, the memory is
        free.

        Raises DeviceMemoryError, in which `what` names the program, if there is too little memory,
        before the program is made; and whatever `prepare` and what it returns raise.
        """
        with self._loading:
            found = self._use(key)
            if found is not None:
                return found
            planned, make = prepare()
            loaded = self._reserve(key, planned, what)
            try:
                program = make()
                footprint = measured(program, planned)
                if footprint != planned:
                    loaded = self._reserve(key, footprint, what)
            except BaseException:
                self.evict(key)
                raise
            loaded.program = program
            return program, footprint

    def _use(self, key: str) -> tuple[Program, Footprint] | None:
        with self._lock:
            loaded = self._programs.get(key)
            if loaded is None or loaded.program is None:
                return None
            loaded.users += 1
            return loaded.program, loaded.footprint

    def _reserve(self, key: str, footprint: Footprint, what: str) -> _Loaded:
        """Take memory for a program, instead of what was taken for it before."""
        with self._lock:
            found = [p.footprint for other, p in self._programs.items() if other != key]
            used, limit = _bytes(found), self.device.memory
            needed = _bytes([*found, footprint])
            if limit is not None and needed > limit:
                raise DeviceMemoryError(
                    f"{what} needs {footprint}; device {self.name} has {limit} bytes of memory, "
                    f"of which {used} are taken: remove networks, give the device more memory, or "
                    "split the network over more devices",
                    self.name,
                    needed - limit,
                )
            loaded = self._programs[key] = _Loaded(footprint)
            return loaded

    def evict(self, key: str) -> None:
        """Undo one `load`."""
        with self._lock:
            loaded = self._programs[key]
            loaded.users -= 1
            if not loaded.users:
                del self._programs[key]

    @property
    def free(self) -> int | None:
        """Bytes that programs may still take; None for as many as they need."""
        with self._lock:
            if self.device.memory is None:
                return None
            return self.device.memory - _bytes([p.footprint for p in self._programs.values()])

    # jobs

    def submit(self, job: Job) -> None:
        """Have the worker run a job. Returns at once. Raises RejectedError after `close`."""
        with self._lock:
            if self._closed:
                raise RejectedError(f"device {self.name} is closed")
            heappush(self._jobs, (*job.order, next(self._numbers), job))
            self._longest = max(self._longest, len(self._jobs))
        self._tickets.put(None)

    def is_here(self) -> bool:
        """Whether the calling thread is the worker."""
        return threading.current_thread() is self._worker

    def _work(self) -> None:
        while True:
            self._tickets.get()
            with self._lock:
                if not self._jobs:
                    return
                job = heappop(self._jobs)[-1]
            self._run(job)
            del job  # with what it holds, while the worker waits

    def _run(self, job: Job) -> None:
        inputs = job.begin()
        if inputs is None:
            return
        start = time.perf_counter()
        try:
            outputs = job.program.run(inputs)
        except BaseException as error:  # also SystemExit: a program does not end the device
            end = time.perf_counter()
            self._count(end - start, failures=1)
            job.fail(error, start, end)
            return
        end = time.perf_counter()
        del inputs  # so that tensors that nobody needs any more go now
        self._count(end - start)
        job.succeed(outputs, start, end)

    def _count(self, seconds: float, failures: int = 0) -> None:
        with self._lock:
            self._runs += 1
            self._failures += failures
            self._busy += seconds

    def statistics(self) -> DeviceStatistics:
        with self._lock:
            return DeviceStatistics(
                runs=self._runs,
                failures=self._failures,
                busy=self._busy,
                queue=len(self._jobs),
                longest_queue=self._longest,
                programs=len(self._programs),
                memory=_bytes([p.footprint for p in self._programs.values()]),
                limit=self.device.memory,
            )

    def close(self) -> None:
        """Run the jobs that wait, and end the worker. No more jobs are accepted."""
        with self._lock:
            closed, self._closed = self._closed, True
        if not closed:
            self._tickets.put(None)

    def join(self) -> None:
        """Wait for the worker to end, after `close`."""
        self._worker.join()


def _bytes(footprints: Sequence[Footprint]) -> int:
    """What programs take together: the device runs one of them at a time."""
    return sum(f.resident for f in footprints) + max((f.tensors for f in footprints), default=0)
