"""
Threads that run programs: teams of workers, kept in pools and shared by all programs.

A call takes a team from the pool of its number of threads. Its own thread is thread 0 of the team;
the others are native threads, unknown to Python. Between calls they sleep, after at most 45
microseconds of spinning; in a call, threads that wait for each other spin for up to a
millisecond. Their code is `lowering.threads`.

There are at most as many teams at work as fit on the processors (but one at least), so that calls
from many Python threads take turns instead of getting into each other's way. A forked child has no
workers; its first call starts new ones. When the interpreter ends, workers end first.
"""

from __future__ import annotations

import atexit
import ctypes
import os
import signal
import threading
import time
from functools import cache

from ..errors import GlowError
from ..lowering import threads as layout
from ..lowering.target import host_target
from .cpu_program import aligned_bytes
from .cpu_quota import cpu_quota
from .jit import Executable, compile_object

_SPIN_SECONDS = 1e-3
"""
The time that a thread spins in a call before it sleeps. Waking it takes 50 microseconds or more
where processors are virtual, as long as a small kernel.
"""
_IDLE_SECONDS = 45e-6
"""The same between calls."""
_SPINS_WHEN_CROWDED = 16
"""
The same in pauses when threads outnumber the processors of this process, where a spinning thread
keeps others from working.
"""
_END_SECONDS = 2.0
"""The time that the end of the interpreter waits for calls of daemon threads."""
_LOST_SECONDS = 0.1
"""The time that a call waits for another one to end before it checks itself."""


class ParallelExecutable:
    """
    A program for a number of threads, called like one for a single thread.

    Raises GlowError on platforms where workers cannot sleep (all but Linux).
    """

    def __init__(
        self, executable: Executable, threads: int, pin: bool, workers: bytes | None = None
    ):
        """`workers` is the object code of `lowering.threads`, if it is there already."""
        if workers is not None and not _worker_code:
            _worker_code.append(workers)
        self._executable = executable
        self._pool = _pool(threads, pin)

    def __call__(self, weights: int, io: ctypes.Array[ctypes.c_void_p], arena: int) -> None:
        """Runs the entry on base addresses, without Python's global lock."""
        self._pool.run(self._executable.address, weights, io, arena)


class Team:
    """`threads - 1` workers and the memory that they wait on."""

    def __init__(self, threads: int, cpus: list[int]):
        """Worker `t` runs on `cpus[t]` only, unless the list is empty."""
        self._block = aligned_bytes(layout.team_bytes(threads))
        self._block[:] = 0
        self._address = self._block.ctypes.data
        self._put(layout.THREADS, threads)
        crowded = threads > min(len(_cpus()), cpu_quota())
        self._put(layout.SPINS, _spins(_SPIN_SECONDS, crowded))
        self._put(layout.IDLE_SPINS, _spins(_IDLE_SECONDS, crowded))
        self._workers: list[ctypes.c_ulong] = []
        for number in range(1, threads):
            try:
                self._start(number, cpus[number : number + 1])
            except BaseException:
                self.end()
                raise

    def _put(self, offset: int, value: int) -> None:
        self._block[offset : offset + 8].view("int64")[0] = value

    def _start(self, number: int, cpus: list[int]) -> None:
        line = layout.LINES + layout.LINE * number
        self._put(line + layout.LINE_TEAM, self._address)
        self._put(line + layout.LINE_THREAD, number)
        worker = ctypes.c_ulong()
        # signals are for threads that Python knows of
        before = signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
        try:
            entry = ctypes.c_void_p(_library().address_of(layout.WORKER))
            argument = ctypes.c_void_p(self._address + line)
            status = _libc().pthread_create(ctypes.byref(worker), None, entry, argument)
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)
        if status:
            raise GlowError(f"cannot start a thread: {os.strerror(status)}")
        self._workers.append(worker)
        if cpus:
            _pin(worker, cpus[0])

    def run(self, entry: int, weights: int, io: object, arena: int) -> None:
        _run()(self._address, entry, weights, io, arena)

    def end(self) -> None:
        """Ends the workers, which must be idle."""
        _end()(self._address)
        for worker in self._workers:
            _libc().pthread_join(worker, None)
        self._workers = []


