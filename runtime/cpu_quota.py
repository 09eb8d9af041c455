"""
The share of the processors that control groups of Linux leave to this process: files `cpu.max` of
version 2, `cpu.cfs_quota_us` and `cpu.cfs_period_us` of version 1.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path


def cpu_quota(
    mounted: Path = Path("/sys/fs/cgroup"), own: Path = Path("/proc/self/cgroup")
) -> float:
    """
    Returns how many processors this process may keep busy on average, by the smallest quota of its
    control groups and those around them; infinity without a quota. The arguments are the folder
    where control groups are mounted, and the list of those of a process.
    """
    return min(_quotas(mounted, own), default=float("inf"))


def _quotas(mounted: Path, own: Path) -> Iterator[float]:
    try:
        lines = own.read_text(encoding="utf-8").splitlines()
    except OSError:
        return
    for line in lines:
        _, controllers, path = line.split(":", 2)
        if controllers and "cpu" not in controllers.split(","):
            continue
        group = Path(path.lstrip("/"))
        for root in (mounted, mounted / (controllers or "unified"), mounted / "cpu"):
            for folder in (root / group, *(root / parent for parent in group.parents)):
                found = _quota_of(folder)
                if found is not None:
                    yield found


def _quota_of(folder: Path) -> float | None:
    """Returns the quota of one control group; None if it has none."""
    words = _words(folder / "cpu.max")
    if not words:
        words = [*_words(folder / "cpu.cfs_quota_us"), *_words(folder / "cpu.cfs_period_us")]
    try:
        quota, period = (int(word) for word in words)
    except ValueError:  # there are no such files, or the quota is "max"
        return None
    return quota / period if quota > 0 and period > 0 else None


def _words(file: Path) -> list[str]:
    try:
        return file.read_text(encoding="ascii").split()
    except OSError:
        return []
