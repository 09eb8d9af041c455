"""
Object code, and the weights of whole programs, on disk, found by the content they were made from.

An entry is one file, named by the SHA-256 of everything that its bytes depend on, so an entry is
never out of date: a different kernel, machine or version is a different name. A file starts with a
magic number and the SHA-256 of its name and the rest; a file that is truncated, damaged or another
entry's counts as absent and is written again. Files are written under a temporary name and moved
into place, so two processes may write one entry at once and a reader never sees half of it. Weight
segments are files of a kind of their own, which are mapped into memory instead of read
(`segment_file`).

The directory is bounded. Reading an entry renews its modification time, and when the sum of sizes
passes the limit, the entries that were not used for longest are deleted; a program that uses one
keeps it until it ends. The sum is kept up to date in memory, so that the directory is listed only
once per process and at each clean-up.

Entries are machine code, so a directory or file that another user can have written is not used
(`private_files`).

A cache never fails: with a directory that cannot be trusted, read or written, or a full disk,
everything is compiled again, and the first failure of each directory is reported as a warning.
"""

from __future__ import annotations

import hashlib
import mmap
import os
import re
import tempfile
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO

from ..errors import GlowError
from ..fork_safe_lock import ForkSafeLock
from .environment import cache_directory, cache_limit
from .private_files import (
    UntrustedError,
    expect_private_directory,
    make_private_directory,
    open_private,
)
from .segment_file import PAGE, map_segment, trust_written, write_segment

MAGIC = b"glowobj1"
_HEADER = len(MAGIC) + 32
_SUFFIX = ".o"
_SEGMENT_SUFFIX = ".weights"
_RECORD_SUFFIX = ".checked"
"""Says when the segment with the same name was checked, and by its time when it was used."""
_ENTRY = re.compile(rf"[0-9a-f]{{64}}(\{_SUFFIX}|\{_SEGMENT_SUFFIX}|\{_RECORD_SUFFIX})")
"""Names of entries; other files in the directory are not the cache's to delete."""
_STALE_SECONDS = 3600

_warned: set[str] = set()
"""Directories that a warning was given for."""


def key_of(*parts: str) -> str:
    """Returns the name of the entry that depends on `parts`: 64 hexadecimal digits."""
    digest = hashlib.sha256()
    for part in parts:
        data = part.encode("utf-8", "surrogateescape")  # as names of files may be
        # lengths keep ("ab", "c") apart from ("a", "bc")
        digest.update(len(data).to_bytes(8, "little"))
        digest.update(data)
    return digest.hexdigest()