class TeamPool:
    """The teams of one number of threads."""

    def __init__(self, threads: int, pin: bool):
        self.threads = threads
        self._pin = pin
        self.reset()

    def reset(self) -> None:
        """Forgets all teams, as a forked child must."""
        # entered as it is: entering a Condition is Python, which a signal could interrupt half-way
        self._lock = threading.RLock()
        self._changed = threading.Condition(self._lock)
        self._idle: dict[Team, None] = {}
        self._numbers: dict[Team, int] = {}
        """All teams; those of a number have the same processors."""
        self._closed = False

    def run(self, entry: int, weights: int, io: object, arena: int) -> None:
        """
        Calls an entry on a team as soon as one is idle. An exception that a signal raises, such as
        KeyboardInterrupt, does not lose the team: Python looks for signals after calls and where
        functions begin, and the code that moves a team from one dictionary to another is neither.
        """
        taken: dict[Team, None] = {}
        try:
            self._take(taken)
            (team,) = taken
            team.run(entry, weights, io, arena)
        finally:
            self._idle |= taken
            self._tell()

    def _take(self, taken: dict[Team, None]) -> None:
        with self._lock:
            while self._closed and threading.current_thread().daemon:
                # as Python holds daemon threads at the end: its code is about to go
                self._changed.wait()
            limit = 1 if self._idle else max(1, len(_cpus()) // self.threads)
            while not self._idle and len(self._numbers) >= limit:
                # with a limit, because a call that was interrupted did not notify others
                self._changed.wait(_LOST_SECONDS)
            if not self._idle:
                self._add_team(limit)
            *_, team = self._idle
            taken[team] = None
            del self._idle[team]

    def _add_team(self, limit: int) -> None:
        number = min(set(range(limit)) - set(self._numbers.values()))
        team = Team(self.threads, self._processors(number))
        self._numbers[team] = number
        self._idle[team] = None

    def _processors(self, number: int) -> list[int]:
        cpus = _cpus()
        first = number * self.threads
        return [cpus[(first + t) % len(cpus)] for t in range(self.threads)] if self._pin else []

    def _tell(self) -> None:
        """Has a call that waits look again; end teams if there are to be none."""
        with self._lock:
            if self._closed:
                self._end_idle()
                self._changed.notify_all()
            else:
                self._changed.notify()

    def _end_idle(self) -> None:
        while self._idle:
            *_, team = self._idle
            del self._idle[team], self._numbers[team]
            team.end()

    def close(self) -> None:
        """Ends all workers. Later calls start some for themselves only."""
        with self._lock:
            self._closed = True
            self._end_idle()
            self._changed.wait_for(lambda: not self._numbers, _END_SECONDS)


_pools: dict[tuple[int, bool], TeamPool] = {}
_pools_lock = threading.Lock()


def _pool(threads: int, pin: bool) -> TeamPool:
    _library()
    with _pools_lock:
        if not _pools:
            atexit.register(_close_all)
            os.register_at_fork(after_in_child=_forget_all)
        return _pools.setdefault((threads, pin), TeamPool(threads, pin))


def _close_all() -> None:
    for pool in list(_pools.values()):
        pool.close()


def _forget_all() -> None:
    global _pools_lock
    _pools_lock = threading.Lock()
    for pool in _pools.values():
        pool.reset()


def _cpus() -> list[int]:
    """Returns the processors that this process may use."""
    return sorted(os.sched_getaffinity(0))


_worker_code: list[bytes] = []
"""Object code of the workers, if the first program had it with it."""


@cache
def _library() -> Executable:
    """Returns the workers' code. It is never unloaded, so it outlives them."""
    target = host_target()
    made = _worker_code or [compile_object(layout.llvm_text(target.triple), target)]
    names = (layout.WORKER, layout.END, layout.PAUSES)
    return Executable(made, layout.RUN, target, names)


_ADDRESS = ctypes.c_void_p


@cache
def _run():
    return ctypes.CFUNCTYPE(None, *[_ADDRESS] * 5)(_library().address_of(layout.RUN))


@cache
def _end():
    return ctypes.CFUNCTYPE(None, _ADDRESS)(_library().address_of(layout.END))


@cache
def _libc() -> ctypes.CDLL:
    return ctypes.CDLL(None)


@cache
def _pause_seconds() -> float:
    """Returns the duration of one pause: 10 to 60 ns, depending on the processor's generation."""
    pauses = ctypes.CFUNCTYPE(None, ctypes.c_int64)(_library().address_of(layout.PAUSES))
    count, best = 1000, float("inf")
    for _ in range(5):
        start = time.perf_counter()
        pauses(count)
        best = min(best, time.perf_counter() - start)
    return best / count


def _spins(seconds: float, crowded: bool) -> int:
    """Returns how often a thread looks within a time; rarely if threads outnumber processors."""
    if crowded:
        return _SPINS_WHEN_CROWDED
    return max(_SPINS_WHEN_CROWDED, int(seconds / _pause_seconds()))


def _pin(worker: ctypes.c_ulong, cpu: int) -> None:
    mask = (ctypes.c_ubyte * 128)()
    mask[cpu // 8] |= 1 << cpu % 8
    status = _libc().pthread_setaffinity_np(worker, ctypes.sizeof(mask), mask)
    if status:
        raise GlowError(f"cannot pin a thread to processor {cpu}: {os.strerror(status)}")
