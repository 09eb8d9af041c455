"""
A request on its way through the partitions of a network.

No thread waits for a request: the thread that makes the last tensor that a partition needs hands
the partition to its device. A request has a lock of its own, which is held for moments. Callbacks
at its end run outside the lock.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from typing import TYPE_CHECKING, NamedTuple, TypeAlias
from weakref import ref

import numpy as np

from ...errors import (
    DeadlineError,
    DeviceError,
    GlowError,
    IndexRangeError,
    RejectedError,
    described,
)
from ...interface.results import results_of
from .statistics import Outcome

if TYPE_CHECKING:
    from ...interface.program import Program
    from .device import Loaded
    from .network import Network, PartitionPlacement, Replica

Results: TypeAlias = "Future[list[np.ndarray]]"
_logger = logging.getLogger(__name__)


class PartitionRun(NamedTuple):
    """A run of a partition. Times are those of `time.perf_counter`."""

    partition: str
    device: str
    ready: float
    """The time at which its inputs were there."""
    start: float
    end: float
    before: tuple[str, ...]
    """The partitions whose tensors it read."""
    error: str


class Request:
    """One run of a network, on arrays in the order of its inputs."""

    def __init__(
        self,
        network: Network,
        arrays: Sequence[np.ndarray],
        wanted: Sequence[int],
        order: tuple[int, int],
        seconds: float | None,
        on_end: Callable[[Request], None],
    ):
        """
        `wanted` are the numbers of the results to return; `order` is the priority and the number of
        the request; `seconds` is its time limit. `on_end` is called before the future gets its
        result, `network.leave` as soon as no device works on the request any more.
        """
        plan = network.plan
        self.network = network
        self.order = order
        self.submitted = time.perf_counter()
        self.admitted: float | None = None
        """The time at which it was handed to devices."""
        self.began: float | None = None
        """The time at which the first device began with it."""
        self.ended: float | None = None
        self.replica: Replica | None = None
        """The devices that run it; None before it was handed to them."""
        self.outcome: Outcome | None = None
        self.error = ""
        self.spans: list[PartitionRun] = []
        self.future: Results = Future()
        self.deadline = None if seconds is None else self.submitted + seconds
        self._wanted = wanted
        self._on_end = on_end
        self._lock = threading.Lock()
        self._values: list[np.ndarray | None] = [*arrays, *[None] * (plan.tensors - len(arrays))]
        self._readers = list(plan.readers)
        self._missing = list(plan.missing)
        self._unfinished = len(plan.parts)
        self._holds = 0
        """The number of threads that work on it."""
        self._started = False
        """Whether the future can no longer be cancelled."""
        self._over = False
        """Whether no more partitions are to run."""
        # weak, because a future that somebody keeps must not keep the network
        self.future.add_done_callback(_Cancellation(ref(self)))

    @property
    def number(self) -> int:
        """Requests are numbered in the order of their submission."""
        return self.order[1]

    @property
    def is_over(self) -> bool:
        """Whether its future is done, or about to be."""
        return self._over

    def start(self) -> None:
        """Hands the first partitions to their devices."""
        self.admitted = time.perf_counter()
        with self._lock:
            if self._over:
                return
            self._holds += 1
            self.replica = self.network.choose(self.admitted)
        plan = self.network.plan
        if not plan.parts:
            self._end_if(Outcome.COMPLETED, None)
        for number in plan.sources:
            self._submit(number)
        self._drop()

    def _submit(self, number: int) -> None:
        assert self.replica is not None
        place = self.replica.places[number]
        place.device.submit(PartRun(self, number, place))

    # runs of partitions, called by the workers of devices

    def begin(self, number: int) -> list[np.ndarray] | None:
        """Returns the inputs of a partition, or None if the request is over."""
        now = time.perf_counter()
        if self.deadline is not None and now > self.deadline:
            self.expire()
            return None
        with self._lock:
            if self._over or not self._claim():
                return None
            if self.began is None:
                self.began = now
            self._holds += 1
            values = (self._values[i] for i in self.network.plan.parts[number].inputs)
            return [v for v in values if v is not None]

    def succeed(self, number: int, outputs: Sequence[np.ndarray]) -> None:
        """Stores the results of a partition that ran, and continues."""
        with self._lock:
            ready = [] if self._over else self._store(number, outputs)
            done = not self._over and not self._unfinished
        if done:
            self._end_if(Outcome.COMPLETED, None)
        for user in ready:
            self._submit(user)
        self._drop()

    def _store(self, number: int, outputs: Sequence[np.ndarray]) -> list[int]:
        """Keeps the results that are needed; returns the partitions that can run now."""
        plan = self.network.plan
        part = plan.parts[number]
        for tensor, array in zip(part.outputs, outputs, strict=True):
            if self._readers[tensor]:
                self._values[tensor] = array
        for tensor in part.inputs:
            self._readers[tensor] -= 1
            if not self._readers[tensor]:
                self._values[tensor] = None
        self._unfinished -= 1
        ready: list[int] = []
        for user in plan.users[number]:
            self._missing[user] -= 1
            if not self._missing[user]:
                ready.append(user)
        return ready

    def fail(self, number: int, error: BaseException) -> None:
        """Ends the request because the partition raised."""
        assert self.replica is not None
        part, place = self.network.plan.parts[number], self.replica.places[number]
        said = DeviceError(
            f"device {place.device.name} failed in {part.name} of network {self.network.name!r}: "
            f"{described(error)}"
        )
        said.__cause__ = error
        self._end_if(Outcome.FAILED, said)
        self._drop()

    # ends

    def expire(self) -> None:
        """Ends the request because its time is over."""
        where = "" if self.began is None else " in full"
        text = f"network {self.network.name!r} was not run{where} in the time that was given"
        self._end_if(Outcome.LATE, DeadlineError(text))

    def reject(self, why: str) -> None:
        """Ends the request unless a device began with it."""
        self._end_if(Outcome.DROPPED, RejectedError(why), begun=False)

    def cancelled(self) -> None:
        """Ends the request because the future was cancelled."""
        with self._lock:
            self._over = True
            self._holds += 1
        self._finish(Outcome.CANCELLED)
        self._drop()

    def _claim(self) -> bool:
        """Returns whether the future was not cancelled, which it then cannot be any more."""
        if not self._started:
            self._started = self.future.set_running_or_notify_cancel()
            self._over = not self._started
        return self._started

    def _end_if(self, outcome: Outcome, error: GlowError | None, begun: bool = True) -> None:
        """Ends the request unless it is over; without `begun`, unless a device began with it."""
        with self._lock:
            if self._over or (self.began is not None and not begun) or not self._claim():
                return
            self._over = True
            self._holds += 1
        results: list[np.ndarray] = []
        if error is None:
            try:
                results = self._results()
            except MemoryError as lacking:
                outcome, error = Outcome.FAILED, DeviceError("no memory for a copy of the results")
                error.__cause__ = lacking
            except IndexRangeError as wrong:
                outcome, error = Outcome.FAILED, wrong
        self.error = str(error) if error else ""
        self._finish(outcome)
        try:
            if error is None:
                self.future.set_result(results)
            else:
                self.future.set_exception(error)
        except BaseException:  # of a callback that wants to end its thread, which is not its own
            _logger.exception("a callback of a request for network %r", self.network.name)
        self._drop()

    def _results(self) -> list[np.ndarray]:
        plan, found = self.network.plan, []
        every = [array for i in plan.outputs if (array := self._values[i]) is not None]
        results = self.network.used(every)
        done: list[int] = []
        for index in self._wanted:
            array = results[index]
            declared = self.network.signature.outputs[index].dtype
            found.append(array.astype(declared, copy=plan.copied[index] or index in done))
            done.append(index)
        return found

    def _finish(self, outcome: Outcome) -> None:
        self.outcome = outcome
        self.ended = time.perf_counter()
        self._values = []
        if outcome is not Outcome.COMPLETED:
            self._forgo()
        began = self.ended if self.began is None else self.began
        replica = None if self.replica is None else self.replica.number
        self.network.end(outcome, self.ended - self.submitted, began - self.submitted, replica)
        self._on_end(self)

    def _forgo(self) -> None:
        """Tells devices of partitions that will not be handed to them."""
        if self.replica is None:
            return
        for missing, place in zip(self._missing, self.replica.places, strict=True):
            if missing:
                place.device.forgo(place.loaded)

    def _drop(self) -> None:
        """Notes that a thread has done its work on the request."""
        with self._lock:
            self._holds -= 1
            gone = self._over and not self._holds
        if gone:
            self.network.leave(self)


class _Cancellation:
    """Tells a request that its future was cancelled."""

    __slots__ = ("_request",)

    def __init__(self, request: ref[Request]):
        self._request = request

    def __call__(self, future: Results) -> None:
        if future.cancelled() and (request := self._request()) is not None:
            request.cancelled()


class PartRun:
    """A partition of a request, as a job of its device."""

    __slots__ = ("_device", "_number", "_part", "_ready", "_request", "loaded", "order")

    def __init__(self, request: Request, number: int, place: PartitionPlacement):
        self.order: tuple[int, int] = request.order
        self.loaded: Loaded = place.loaded
        self._request = request
        self._number = number
        self._part = request.network.plan.parts[number]
        self._device = place.device.name
        self._ready = time.perf_counter()

    def begin(self) -> list[np.ndarray] | None:
        return self._request.begin(self._number)

    def run(self, program: Program, inputs: Sequence[np.ndarray]) -> list[np.ndarray]:
        return results_of(program.run(inputs), self._part.infos)

    def succeed(self, outputs: Sequence[np.ndarray], start: float, end: float) -> None:
        self._record(start, end, "")
        self._request.succeed(self._number, outputs)

    def fail(self, error: BaseException, start: float, end: float) -> None:
        self._record(start, end, described(error))
        self._request.fail(self._number, error)

    def _record(self, start: float, end: float, error: str) -> None:
        part, parts = self._part, self._request.network.plan.parts
        before = tuple(parts[i].name for i in part.dependencies)
        self._request.spans.append(
            PartitionRun(part.name, self._device, self._ready, start, end, before, error)
        )
