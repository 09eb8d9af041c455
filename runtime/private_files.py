"""
Files that only this user, or root, can have written. Machine code is read from no other files,
because the writer of such a file decides what this process does.
"""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path
from typing import BinaryIO

_ROOT = 0
_OTHERS_WRITE = stat.S_IWGRP | stat.S_IWOTH
_OWNER_ONLY = 0o700


class UntrustedError(OSError):
    """Another user can have written a file, or can write into a directory."""


def open_private(path: Path) -> BinaryIO:
    """Returns a file to read. Raises UntrustedError, or OSError if it cannot be opened."""
    file = path.open("rb")
    try:
        _expect_private(path, os.fstat(file.fileno()))
    except OSError:
        file.close()
        raise
    return file


def expect_private_directory(path: Path) -> None:
    """
    Raises UntrustedError for a directory that others may change, and OSError if it is not a
    directory. Links are followed: the directory that they lead to counts.
    """
    status = path.stat()
    if not stat.S_ISDIR(status.st_mode):
        raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR))
    _expect_private(path, status)


def make_private_directory(path: Path) -> None:
    """
    Makes a directory, and the missing ones above it, for this user alone, with any umask. Root
    makes none in the directory of another user, who could not use it afterwards and could replace
    it. Raises OSError.
    """
    missing = [folder for folder in (path, *path.parents) if not folder.exists()]
    if not missing:
        return
    parent = missing[-1].parent
    owner = parent.stat().st_uid
    if os.geteuid() == _ROOT != owner:
        raise UntrustedError(f"{parent} belongs to another user ({_name(owner)})")
    for folder in reversed(missing):
        folder.mkdir(mode=_OWNER_ONLY, exist_ok=True)


def _expect_private(path: Path, status: os.stat_result) -> None:
    if status.st_uid not in (os.geteuid(), _ROOT):
        raise UntrustedError(f"{path} belongs to another user ({_name(status.st_uid)})")
    if status.st_mode & _OTHERS_WRITE:
        mode = stat.filemode(status.st_mode)
        raise UntrustedError(f"other users may write to {path} ({mode}; chmod go-w ends that)")


def _name(user: int) -> str:
    """Returns the name of a user, or the number of one without a name."""
    # other systems than Unix have no such module
    import pwd

    try:
        return pwd.getpwuid(user).pw_name
    except KeyError:
        return str(user)
