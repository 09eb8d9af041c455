"""
Weight segments on disk: the packed weights of a program as it reads them, to be mapped into memory.

A file is a header page, then the segment. The header holds its size and a CRC-32, and has a
checksum of its own. A start reads only these and the size of the file, as long as the file is
unchanged since its CRC was checked: a small file beside it, the record, names the identity that it
had then (`file_identity`), and the boot of the machine, since a crash may lose part of what was
written. Otherwise the whole segment is checked, and the record written again. Segments are written
once and never touched, because that would change their identity. With `$GLOW_VERIFY=1` they are
checked each time.
"""

from __future__ import annotations

import mmap
import os
import struct
import time
import zlib
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import BinaryIO

from .environment import verifies
from .file_identity import Identity, identity, is_older, wait_until_older
from .private_files import open_private

PAGE = 4096
"""Bytes. Segments start at a multiple of this in their file and in memory."""

_MADV_POPULATE_READ = 22
"""
Advice for Linux 5.14 and later: enter all pages into the page table. Python has no name for it.
"""
_MAGIC = b"glowseg2"
_FIELDS = struct.Struct("<8sQI")
"""Magic number, size of the segment, CRC-32 of the segment."""
_CHECKSUM = struct.Struct("<I")
_SIZE = 2
"""The place of the size in an identity."""
_LARGE_BYTES = 32 << 20
"""Segments whose check takes longer than the resolution of file times."""


def write_segment(file: BinaryIO, segment: memoryview) -> None:
    """
    Writes the bytes of a segment with their header, at the start of a file, and computes the
    checksum at the same time. Raises OSError.
    """
    with ThreadPoolExecutor(1) as pool:
        crc = pool.submit(zlib.crc32, segment)
        file.seek(PAGE)
        file.write(segment)
    file.seek(0)
    file.write(_header(len(segment), crc.result()))


def trust_written(path: Path, record: Path) -> None:
    """
    Records that a segment that was just moved into place is as it was written. That takes until its
    times are older than the clock's grain, so small ones are rather checked when they are first
    used.
    """
    try:
        status = identity(path)
        if status[_SIZE] >= _LARGE_BYTES and wait_until_older(status):
            _remember(record, status)
    except OSError:
        pass  # it is checked when it is used


def map_segment(path: Path, size: int, record: Path) -> mmap.mmap | None:
    """
    Returns the file of a segment of `size` bytes, mapped read-only; the segment begins at `PAGE`.
    Processes that map one file share its memory, which outlives the deletion of the file. `record`
    is the file that says when the segment was checked.

    None if there is no such file or it is damaged. Raises UntrustedError if another user can have
    written it, OSError if it cannot be read.
    """
    try:
        file = open_private(path)
    except FileNotFoundError:
        return None
    with file:
        moment, status = time.time_ns(), identity(file.fileno())
        fields = _fields(file.read(PAGE))
        if fields is None or fields[0] != size or status[_SIZE] != PAGE + size:
            return None
        mapped = _mapped(file)
    if not verifies() and _is_remembered(record, status):
        return mapped
    if zlib.crc32(memoryview(mapped)[PAGE:]) != fields[1]:
        return None
    if is_older(status, moment):
        _remember(record, status)
    return mapped


def _mapped(file: BinaryIO) -> mmap.mmap:
    mapped = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    if hasattr(mmap, "MADV_HUGEPAGE"):
        # All of it is read now, because all of it is needed, and in large pages, because misses of
        # the page table limit the speed of reading weights.
        for advice in (mmap.MADV_HUGEPAGE, _MADV_POPULATE_READ):
            with suppress(OSError):  # not known to this kernel
                mapped.madvise(advice)
    return mapped


def _header(size: int, crc: int) -> bytes:
    fields = _FIELDS.pack(_MAGIC, size, crc)
    return (fields + _CHECKSUM.pack(zlib.crc32(fields))).ljust(PAGE, b"\0")


def _fields(header: bytes) -> tuple[int, int] | None:
    """Returns the size and the CRC-32; None if this is no header."""
    if len(header) < PAGE:
        return None
    fields = header[: _FIELDS.size]
    (checksum,) = _CHECKSUM.unpack_from(header, _FIELDS.size)
    magic, size, crc = _FIELDS.unpack(fields)
    return (size, crc) if magic == _MAGIC and checksum == zlib.crc32(fields) else None


def _remember(record: Path, status: Identity) -> None:
    """Records that the file of this identity is whole."""
    with suppress(OSError):  # a read-only cache still serves, but is checked each time
        # if two processes write at once, the record is that of one or of no identity
        flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC
        with open(os.open(record, flags, 0o600), "wb") as file:
            file.write(_record(status))


def _is_remembered(record: Path, status: Identity) -> bool:
    try:
        with open_private(record) as file:
            found = file.read()
    except OSError:
        return False
    return found == _record(status)


def _record(status: Identity) -> bytes:
    return " ".join([_boot(), *map(str, status)]).encode()


@cache
def _boot() -> str:
    """Returns the identity of this boot of the machine; that of no boot if it is unknown."""
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    except OSError:
        return os.urandom(18).hex()
