"""Files that change, and files that are old enough for a change to show."""

from __future__ import annotations

import os
import time
from pathlib import Path


def settled(path: Path) -> Path:
    """Returns a file, old enough to be told from itself after a change."""
    status = path.stat()
    while time.time_ns() < status.st_ctime_ns + 40_000_000:
        time.sleep(0.01)
    return path


def flip_bit(path: Path, place: int) -> None:
    """Changes a bit of the byte at `place`, and sets the file's time of modification back."""
    status = path.stat()
    with path.open("r+b") as file:
        file.seek(place)
        byte = file.read(1)[0]
        file.seek(place)
        file.write(bytes([byte ^ 64]))
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))
