"""Files that appear as a whole or not at all."""

from __future__ import annotations

import errno
import os
from contextlib import suppress
from pathlib import Path


def write_whole(path: Path, content: bytes) -> None:
    """
    Writes a file under another name and then renames it, so that an older one with this name stays
    whole whatever happens. Raises OSError if it cannot be written, or is a device or a directory;
    nothing is left then.
    """
    if path.exists() and not path.is_file():
        raise OSError(errno.EINVAL, "it is there, and is no regular file")
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        with temporary.open("wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    except OSError:
        with suppress(OSError):
            temporary.unlink()
        raise
