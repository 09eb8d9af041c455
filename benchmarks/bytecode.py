"""The bytecode of the package, for processes whose start is measured."""

from __future__ import annotations

import compileall
import re
from functools import cache
from pathlib import Path

_PACKAGE = Path(__file__).resolve().parents[1]
_ELSEWHERE = re.compile(rf"{re.escape(str(_PACKAGE))}/(tests|\.[^/]*)/")


@cache
def write_bytecode() -> None:
    """
    Writes the bytecode of the package, once, as its installation does. Without it, where
    `$PYTHONDONTWRITEBYTECODE` is set, each process compiles the source of all that it imports.
    """
    compileall.compile_dir(_PACKAGE, quiet=2, rx=_ELSEWHERE)
