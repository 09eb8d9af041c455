"""
The identity of a file, which differs from other files and from itself after a change: its place,
its size, and the times of modification and of change of status. Programs can set the first of these
times, but not the second, which every write, rename or change of the other time renews.

Facts about a file hold as long as it has the same identity, if they were found when the file's
times were older than the clock's grain: whatever changes the file later changes its identity.
"""

from __future__ import annotations

import os
import time
from typing import TypeAlias

Identity: TypeAlias = tuple[int, ...]
"""Device, inode, size in bytes, times of modification and of change of status in ns."""

_GRAIN_NS = 20_000_000
"""The longest time by which times of files may lag behind the clock."""
_COARSE_GRAIN_NS = 2_000_000_000
"""The same for file systems that keep whole milliseconds or seconds."""


def identity(file: str | os.PathLike[str] | int) -> Identity:
    """Returns the identity of a file, by path or descriptor. Raises OSError."""
    s = os.stat(file)
    return (s.st_dev, s.st_ino, s.st_size, s.st_mtime_ns, s.st_ctime_ns)


def is_older(status: Identity, moment: int) -> bool:
    """
    Returns whether a change of the file after `moment` (in ns) is sure to give it another identity.
    """
    return status[-1] + _grain(status) < moment


def wait_until_older(status: Identity) -> bool:
    """
    Waits until a change of the file is sure to give it another identity; False, at once, where the
    times of files are coarse or ahead of the clock.
    """
    ahead = status[-1] + _grain(status) - time.time_ns()
    if ahead > _GRAIN_NS:
        return False
    if ahead >= 0:
        time.sleep((ahead + 1_000_000) / 1e9)
    return is_older(status, time.time_ns())


def _grain(status: Identity) -> int:
    return _GRAIN_NS if status[-1] % 1_000_000 else _COARSE_GRAIN_NS
