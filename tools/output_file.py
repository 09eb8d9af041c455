"""Files that take their name when they are complete."""

from __future__ import annotations

import os
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from ..errors import GlowError

if TYPE_CHECKING:
    import numpy as np


def has_directory(name: str | Path) -> bool:
    """Returns whether the directory of a file that shall be written exists."""
    return Path(name).absolute().parent.is_dir()


def expect_directory(name: str | Path) -> None:
    """
    Raises GlowError if the directory of a file that shall be written does not exist, or `name` is a
    directory itself.
    """
    if not has_directory(name):
        raise GlowError(f"{name}: its directory does not exist")
    if Path(name).is_dir():
        raise GlowError(f"{name}: is a directory, expected the name of a file")


def expect_folder(name: str | Path) -> None:
    """Raises GlowError if a folder for several files, which may be missing, is something else."""
    if Path(name).exists() and not Path(name).is_dir():
        raise GlowError(f"{name}: is a file, expected the name of a folder")


@contextmanager
def completed(name: str) -> Iterator[str]:
    """
    Yields the path of a file that replaces `name` at the end; after an exception, the old file
    stays. So a file may also be read and written at once.

    Links, devices and folders are not replaced: they are written directly. An OSError about the
    file names `name`, also one of a write, such as that of a full disk, which names no file itself.
    """
    path = Path(name)
    is_direct = path.is_symlink() or (path.exists() and not path.is_file())
    partial = path.with_name(f"{path.name}.{os.getpid()}.partial")
    try:
        yield name if is_direct else str(partial)
        if partial.exists():
            partial.replace(path)
    except OSError as e:
        if e.filename in (None, str(partial)):
            e.filename, e.filename2 = name, None
        raise
    finally:
        partial.unlink(missing_ok=True)


def save_arrays(name: str, arrays: Mapping[str, np.ndarray]) -> None:
    """
    Writes arrays into the file `name` as `.npz`, under any names, also those of parameters of
    `numpy.savez`.
    """
    # glow-opt writes text with this module, and needs no numpy
    from numpy.lib.format import write_array

    with completed(name) as where, zipfile.ZipFile(where, "w") as archive:
        for key, array in arrays.items():
            with archive.open(f"{key}.npy", "w", force_zip64=True) as file:
                write_array(file, array, allow_pickle=False)
