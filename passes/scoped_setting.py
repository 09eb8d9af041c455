"""A setting of the process that changes while any thread uses it."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Generic, TypeVar

T = TypeVar("T")


class ScopedSetting(Generic[T]):
    """
    Changes a setting for the first thread that uses it, and restores it after the last one. The
    object lives as long as the process.
    """

    def __init__(self, change: Callable[[], T], restore: Callable[[T], object]):
        """`change` returns the argument with which `restore` puts the setting back."""
        self._change = change
        self._restore = restore
        self._lock = threading.Lock()
        self._users: list[int] = []
        """Threads, once for each use."""
        self._before: list[T] = []
        """The result of `change`, if the setting is changed."""
        os.register_at_fork(after_in_child=self._forked)

    @contextmanager
    def use(self) -> Iterator[None]:
        with self._lock:
            if not self._users:
                self._before.append(self._change())
            self._users.append(threading.get_ident())
        try:
            yield
        finally:
            with self._lock:
                self._users.remove(threading.get_ident())
                self._restore_if_unused()

    def _restore_if_unused(self) -> None:
        if not self._users and self._before:
            self._restore(self._before.pop())

    def _forked(self) -> None:
        """Forgets, in a forked child, the users except the thread that forked."""
        self._lock = threading.Lock()
        self._users = [t for t in self._users if t == threading.get_ident()]
        self._restore_if_unused()
