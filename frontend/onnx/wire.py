"""
Cuts the weights out of an ONNX file without parsing them.

An ONNX file is a protobuf message. Parsing it with the protobuf library copies every weight into
memory. This module walks the wire format instead (https://protobuf.dev/programming-guides/encoding),
only as deep as tensors can occur, and returns a small message from which the data of each tensor is
gone. In its place the tensor has an `external_data` entry that says where in the original bytes the
data are, so that they can be mapped and used where they lie.

Field numbers are those of onnx.proto, which never change.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from onnx import AttributeProto, StringStringEntryProto, TensorProto

MARKER = "glow.payload"
"""Key of the `external_data` entry; its value is `offset,size` in the original bytes."""

THRESHOLD = 64
"""Tensors with fewer bytes of data stay in the message: a reference would not be smaller."""

_MAX_DEPTH = 64
_LENGTH_DELIMITED = 2

_GRAPH, _NODE, _ATTRIBUTE, _FUNCTION, _MODEL, _TENSOR = range(6)
_CHILDREN: dict[int, dict[int, int]] = {
    _MODEL: {7: _GRAPH, 25: _FUNCTION},
    _GRAPH: {1: _NODE, 5: _TENSOR},
    _FUNCTION: {7: _NODE},
    _NODE: {5: _ATTRIBUTE},
    _ATTRIBUTE: {5: _TENSOR, 6: _GRAPH, 10: _TENSOR, 11: _GRAPH},
}

_DATA_TYPE, _RAW_DATA, _EXTERNAL_DATA = 2, 9, 13
_PACKED = {TensorProto.FLOAT: 4, TensorProto.DOUBLE: 10}
"""Packed `float_data` and `double_data` are the bytes of the array, little-endian, as raw data."""
_TYPE_TAG = b"\xa0\x01"
"""The tag of the type of an attribute, which writers put last."""
_WITHOUT_TENSORS = frozenset(
    getattr(AttributeProto, name)
    for name in ("FLOAT", "INT", "STRING", "FLOATS", "INTS", "STRINGS")
)


class WireError(ValueError):
    """The bytes are not a protobuf message."""


@dataclass(frozen=True)
class Field:
    """One field of a message: the tag begins at `tag`, the value is the bytes `start` to `end`."""

    number: int
    wire_type: int
    tag: int
    start: int
    end: int


def _varint(data: memoryview, at: int, end: int) -> tuple[int, int]:
    """Returns the variable-length integer at `at`, and the position after it."""
    value = shift = 0
    while at < end and shift < 64:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at
        shift += 7
    raise WireError(f"a number at byte {at} does not end")


def _value_end(data: memoryview, wire_type: int, at: int, end: int) -> tuple[int, int]:
    """Returns the beginning and the end of the value of a field of this wire type."""
    match wire_type:
        case 0:
            return at, _varint(data, at, end)[1]
        case 1:
            return at, at + 8
        case 2:
            length, start = _varint(data, at, end)
            return start, start + length
        case 5:
            return at, at + 4
        case _:
            raise WireError(f"wire type {wire_type} at byte {at} does not exist")


def fields(data: memoryview, start: int, end: int) -> Iterator[Field]:
    """
    Yields the fields of the message in `data[start:end]`. Raises WireError if it is malformed.
    """
    at = start
    while at < end:
        key, value = _varint(data, at, end)
        first, last = _value_end(data, key & 7, value, end)
        if last > end:
            raise WireError(
                f"a field at byte {at} reaches to byte {last}, the message ends at {end}"
            )
        yield Field(key >> 3, key & 7, at, first, last)
        at = last


def _encode(value: int) -> bytes:
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def _delimited(number: int, payload: bytes) -> bytes:
    return _encode(number << 3 | _LENGTH_DELIMITED) + _encode(len(payload)) + payload


def _marker(field: Field) -> bytes:
    entry = StringStringEntryProto(key=MARKER, value=f"{field.start},{field.end - field.start}")
    return _delimited(_EXTERNAL_DATA, entry.SerializeToString())


def _payload_field(data: memoryview, parts: list[Field]) -> Field | None:
    """
    Returns the field of a tensor that holds its bytes as they lie in memory, if it is one and
    large.
    """
    types = [_varint(data, f.start, f.end)[0] for f in parts if f.number == _DATA_TYPE]
    packed = _PACKED.get(types[-1]) if types else None  # pyright: ignore
    found = [f for f in parts if f.number in (_RAW_DATA, packed)]
    if len(found) != 1 or found[0].wire_type != _LENGTH_DELIMITED:
        return None
    return found[0] if found[0].end - found[0].start >= THRESHOLD else None


def _strip_tensor(data: memoryview, start: int, end: int) -> bytes | None:
    payload = _payload_field(data, list(fields(data, start, end)))
    if payload is None:
        return None
    return bytes(data[start : payload.tag]) + _marker(payload) + bytes(data[payload.end : end])


def _is_list(data: memoryview, end: int) -> bool:
    """
    Returns whether an attribute seems to have no tensors. Its elements may be many, and are not
    looked at: where this is wrong, tensors stay in the message.
    """
    return bytes(data[end - 3 : end - 1]) == _TYPE_TAG and data[end - 1] in _WITHOUT_TENSORS


def _strip(data: memoryview, start: int, end: int, kind: int, depth: int = 0) -> bytes | None:
    """
    Returns the message without payloads; None if it has none, so that it can be copied as it is.
    """
    if kind == _TENSOR:
        return _strip_tensor(data, start, end)
    if kind == _ATTRIBUTE and _is_list(data, end):
        return None
    if depth > _MAX_DEPTH:
        raise WireError(f"messages nest deeper than {_MAX_DEPTH} levels")
    children = _CHILDREN[kind]
    chunks: list[bytes] = []
    copied = start
    for field in fields(data, start, end):
        child = children.get(field.number)
        large = field.end - field.start >= THRESHOLD
        if child is None or not large or field.wire_type != _LENGTH_DELIMITED:
            continue
        stripped = _strip(data, field.start, field.end, child, depth + 1)
        if stripped is not None:
            chunks += [bytes(data[copied : field.tag]), _delimited(field.number, stripped)]
            copied = field.end
    if not chunks:
        return None
    return b"".join([*chunks, bytes(data[copied:end])])


def strip_payloads(data: memoryview) -> bytes:
    """
    Returns a serialized `ModelProto` without the data of its tensors of at least THRESHOLD bytes.

    `payload_of` tells where in `data` the bytes of a tensor of the result are. Raises WireError if
    `data` is not a protobuf message.
    """
    stripped = _strip(data, 0, len(data), _MODEL)
    return bytes(data) if stripped is None else stripped


def payload_of(tensor: TensorProto) -> tuple[int, int] | None:
    """
    Returns the offset and the size of the data that were cut out of a tensor; None if nothing was.
    """
    for entry in tensor.external_data:
        if entry.key == MARKER:
            offset, _, size = entry.value.partition(",")
            return int(offset), int(size)
    return None
