"""
References to constant bytes that live outside the IR.

`#glow.blob<"model.onnx", 4096, 37632>` names 37,632 bytes at offset 4,096 of a file. Printing,
cloning, hashing and comparing touch only the reference. Bytes are read on demand, through a memory
map that all references to one file share.

Bytes that a pass computes are kept in memory under a name that starts with `memory:`. The attribute
keeps them alive, so they vanish together with the last IR that mentions them.
"""

from __future__ import annotations

import itertools
import mmap
import os
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO, NamedTuple
from weakref import WeakValueDictionary

from xdsl.ir import Data
from xdsl.irdl import irdl_attr_definition
from xdsl.parser import AttrParser
from xdsl.printer import Printer

from ..wording import counted

MEMORY = "memory:"
_counter = itertools.count()


class Source:
    """
    A source of bytes.

    `read` is called on each access and may be expensive; do not cache its result.
    """

    def __init__(
        self,
        read: Callable[[], memoryview],
        computes: bool = False,
        write: Callable[[memoryview], None] | None = None,
    ):
        self.read = read
        self.computes = computes
        """Whether each access computes the bytes anew."""
        self.write = write
        """Puts all bytes into given memory, without memory for a copy; None if it must be read."""


_sources: WeakValueDictionary[str, Source] = WeakValueDictionary()


_files: WeakValueDictionary[int, mmap.mmap] = WeakValueDictionary()


def release_files() -> None:
    """
    Gives back the physical memory of all mapped files. They stay mapped: later accesses read them
    again.
    """
    if hasattr(mmap, "MADV_DONTNEED"):
        for mapped in list(_files.values()):
            mapped.madvise(mmap.MADV_DONTNEED)


class _File(Source):
    """
    A file, mapped into memory when it is first read.

    It must stay as it is when this object is made: an access to a page that a shorter file lacks
    would end the process, and other bytes would change what was compiled from them.
    """

    def __init__(self, path: str):
        super().__init__(self._read)
        self._path = path
        self._view: memoryview | None = None
        self._met = _status(path)

    def _read(self) -> memoryview:
        if self._view is None:
            self._view = self._map()
        elif self._is_changed():
            raise self._changed()
        return self._view

    def _map(self) -> memoryview:
        with Path(self._path).open("rb") as file:
            found = _which(os.fstat(file.fileno()))
            self._met = self._met or found
            if found != self._met:
                raise self._changed()
            return memoryview(_mapped(file)) if found.size else memoryview(b"")

    def _changed(self) -> ValueError:
        return ValueError(f"{self._path} has changed since it was first read: read it again")

    def _is_changed(self) -> bool:
        """
        Returns whether the file that is mapped is another than it was, where that can be known.
        """
        assert self._view is not None
        assert self._met is not None
        mapped = self._view.obj
        if isinstance(mapped, mmap.mmap) and mapped.size() != self._met.size:
            return True
        found = _status(self._path)
        is_there = found is not None and found.place == self._met.place
        return is_there and found != self._met

    def is_replaced(self) -> bool:
        """Returns whether the file at the path is not the one that this object means."""
        return self._met is not None and _status(self._path) not in (self._met, None)


class _Status(NamedTuple):
    """The properties that distinguish a file from others, and from itself after a change."""

    place: tuple[int, int]
    size: int
    modified: int


def _which(status: os.stat_result) -> _Status:
    return _Status((status.st_dev, status.st_ino), status.st_size, status.st_mtime_ns)


def _status(path: str) -> _Status | None:
    try:
        return _which(os.stat(path))
    except (OSError, ValueError):
        return None


def _mapped(file: BinaryIO) -> mmap.mmap:
    mapped = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    _files[id(mapped)] = mapped
    return mapped


def _source(path: str) -> Source | None:
    found = _sources.get(path)
    if path.startswith(MEMORY):
        return found
    if found is None or (isinstance(found, _File) and found.is_replaced()):
        found = _sources[path] = _File(path)
    return found


@dataclass(frozen=True)
class Blob:
    """`size` bytes at `offset` of `path`, a file or a `memory:` name."""

    path: str
    offset: int
    size: int
    source: Source | None = field(compare=False, repr=False)

    @property
    def is_computed(self) -> bool:
        """Whether each access computes the bytes again."""
        return self.source is not None and self.source.computes

    def write(self, target: memoryview) -> bool:
        """
        Writes the bytes into writable memory of their size, if it can. Returns whether it did.
        Raises the errors of `read`.
        """
        if self.source is None or self.source.write is None:
            return False
        self.source.write(target)
        return True

    def read(self) -> memoryview:
        """
        Returns the bytes, without a copy where the source allows.

        Raises ValueError if the file is shorter than the reference says or has changed since it was
        first referred to, or the memory is gone, and OSError if the file cannot be read.
        """
        if self.source is None:
            raise ValueError(
                f"the bytes of {self.path} exist only in the process that made them; "
                "write the module with its weights (glow-opt --weights-out FILE.safetensors)"
            )
        data = self.source.read()
        if self.offset < 0 or self.offset + self.size > len(data):
            raise ValueError(
                f"{self.path} has {counted(len(data), 'byte')}, "
                f"but a constant needs {counted(self.size, 'byte')} at offset {self.offset}"
            )
        return data[self.offset : self.offset + self.size]


@irdl_attr_definition
class BlobAttr(Data[Blob]):
    """`#glow.blob<"path", offset, size>`: a reference to bytes outside the IR."""

    name = "glow.blob"

    @staticmethod
    def in_file(path: str | Path, offset: int, size: int) -> BlobAttr:
        """Returns a reference into a file."""
        return BlobAttr(Blob(str(path), offset, size, _source(str(path))))

    @staticmethod
    def in_memory(
        hint: str,
        size: int,
        read: Callable[[], memoryview],
        computes: bool = False,
        write: Callable[[memoryview], None] | None = None,
    ) -> BlobAttr:
        """
        Returns a reference to `size` bytes that `read` yields, under a fresh name made from `hint`.
        With `computes`, each access is work and returns fresh memory; `write` writes the bytes into
        given memory instead.
        """
        path = f"{MEMORY}{hint}#{next(_counter)}"
        source = _sources[path] = Source(read, computes, write)
        return BlobAttr(Blob(path, 0, size, source))

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> Blob:
        with parser.in_angle_brackets():
            path = _parse_path(parser)
            parser.parse_punctuation(",")
            offset = parser.parse_integer(allow_negative=False)
            parser.parse_punctuation(",")
            size = parser.parse_integer(allow_negative=False)
        return Blob(path, offset, size, _source(path))

    def print_parameter(self, printer: Printer) -> None:
        with printer.in_angle_brackets():
            printer.print_bytes_literal(self.data.path.encode("utf-8", "surrogateescape"))
            printer.print_string(f", {self.data.offset}, {self.data.size}")


def _parse_path(parser: AttrParser) -> str:
    # the lexer takes a literal with escapes beyond ASCII for bytes
    raw = parser.parse_optional_bytes_literal()
    if raw is None:
        return parser.parse_str_literal(" for the path of the blob")
    return raw.decode("utf-8", "surrogateescape")
