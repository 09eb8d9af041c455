"""The mark by which files of VTA programs are recognised. `container.py` takes longer to import."""

from __future__ import annotations

from pathlib import Path

MAGIC = b"GLOWVTA\0"
SUFFIX = ".vta"


def is_container(path: Path) -> bool:
    """Returns whether a file begins as a container does, or has its suffix."""
    if path.suffix.lower() == SUFFIX:
        return True
    try:
        with path.open("rb") as file:
            return file.read(len(MAGIC)) == MAGIC
    except OSError:
        return False
