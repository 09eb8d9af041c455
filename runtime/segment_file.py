"""
Weight segments on disk: the packed weights of a program as it reads them, to be mapped into memory.

A file is a header page, then the segment. The header holds its size and a CRC-32, has a checksum
of its own, and names the boot of the machine in which the file was written. While that is the
current one, no crash can have lost part of what was written, so that a look at the header and at
the size of the file is enough. After a reboot the whole segment is checked once, when it is first
used, and the header renewed. With `$GLOW_VERIFY` set (and not `0`) it is checked each time.
"""

from __future__ import annotations

import mmap
import os
import struct
import zlib
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import BinaryIO

PAGE = 4096
"""Bytes. Segments start at a multiple of this in their file and in memory."""

_MADV_POPULATE_READ = 22
"""Of Linux 5.14 and later: enter all pages into the table of pages. Python has no name for it."""
_MAGIC = b"glowseg1"
_FIELDS = struct.Struct("<8sQI36s")
"""Magic number, size of the segment, CRC-32 of the segment, boot."""
_CHECKSUM = struct.Struct("<I")


def write_segment(file: BinaryIO, segment: memoryview) -> None:
    """
    Write the bytes of a segment with their header, at the start of a file. Raises OSError.

    The checksum is computed meanwhile: both release Python's global lock.
    """
    with ThreadPoolExecutor(1) as pool:
        crc = pool.submit(zlib.crc32, segment)
        file.seek(PAGE)
        file.write(segment)
    file.seek(0)
    file.write(_header(len(segment), crc.result()))


def map_segment(path: Path, size: int) -> mmap.mmap | None:
    """
    The file of a segment of `size` bytes, mapped read-only; the segment begins at `PAGE`. Processes
    that map one file share its memory, which outlives the deletion of the file.

    None if there is no such file or it is damaged. Raises OSError if it cannot be read.
    """
    try:
        file = path.open("rb")
    except FileNotFoundError:
        return None
    with file:
        fields = _fields(file.read(PAGE))
        if fields is None or fields[0] != size or os.fstat(file.fileno()).st_size != PAGE + size:
            return None
        mapped = _mapped(file)
    _, crc, boot = fields
    if boot == _boot() and os.environ.get("GLOW_VERIFY", "0") == "0":
        return mapped
    if zlib.crc32(memoryview(mapped)[PAGE:]) != crc:
        return None
    _renew(path, _header(size, crc))
    return mapped


def has_segment(path: Path, size: int) -> bool:
    """
    Whether there is a file of a segment of `size` bytes that was written since the machine was
    booted. Raises OSError if it cannot be read.
    """
    try:
        with path.open("rb") as file:
            fields = _fields(file.read(PAGE))
            return fields is not None and (
                fields[0] == size
                and fields[2] == _boot()
                and os.fstat(file.fileno()).st_size == PAGE + size
            )
    except FileNotFoundError:
        return False


def _mapped(file: BinaryIO) -> mmap.mmap:
    mapped = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    if hasattr(mmap, "MADV_HUGEPAGE"):
        # what has to be read, in large pages: weights are read once, at a speed that misses of the
        # table of pages limit; and all of it now, as all of it is needed
        for advice in (mmap.MADV_HUGEPAGE, _MADV_POPULATE_READ):
            with suppress(OSError):  # not known to this kernel
                mapped.madvise(advice)
    return mapped


def _header(size: int, crc: int) -> bytes:
    fields = _FIELDS.pack(_MAGIC, size, crc, _boot())
    return (fields + _CHECKSUM.pack(zlib.crc32(fields))).ljust(PAGE, b"\0")


def _fields(header: bytes) -> tuple[int, int, bytes] | None:
    """Size, CRC-32 and boot; None if this is no header."""
    if len(header) < PAGE:
        return None
    fields = header[: _FIELDS.size]
    (checksum,) = _CHECKSUM.unpack_from(header, _FIELDS.size)
    magic, size, crc, boot = _FIELDS.unpack(fields)
    return (size, crc, boot) if magic == _MAGIC and checksum == zlib.crc32(fields) else None


def _renew(path: Path, header: bytes) -> None:
    try:
        with path.open("r+b") as file:
            file.write(header)
    except OSError:
        pass  # a read-only cache still serves, but is checked each time


@cache
def _boot() -> bytes:
    """What tells this boot of the machine from others; of no boot if that is unknown."""
    try:
        text = Path("/proc/sys/kernel/random/boot_id").read_bytes().strip()
    except OSError:
        text = os.urandom(18).hex().encode()
    return text[:36].ljust(36, b"\0")
