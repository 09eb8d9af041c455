"""
The weight segments of the programs of this process.

Programs of one network for other sizes of its inputs often have the same segment. Equal segments of
this process, and those in the cache, are one: they are known by the hash of their content.
"""

from __future__ import annotations

import hashlib
import os
import threading
from weakref import WeakValueDictionary

import numpy as np

_segments: WeakValueDictionary[str, np.ndarray] = WeakValueDictionary()
_lock = threading.Lock()
# a process that is forked while another thread holds the lock would wait for it forever
os.register_at_fork(
    before=_lock.acquire, after_in_parent=_lock.release, after_in_child=_lock.release
)


def segment_key(segment: np.ndarray) -> str:
    """Returns SHA-256 of the content of a segment."""
    return hashlib.sha256(segment.data).hexdigest()


def shared_segment(key: str, segment: np.ndarray) -> np.ndarray:
    """
    Returns the segment of this content that a program of this process has already, else `segment`,
    which is shared from now on and must not be changed.
    """
    with _lock:
        return _segments.setdefault(key, segment)
