"""
Writes the constants of modules into one safetensors file, and makes the modules refer to it.

The format: 8 bytes with the length of the header (little endian), a JSON header that gives for each
tensor its dtype, shape and byte range, and the bytes. See
https://huggingface.co/docs/safetensors/index#format. Bytes are written one constant at a time, so
memory use does not grow with the model.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

from xdsl.dialects.builtin import DenseIntOrFPElementsAttr, MemRefType, ModuleOp, TensorType, i8
from xdsl.ir import Attribute, Operation

from ..errors import GlowError
from ..glow_dialects.blob import BlobAttr
from ..glow_dialects.elements import storage_type

INLINE = 16
"""Inline constants with at most this many elements stay inline."""

DTYPES = {
    "f64": ("F64", 8),
    "i64": ("I64", 8),
    "ui64": ("U64", 8),
    "f32": ("F32", 4),
    "i32": ("I32", 4),
    "ui32": ("U32", 4),
    "f16": ("F16", 2),
    "bf16": ("BF16", 2),
    "i16": ("I16", 2),
    "ui16": ("U16", 2),
    "i8": ("I8", 1),
    "ui8": ("U8", 1),
    "i4": ("I8", 1),
    "ui4": ("U8", 1),
    "i1": ("BOOL", 1),
}
"""The name in the file, and the size in bytes, of each element type. 4 bits take a byte."""

_HOLDERS = ("glow.constant", "glow_inst.weight", "vta.region")
"""Operations with constants, as their property `value`."""


@dataclass
class _Entry:
    """A tensor of the file, with the operations that use it."""

    name: str
    dtype: str
    itemsize: int
    shape: list[int]
    value: Attribute
    users: list[Operation]
    size: int


def write_weights(modules: Sequence[ModuleOp], path: str | Path) -> None:
    """
    Writes every constant that is a reference, or inline with more than 16 elements, to `path`.

    The constants of `modules` become references into `path`, as it is given. Equal constants are
    written once, also those of several modules. The file appears only when it is complete.

    Raises GlowError if bytes that a constant refers to cannot be read, and OSError if `path` cannot
    be written.
    """
    # large elements first, so that each tensor is aligned to its element size
    entries = sorted(_entries(modules), key=lambda e: -e.itemsize)
    header: dict[str, object] = {}
    offset = 0
    for entry in entries:
        end = offset + entry.size
        header[entry.name] = {
            "dtype": entry.dtype,
            "shape": entry.shape,
            "data_offsets": [offset, end],
        }
        offset = end
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 64 + 56)  # the data starts at a multiple of 64 bytes
    _write_file(Path(path), text, entries)
    start = 8 + len(text)
    for entry in entries:
        reference = BlobAttr.in_file(path, start, entry.size)
        for user in entry.users:
            user.properties["value"] = reference
        start += entry.size


def _write_file(path: Path, header: bytes, entries: list[_Entry]) -> None:
    partial = path.with_name(f"{path.name}.{os.getpid()}.partial")
    try:
        file = partial.open("wb")
    except OSError as e:
        raise OSError(e.errno, e.strerror, str(path)) from None
    try:
        with file as f:
            f.write(len(header).to_bytes(8, "little"))
            f.write(header)
            for entry in entries:
                f.write(_read(entry))
        # the module may refer to the file that is replaced; its old contents stay mapped
        partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)


def _read(entry: _Entry) -> memoryview | bytes:
    if isinstance(entry.value, DenseIntOrFPElementsAttr):
        return entry.value.data.data
    assert isinstance(entry.value, BlobAttr)
    try:
        return entry.value.data.read()
    except OSError as e:
        raise GlowError(f"cannot read the weights in {e.filename}: {e.strerror}") from None
    except ValueError as e:
        raise GlowError(f"cannot read the weights: {e}") from None


def has_constants(module: ModuleOp) -> bool:
    """Returns whether there is anything that `write_weights` might write."""
    return any(True for _ in _constants(module))


def _constants(module: ModuleOp) -> Iterator[tuple[Operation, Attribute, TensorType | MemRefType]]:
    """Yields all constants with their types; regions of VTA programs are bytes."""
    for op in module.walk():
        value = op.properties.get("value")
        if op.name not in _HOLDERS or value is None:
            continue
        held = op.results[0].type
        if not isinstance(held, TensorType | MemRefType):
            held = TensorType(i8, [op.properties["size"].value.data])  # pyright: ignore
        yield op, value, held


def _entries(modules: Sequence[ModuleOp]) -> list[_Entry]:
    entries: dict[tuple[Attribute, str], _Entry] = {}
    names: set[str] = set()
    for op, value, result_type in chain.from_iterable(map(_constants, modules)):
        if isinstance(value, DenseIntOrFPElementsAttr):
            size = len(value.data.data)
            if len(value) <= INLINE:
                continue
        else:
            assert isinstance(value, BlobAttr)
            size = value.data.size
        dtype, itemsize = DTYPES[str(storage_type(result_type.element_type))]
        if (value, dtype) in entries:
            entries[value, dtype].users.append(op)
            continue
        name = _fresh(op.results[0].name_hint or "constant", names)
        shape = list(result_type.get_shape())
        entries[value, dtype] = _Entry(name, dtype, itemsize, shape, value, [op], size)
    return list(entries.values())


def _fresh(hint: str, taken: set[str]) -> str:
    name, n = hint, 0
    while name in taken:
        n += 1
        name = f"{hint}_{n}"
    taken.add(name)
    return name
