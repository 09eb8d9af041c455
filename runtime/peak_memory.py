"""The peak of the memory of this process."""

from __future__ import annotations

import sys


def peak_resident_bytes() -> int:
    """
    Returns the largest amount of physical memory that this process had at any time, in bytes. Pages
    of mapped files count, also those that it shares with other processes; 0 if it is unknown.
    """
    try:
        # getrusage may report the peak of the process that started this one
        with open("/proc/self/status", encoding="ascii") as file:
            for line in file:
                if line.startswith("VmHWM:"):
                    return int(line.split()[1]) * 1024
    except (OSError, ValueError):
        pass
    try:
        # other systems than Unix have no such module
        import resource
    except ImportError:  # not a Unix
        return 0
    used = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return used if sys.platform == "darwin" else used * 1024
