"""Sizes in bytes as text."""

from __future__ import annotations

import re

_SIZE = re.compile(r"(\d+)\s*(?:([KMGT])(?:iB)?)?", re.IGNORECASE | re.ASCII)
_SHIFTS = {"": 0, "K": 10, "M": 20, "G": 30, "T": 40}


def bytes_of(text: str) -> int | None:
    """Returns a size in bytes, such as 4096, 64K or 64 MiB; None if the text is none."""
    found = _SIZE.fullmatch(text.strip())
    if found is None:
        return None
    number, unit = found.groups(default="")
    return int(number) << _SHIFTS[unit.upper()]
