"""Errors of benchmarks, in one line each."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from ..errors import GlowError, one_line

_CLASS = re.compile(r"^[\w.]*(Error|Exception): ")


@contextmanager
def in_one_line() -> Iterator[None]:
    """Ends the process with code 1 and one line for a GlowError, OSError or ValueError."""
    try:
        yield
    except (GlowError, OSError, ValueError) as error:
        print(f"error: {one_line(error)}", file=sys.stderr)
        raise SystemExit(1) from None


def last_line(done: subprocess.CompletedProcess[str]) -> str:
    """Returns the last line of the errors of a process, without the class of an exception."""
    lines = done.stderr.strip().splitlines()
    return _CLASS.sub("", lines[-1]) if lines else f"exit code {done.returncode}"
