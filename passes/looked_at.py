"""The operation that a pass visits, so that messages about its failures have a place."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextvars import ContextVar
from typing import TypeVar

from xdsl.ir import Operation

Op = TypeVar("Op", bound=Operation)

_LOOKED_AT: ContextVar[Operation | None] = ContextVar("looked_at", default=None)


def looked_at() -> Operation | None:
    """
    Returns the operation that the pass of this thread looks at, or was looking at when it failed.
    """
    return _LOOKED_AT.get()


def look_at(op: Operation | None) -> None:
    """Says which operation comes next; None for none in particular."""
    _LOOKED_AT.set(op)


def each(ops: Iterable[Op]) -> Iterator[Op]:
    """
    Yields `ops` in order. Each is looked at until the next one is asked for; the one at which a
    loop ends early stays so, because a failure ends it as well.
    """
    for op in ops:
        _LOOKED_AT.set(op)
        yield op
    _LOOKED_AT.set(None)