class ObjectCache:
    """
    A directory of entries. Safe to use from several threads and processes at once.

    `limit` is in bytes; the directory may exceed it by the files that other processes write at the
    same time.
    """

    def __init__(self, directory: str | Path, limit: int | None = None):
        self.directory = Path(directory)
        self.limit = cache_limit() if limit is None else limit
        self._size: int | None = None
        """Sum of all entries, in bytes; None before the directory was listed."""
        self._lock = ForkSafeLock()
        self._is_trusted: bool | None = None
        """Whether the directory may be used; None before it was found."""

    def __repr__(self) -> str:
        return f"ObjectCache({str(self.directory)!r})"

    def path(self, key: str) -> Path:
        return self.directory / f"{key}{_SUFFIX}"

    def get(self, key: str) -> bytes | None:
        """Returns the bytes stored under `key`, or None if there are none or they are damaged."""
        path = self.path(key)
        try:
            if not self._may_use():
                return None
            with open_private(path) as file:
                data = file.read()
        except FileNotFoundError:
            return None
        except OSError as error:
            self._warn("read", error)
            return None
        payload = data[_HEADER:]
        if data[:_HEADER] != _header(key, payload):
            return None
        _touch(path)
        return payload

    def put(self, key: str, payload: bytes, warn: bool = True) -> None:
        """
        Stores `payload` under `key`. Silently keeps nothing if it alone exceeds the limit, and with
        `warn=False` if nothing can be written.
        """
        data = _header(key, payload) + payload
        self._store(self.path(key), len(data), lambda file: file.write(data), warn)

    def map_weights(self, key: str, size: int) -> mmap.mmap | None:
        """
        Returns the weight segment stored under `key`, mapped into memory from `segment_file.PAGE`
        on, or None if there is none of `size` bytes or it is damaged.
        """
        path, record = self._segment(key)
        try:
            mapped = map_segment(path, size, record) if self._may_use() else None
        except FileNotFoundError:
            return None
        except OSError as error:
            self._warn("read", error)
            return None
        if mapped is not None:
            _touch(record)
        return mapped

    def put_weights(self, key: str, segment: memoryview) -> bool:
        """
        Stores a weight segment under `key`, the hash of its content. Returns whether it is there
        now; it is not if it is too large.
        """
        if len(segment) > self.limit // 2:
            return False
        if self.map_weights(key, len(segment)) is not None:
            return True  # processes that mapped it already share it with those that follow
        path, record = self._segment(key)
        size = PAGE + len(segment)
        if not self._store(path, size, lambda file: write_segment(file, segment)):
            return False
        trust_written(path, record)
        return True

    def _segment(self, key: str) -> tuple[Path, Path]:
        """Returns the file of a weight segment, and its record."""
        directory = self.directory
        return directory / f"{key}{_SEGMENT_SUFFIX}", directory / f"{key}{_RECORD_SUFFIX}"

    def _may_use(self) -> bool:
        """
        Returns whether only this user, or root, can have written into the directory. Raises
        FileNotFoundError if there is none; OSError, the first time, if it may not be used.
        """
        if self._is_trusted is None:
            try:
                expect_private_directory(self.directory)
            except FileNotFoundError:
                raise
            except OSError:
                self._is_trusted = False
                raise
            self._is_trusted = True
        return self._is_trusted

    def _store(
        self, path: Path, size: int, write: Callable[[BinaryIO], object], warn: bool = True
    ) -> bool:
        if size > self.limit:
            return False
        try:
            make_private_directory(self.directory)
            if not self._may_use():
                return False
            _write_atomically(path, write)
            self._account(size)
        except OSError as error:
            if warn:
                self._warn("write", error)
            return False
        return True

    def _account(self, size: int) -> None:
        with self._lock:
            if self._size is None:
                self._size = sum(entry.st_size for _, entry in self._entries())
            else:
                self._size += size
            if self._size > self.limit:
                self._size = self._evict()

    def _entries(self) -> list[tuple[Path, os.stat_result]]:
        """Returns all entries with their status. Removes the files that crashed writers left."""
        found: list[tuple[Path, os.stat_result]] = []
        with os.scandir(self.directory) as listing:
            for item in listing:
                try:
                    status = item.stat()
                except FileNotFoundError:
                    continue  # deleted by another process since the listing
                if _ENTRY.fullmatch(item.name):
                    found.append((Path(item.path), status))
                elif item.name.startswith(".tmp-") and _is_stale(status):
                    Path(item.path).unlink(missing_ok=True)
        return found

    def _evict(self) -> int:
        """
        Deletes the least recently used entries down to 3/4 of the limit; the bytes that remain.
        Files with one key go together.
        """
        entries: dict[str, list[tuple[Path, os.stat_result]]] = {}
        for path, status in self._entries():
            entries.setdefault(path.stem, []).append((path, status))
        used = {key: max(s.st_mtime_ns for _, s in files) for key, files in entries.items()}
        size = sum(status.st_size for files in entries.values() for _, status in files)
        for key in sorted(entries, key=lambda key: used[key]):
            if size <= self.limit * 3 // 4:
                break
            for path, status in entries[key]:
                path.unlink(missing_ok=True)
                size -= status.st_size
        return size

    def _warn(self, what: str, error: OSError) -> None:
        name = os.path.abspath(self.directory)
        if isinstance(error, UntrustedError):
            text = (
                f"not using the cache of compiled code in {name}: {error}; compiling without it. "
                "The option cache, or GLOW_CACHE_DIR, can name a directory of your own"
            )
        else:
            reason = error.strerror or error
            text = (
                f"cannot {what} the cache of compiled code in {name} ({reason}); "
                "compiling without it"
            )
        _warn_once(name, text)


def _warn_once(directory: str, text: str) -> None:
    if directory not in _warned:
        _warned.add(directory)
        warnings.warn(text, RuntimeWarning, stacklevel=4)


def expect_cache(value: object) -> None:
    """Raises GlowError unless `value` is the place of a cache."""
    if not isinstance(value, bool | str | os.PathLike | ObjectCache) or value == "":
        raise GlowError(f"expected cache to be True, False or a directory, found {value!r}")
    if "\0" in str(value):
        raise GlowError(f"expected cache without a NUL character, found {value!r}")


def open_cache(cache: bool | str | Path | ObjectCache) -> ObjectCache | None:
    """
    Returns the cache that an option means: True for the default, False for none, or a directory.
    Returns none, with a warning, if there is no default.
    """
    if isinstance(cache, ObjectCache):
        return cache
    if cache is False:
        return None
    try:
        directory = cache_directory() if cache is True else Path(cache)
    except GlowError as error:
        _warn_once("", f"not using a cache of compiled code: {error}")
        return None
    return ObjectCache(directory)


def _header(key: str, payload: bytes) -> bytes:
    """Returns what an entry begins with. One in the place of another is as good as none."""
    digest = hashlib.sha256(key.encode())
    digest.update(payload)
    return MAGIC + digest.digest()


def _is_stale(status: os.stat_result) -> bool:
    return time.time() - status.st_mtime > _STALE_SECONDS


def _touch(path: Path) -> None:
    try:
        os.utime(path)
    except OSError:
        pass  # a read-only cache still serves; only its order of eviction suffers


def _write_atomically(path: Path, write: Callable[[BinaryIO], object]) -> None:
    handle, name = tempfile.mkstemp(prefix=".tmp-", dir=path.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            write(file)
        os.replace(name, path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
