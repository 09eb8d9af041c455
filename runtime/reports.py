"""
The reports of programs about their outputs, which `lowering.report_outputs` makes them give.

Programs call one function of this process. It calls what the thread that runs the program listens
with; compiled code runs without Python's global lock, and the call takes it for that time.
"""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

Complete = Callable[[int], object]
"""A function that is called with the number of an output that is complete."""


class _Listening(threading.local):
    """The function that a thread listens with, and the error that it has raised."""

    complete: Complete | None = None
    error: BaseException | None = None


_listening = _Listening()


@ctypes.CFUNCTYPE(None, ctypes.c_int64)
def _report(output: int) -> None:
    if _listening.complete is None or _listening.error is not None:
        return
    try:
        _listening.complete(output)
    except BaseException as error:  # compiled code cannot pass it on
        _listening.error = error


REPORT_ADDRESS = ctypes.cast(_report, ctypes.c_void_p).value or 0


@contextmanager
def listening(complete: Complete) -> Iterator[None]:
    """
    Calls a function for each output that a program which this thread runs meanwhile completes.
    Raises what the function raised, after the program; further outputs are then not told.
    """
    before = _listening.complete, _listening.error
    _listening.complete, _listening.error = complete, None
    try:
        yield
        error = _listening.error
    finally:
        _listening.complete, _listening.error = before
    if error is not None:
        raise error
