"""The requests on devices and those that wait: a bounded queue, by priority and then by age."""

from __future__ import annotations

import threading
import time
from heapq import heapify, heappop, heappush
from typing import TYPE_CHECKING

from ...errors import QueueFullError
from ...wording import counted
from ..options import at_least, at_least_one

if TYPE_CHECKING:
    from .request import Request


class Admission:
    """
    A bounded queue: at most `most_active` requests are with the devices, and at most `most_waiting`
    wait.

    Its lock is held for a few operations on a heap, and never while a request does anything.
    """

    def __init__(self, most_active: int, most_waiting: int):
        self.most_active = at_least_one("max_active", most_active)
        self.most_waiting = at_least("max_queue", most_waiting, 0)
        self._active: set[Request] = set()
        self._lock = threading.Lock()
        self._waiting: set[Request] = set()
        self._heap: list[tuple[tuple[int, int], Request]] = []
        """All that wait, and some that do not any more."""

    @property
    def active(self) -> int:
        """The number of requests that are with the devices."""
        return len(self._active)

    @property
    def waiting(self) -> int:
        """The number of requests that wait."""
        return len(self._waiting)

    def enter(self, request: Request) -> bool:
        """
        Returns a request comes. Returns whether it may start now; otherwise it waits, and `leave`
        of another one returns it, or it is over already. Raises QueueFullError if there is no room.
        """
        started = self._try(request)
        if started is None:
            for late in self._late():
                late.expire()  # which makes room
            started = self._try(request)
        if started is None:
            raise QueueFullError(
                f"{counted(self.most_active, 'request')} running and {self.most_waiting} waiting "
                "are as many as may be: try again when some are done"
            )
        return started

    def _try(self, request: Request) -> bool | None:
        with self._lock:
            if request.is_over:
                return False  # the network was removed in this moment
            if len(self._active) < self.most_active:
                self._active.add(request)
                return True
            if len(self._waiting) >= self.most_waiting:
                return None
            self._waiting.add(request)
            heappush(self._heap, (request.order, request))
            return False

    def _late(self) -> list[Request]:
        """Requests that wait although their time is over."""
        now = time.perf_counter()
        with self._lock:
            return [r for r in self._waiting if r.deadline is not None and r.deadline < now]

    def leave(self, request: Request) -> Request | None:
        """Returns a request ended. Returns one that waited, if it may start now."""
        with self._lock:
            if request in self._waiting:
                self._waiting.remove(request)
                self._shrink()
                return None
            if request not in self._active:
                return None  # it never entered
            self._active.remove(request)
            while self._heap:
                first = heappop(self._heap)[1]
                if first in self._waiting:
                    self._waiting.remove(first)
                    self._active.add(first)
                    return first
            return None

    def _shrink(self) -> None:
        """Forgets the requests that do not wait any more, if there are many."""
        if len(self._heap) > 2 * len(self._waiting) + 16:
            self._heap = [(r.order, r) for r in self._waiting]
            heapify(self._heap)
