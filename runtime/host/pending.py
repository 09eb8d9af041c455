"""Networks that are not ready yet, and the lock between threads that compile them."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from typing import TYPE_CHECKING

from ...errors import RejectedError

if TYPE_CHECKING:
    from .network import NetworkInfo


class PendingNetwork:
    """A network that is compiled, or waits for that."""

    def __init__(self, name: str):
        self.name = name
        self.future: Future[NetworkInfo] = Future()
        """The caller's."""
        self.ended = threading.Event()
        """Whether it is loaded, or nothing of it remains."""
        self.unwanted = ""
        """The reason why it is to be given up. Writers hold the lock of the registry."""
        self._lock = threading.Lock()
        self._claimed = False

    def begin(self) -> bool:
        """
        Returns whether it is to be compiled: once, and unless the future was cancelled before.
        """
        return self._claim() and self.future.set_running_or_notify_cancel()

    @property
    def has_begun(self) -> bool:
        """Whether it is being compiled, or was."""
        return self._claimed

    def _claim(self) -> bool:
        """Returns true for the first caller."""
        with self._lock:
            claimed, self._claimed = self._claimed, True
            return not claimed

    def drop(self) -> bool:
        """Returns whether it is never to be compiled: it has not begun, and was not cancelled."""
        return self._claim() and self.future.set_running_or_notify_cancel()

    def end(self, result: NetworkInfo | BaseException) -> None:
        """Notes that the network is loaded, or that nothing of it remains."""
        self.ended.set()
        if isinstance(result, BaseException):
            self.future.set_exception(result)
        else:
            self.future.set_result(result)

    def expect_wanted(self) -> None:
        """Raises RejectedError if it is to be given up."""
        if self.unwanted:
            raise self.error()

    def error(self) -> RejectedError:
        """Returns the error that explains why the network was given up."""
        return RejectedError(f"network {self.name!r} was not added: {self.unwanted}")


class SharedExclusiveLock:
    """A lock that several threads share, or one holds alone. An exclusive hold is granted first."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._together: set[SharedHold] = set()
        self._waiting = 0
        """The number of threads that wait to be alone."""
        self._alone = False

    @contextmanager
    def together(self) -> Iterator[SharedHold]:
        """
        Shares the lock with others. Waits while a thread has the lock alone or waits for that.
        """
        turn = SharedHold()
        with self._changed:
            self._changed.wait_for(lambda: not (self._alone or self._waiting))
            self._together.add(turn)
            if len(self._together) > 1:
                for each in self._together:
                    each.had_company = True
        try:
            yield turn
        finally:
            with self._changed:
                self._together.remove(turn)
                self._changed.notify_all()

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Holds the lock alone. Waits until no other thread has it."""
        with self._changed:
            self._waiting += 1
            self._changed.wait_for(lambda: not (self._alone or self._together))
            self._waiting -= 1
            self._alone = True
        try:
            yield
        finally:
            with self._changed:
                self._alone = False
                self._changed.notify_all()


class SharedHold:
    """The time for which one thread shares the lock."""

    def __init__(self) -> None:
        self.had_company = False
        """Whether another thread shared the lock at any time."""
