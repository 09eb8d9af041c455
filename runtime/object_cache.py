"""
Object code, and the weights of whole programs, on disk, found by the content they were made from.

An entry is one file, named by the SHA-256 of everything that its bytes depend on, so an entry is
never out of date: a different kernel, machine or version is a different name. A file starts with a
magic number and the SHA-256 of the rest; a truncated or damaged file counts as absent and is
written again. Files are written under a temporary name and moved into place, so two processes may
write one entry at once and a reader never sees half of it. Weight segments are files of a kind of
their own, which are mapped into memory instead of read (`segment_file`).

The directory is bounded. Reading an entry renews its modification time, and when the sum of sizes
passes the limit, the entries that were not used for longest are deleted; a program that uses one
keeps it until it ends. The sum is kept up to date in memory, so that the directory is listed only
once per process and at each clean-up.

A cache never fails: with a directory that cannot be read or written, or a full disk, everything is
compiled again, and the first failure is reported once as a warning.
"""

from __future__ import annotations

import hashlib
import mmap
import os
import tempfile
import threading
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO

from .segment_file import PAGE, has_segment, map_segment, write_segment

MAGIC = b"glowobj1"
_HEADER = len(MAGIC) + 32
_SUFFIX = ".o"
_SEGMENT_SUFFIX = ".weights"
_STALE_SECONDS = 3600
DEFAULT_LIMIT = 4 << 30


def default_directory() -> Path:
    """
    `$GLOW_CACHE_DIR`, or `glow` in the user's cache directory (`$XDG_CACHE_HOME`, `~/.cache`).
    """
    if chosen := os.environ.get("GLOW_CACHE_DIR"):
        return Path(chosen)
    base = os.environ.get("XDG_CACHE_HOME", "")
    # the XDG specification says that a relative path is to be ignored
    return (Path(base) if os.path.isabs(base) else Path("~/.cache").expanduser()) / "glow"


def default_limit() -> int:
    """Bytes: `$GLOW_CACHE_SIZE` if it is a number, otherwise 4 GiB."""
    try:
        return int(os.environ["GLOW_CACHE_SIZE"])
    except (KeyError, ValueError):
        return DEFAULT_LIMIT


def key_of(*parts: str) -> str:
    """The name of the entry that depends on `parts`: 64 hexadecimal digits."""
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

    `limit` is in bytes; the directory may pass it by what other processes write meanwhile.
    """

    def __init__(self, directory: str | Path | None = None, limit: int | None = None):
        self.directory = default_directory() if directory is None else Path(directory)
        self.limit = default_limit() if limit is None else limit
        self._size: int | None = None
        """Sum of all entries, in bytes; None before the directory was listed."""
        self._lock = threading.Lock()
        self._warned = False

    def path(self, key: str) -> Path:
        return self.directory / f"{key}{_SUFFIX}"

    def get(self, key: str) -> bytes | None:
        """The bytes stored under `key`, or None if there are none or they are damaged."""
        path = self.path(key)
        try:
            data = path.read_bytes()
        except FileNotFoundError:
            return None
        except OSError as error:
            self._warn("read", error)
            return None
        payload = data[_HEADER:]
        if data[:_HEADER] != _header(payload):
            return None
        _touch(path)
        return payload

    def put(self, key: str, payload: bytes) -> None:
        """Store `payload` under `key`. Silently keeps nothing if it alone exceeds the limit."""
        size = _HEADER + len(payload)
        self._store(self.path(key), size, lambda file: file.write(_header(payload) + payload))

    def map_weights(self, key: str, size: int) -> mmap.mmap | None:
        """
        The weight segment stored under `key`, mapped into memory from `segment_file.PAGE` on, or
        None if there is none of `size` bytes or it is damaged.
        """
        path = self.directory / f"{key}{_SEGMENT_SUFFIX}"
        try:
            mapped = map_segment(path, size)
        except OSError as error:
            self._warn("read", error)
            return None
        if mapped is not None:
            _touch(path)
        return mapped

    def put_weights(self, key: str, segment: memoryview) -> bool:
        """
        Store a weight segment under `key`, which stands for its content; whether it is there now.
        Not if it is too large.
        """
        if len(segment) > self.limit // 2:
            return False
        path = self.directory / f"{key}{_SEGMENT_SUFFIX}"
        try:
            if has_segment(path, len(segment)):
                _touch(path)  # whoever has mapped it shares it with those who come
                return True
        except OSError:
            pass  # writing says what is wrong
        return self._store(path, PAGE + len(segment), lambda file: write_segment(file, segment))

    def _store(self, path: Path, size: int, write: Callable[[BinaryIO], object]) -> bool:
        if size > self.limit:
            return False
        try:
            self.directory.mkdir(parents=True, exist_ok=True)
            _write_atomically(path, write)
            self._account(size)
        except OSError as error:
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
        """All entries with their status. Removes what crashed writers left behind."""
        found: list[tuple[Path, os.stat_result]] = []
        with os.scandir(self.directory) as listing:
            for item in listing:
                try:
                    status = item.stat()
                except FileNotFoundError:
                    continue  # deleted by another process since the listing
                if item.name.endswith((_SUFFIX, _SEGMENT_SUFFIX)):
                    found.append((Path(item.path), status))
                elif item.name.startswith(".tmp-") and _is_stale(status):
                    Path(item.path).unlink(missing_ok=True)
        return found

    def _evict(self) -> int:
        """
        Delete the least recently used entries down to 3/4 of the limit; the bytes that remain.
        """
        entries = sorted(self._entries(), key=lambda entry: entry[1].st_mtime_ns)
        size = sum(status.st_size for _, status in entries)
        for path, status in entries:
            if size <= self.limit * 3 // 4:
                break
            path.unlink(missing_ok=True)
            size -= status.st_size
        return size

    def _warn(self, what: str, error: OSError) -> None:
        if self._warned:
            return
        self._warned = True
        warnings.warn(
            f"cannot {what} the cache of compiled code in {self.directory} "
            f"({error.strerror or error}); compiling without it",
            RuntimeWarning,
            stacklevel=3,
        )


def open_cache(cache: bool | str | Path | ObjectCache) -> ObjectCache | None:
    """The cache that an option means: True for the default, False for none, or a directory."""
    if isinstance(cache, ObjectCache):
        return cache
    if isinstance(cache, bool):
        return ObjectCache() if cache else None
    return ObjectCache(cache)


def _header(payload: bytes) -> bytes:
    return MAGIC + hashlib.sha256(payload).digest()


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
