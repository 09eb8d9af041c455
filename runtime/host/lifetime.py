"""The end of host managers when the interpreter ends, and in a forked child."""

from __future__ import annotations

import atexit
import os
from typing import Protocol
from weakref import WeakSet


class Living(Protocol):
    """An object with threads."""

    def shutdown(self) -> None:
        """Finishes all work that has begun."""
        ...

    def _forget(self) -> None:
        """This is a forked child, in which the threads do not exist."""
        ...


_living: WeakSet[Living] = WeakSet()


def register(living: Living) -> None:
    """Has it shut down at the end of the interpreter, and forgets its threads in a child."""
    _living.add(living)
    run_first_at_exit()


def run_first_at_exit() -> None:
    """
    Lets the shutdown run before all functions that were registered for exit so far. Loaded programs
    may have threads of their own, which also end at exit.
    """
    atexit.unregister(_shut_down_all)
    atexit.register(_shut_down_all)


def _shut_down_all() -> None:
    for living in list(_living):
        living.shutdown()


def _forget_all() -> None:
    for living in list(_living):
        living._forget()


os.register_at_fork(after_in_child=_forget_all)
