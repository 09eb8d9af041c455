"""Files that take their name when they are complete."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def completed(name: str) -> Iterator[str]:
    """
    Where to write what is to be in the file `name`. It takes this name at the end; after an
    exception, what was there before is left. So a file may also be read and written at once.

    Links, devices and folders are not replaced: what is written to them is written at once.
    """
    path = Path(name)
    if path.is_symlink() or (path.exists() and not path.is_file()):
        yield name
        return
    partial = path.with_name(f"{path.name}.{os.getpid()}.partial")
    try:
        yield str(partial)
        if partial.exists():
            partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)
