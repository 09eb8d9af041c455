"""
The operation that a pass visits, so that messages about its failures have a place.

A pass goes over operations with `each`. `run_pass` gives an error that leaves a pass the operation.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextvars import ContextVar
from typing import TypeVar

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation
from xdsl.passes import ModulePass

from ..errors import GlowError

Op = TypeVar("Op", bound=Operation)

_VISITED: ContextVar[Operation | None] = ContextVar("visited", default=None)


def visited() -> Operation | None:
    """
    Returns the operation that the pass of this thread looks at, or was looking at when it failed.
    """
    return _VISITED.get()


def visit(op: Operation | None) -> None:
    """Says which operation comes next; None for none in particular."""
    _VISITED.set(op)


def each(ops: Iterable[Op]) -> Iterator[Op]:
    """
    Yields `ops` in order. Each is looked at until the next one is asked for; the one at which a
    loop ends early stays so, because a failure ends it as well. After the last one, the operation
    that was looked at before the loop is looked at again, so loops may be nested.
    """
    around = _VISITED.get()
    for op in ops:
        _VISITED.set(op)
        yield op
    _VISITED.set(around)


def run_pass(p: ModulePass, context: Context, module: ModuleOp) -> None:
    """
    Runs one pass. An error that leaves it has the attributes `pass_name` and `operation`: the
    operation at fault if the error names one, or the one that the pass looked at, or None. A
    GlowError leaves it unchanged, because its message is complete.
    """
    visit(None)
    try:
        p.apply(context, module)
    except GlowError:
        raise
    except Exception as error:
        operation = getattr(error, "operation", None) or visited()
        error.pass_name = p.name  # pyright: ignore[reportAttributeAccessIssue]
        error.operation = operation  # pyright: ignore[reportAttributeAccessIssue]
        raise
