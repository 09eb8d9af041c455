"""
Behaviour of xDSL that `glow-opt` replaces while it runs.

xDSL has no option for either: `Operation.emit_error` makes its own `Diagnostic`, and `Attribute`
checks itself in its constructor. So methods of these classes are replaced, for the time of a `with`
statement. The classes belong to the whole process, so this is for command lines only.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from xdsl.ir import Attribute
from xdsl.utils.diagnostic import Diagnostic

from ..diagnostics import keep_operation


@contextmanager
def short_diagnostics() -> Iterator[None]:
    """Lets errors of operations keep the operation instead of the text of the whole module."""
    before = Diagnostic.raise_exception
    Diagnostic.raise_exception = keep_operation
    try:
        yield
    finally:
        Diagnostic.raise_exception = before


@contextmanager
def unchecked_attributes() -> Iterator[None]:
    """Lets attributes be made that their own checks reject."""
    before = Attribute.__post_init__
    Attribute.__post_init__ = _unchecked
    try:
        yield
    finally:
        Attribute.__post_init__ = before


def _unchecked(self: Attribute) -> None:
    """Takes the place of the check of an attribute."""
