"""Gives back the memory of a library's code that is not needed for a while."""

from __future__ import annotations

import ctypes
import re
from collections.abc import Iterator
from pathlib import Path

_MAPS = Path("/proc/self/smaps")
_HEAD = re.compile(r"([0-9a-f]+)-([0-9a-f]+) (\S+) \S+ \S+ \S+ *(.*)")
_DONTNEED = 4
"""MADV_DONTNEED of Linux."""


def drop_clean_pages(library: str) -> int:
    """
    Takes the unchanged pages of a shared library out of this process. Returns how many bytes were
    resident.

    They are pages of a file, so the next access finds them again, mostly still in memory. It does
    nothing if the system does not report which pages these are. `library` is part of the name of
    the file.
    """
    total = 0
    for start, size, resident in _clean_parts(library):
        libc = ctypes.CDLL(None)
        libc.madvise.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int)
        if libc.madvise(start, size, _DONTNEED) == 0:
            total += resident
    return total


def _clean_parts(library: str) -> Iterator[tuple[int, int, int]]:
    """Address, size and resident bytes of parts that cannot be written and never were."""
    try:
        lines = _MAPS.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return
    part: tuple[int, int] | None = None
    fields: dict[str, int] = {}
    for line in [*lines, "0-0 ---p 0 0 0"]:
        head = _HEAD.match(line)
        if head is None:
            name, _, rest = line.partition(":")
            if rest.endswith(" kB"):
                fields[name] = int(rest.split()[0]) << 10
            continue
        # a page that was relocated is anonymous, and would be lost
        if part is not None and fields.get("Anonymous") == 0 == fields.get("Swap"):
            yield *part, fields.get("Rss", 0)
        start, end = int(head[1], 16), int(head[2], 16)
        wanted = library in Path(head[4]).name and "w" not in head[3]
        part, fields = (start, end - start) if wanted else None, {}
