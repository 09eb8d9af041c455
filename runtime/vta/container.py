"""
Files of VTA programs.

A file is a header of 40 bytes, a description in JSON, and the payload. All numbers are little
endian:

| bytes | field |
|---|---|
| 0-7 | magic number `GLOWVTA` and a zero |
| 8-11 | version, 1 |
| 12-15 | bytes of the description |
| 16-23 | bytes of the payload |
| 24-27 | CRC-32 of the description |
| 28-31 | CRC-32 of the payload |
| 32-39 | zero |

The payload begins at the next multiple of 64 bytes behind the description. In the description,
`config` holds the fields of `VtaConfig` (sizes always; design, queues and base address if they
are not the default's); `regions` the fields of `Region`, where `contents` is the
range [offset, bytes] of the payload or null; `instructions` the range of the instructions, 16 bytes
each; and `layers` lists [name, first, last].
"""

from __future__ import annotations

import json
import struct
import zlib
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path

import numpy as np

from ...errors import GlowError, ModelError
from ...glow_dialects.vta.config import VtaConfig, changed
from ...wording import counted
from .magic import MAGIC
from .program import LayerRange, Region, RegionRole, VtaProgram

VERSION = 1
_HEADER = struct.Struct("<8sIIQIIQ")
_ALIGNMENT = 64
_OPTIONAL = ("design", "queue_length", "base_address")


def write_program(path: str | Path, program: VtaProgram) -> None:
    """Writes a container. Raises OSError."""
    Path(path).write_bytes(container_bytes(program))


def container_bytes(program: VtaProgram) -> bytes:
    """Returns the bytes of a container."""
    payload = bytearray()
    description = {
        "config": _machine(program.config),
        "regions": [_encoded(region, payload) for region in program.regions],
        "instructions": _append(payload, program.instructions.astype("<u8").tobytes()),
        "layers": [list(layer) for layer in program.layers],
    }
    text = json.dumps(description).encode()
    header = _HEADER.pack(
        MAGIC, VERSION, len(text), len(payload), zlib.crc32(text), zlib.crc32(payload), 0
    )
    start = _aligned(len(header) + len(text))
    return b"".join([(header + text).ljust(start, b"\0"), payload])


def _machine(config: VtaConfig) -> dict[str, int | str]:
    given = changed(config)
    return {n: v for n, v in asdict(config).items() if n not in _OPTIONAL or n in given}


def read_program(path: str | Path) -> VtaProgram:
    """
    Reads a container. Raises OSError, and ModelError if the file is no container, of
    another version, damaged, or describes no possible program.
    """
    return parse_program(Path(path).read_bytes(), path)


def parse_program(data: bytes, path: str | Path) -> VtaProgram:
    """
    Returns the program in the bytes of a container; `path` is for messages. Raises ModelError.
    """
    text, payload = _parts(data, path)
    try:
        found = json.loads(text)
        program = _decoded(found, np.frombuffer(payload, np.uint8))
    except GlowError as e:
        raise ModelError(f"{path}: {e}") from None
    except (ValueError, TypeError, KeyError, AttributeError, OverflowError) as e:
        what = f"{type(e).__name__}: {e}"
        raise ModelError(f"{path}: the description of the program is malformed ({what})") from None
    return program


def _parts(data: bytes, path: str | Path) -> tuple[bytes, bytes]:
    if len(data) < _HEADER.size or not data.startswith(MAGIC):
        raise ModelError(f"{path}: this is not a VTA program")
    _, version, text_bytes, payload_bytes, text_crc, payload_crc, zero = _HEADER.unpack_from(data)
    if version != VERSION:
        raise ModelError(f"{path}: version {version} of VTA programs; only {VERSION} is known")
    start = _aligned(_HEADER.size + text_bytes)
    if len(data) != start + payload_bytes or zero:
        raise ModelError(
            f"{path}: the VTA program is cut off or damaged: expected {start + payload_bytes} "
            f"bytes, found {len(data)}"
        )
    text = data[_HEADER.size : _HEADER.size + text_bytes]
    payload = data[start:]
    if zlib.crc32(text) != text_crc or zlib.crc32(payload) != payload_crc:
        raise ModelError(f"{path}: the VTA program is damaged: its checksum is wrong")
    return text, payload


def _aligned(size: int) -> int:
    return -(-size // _ALIGNMENT) * _ALIGNMENT


def _append(payload: bytearray, contents: bytes) -> list[int]:
    payload.extend(b"\0" * (_aligned(len(payload)) - len(payload)))
    payload.extend(contents)
    return [len(payload) - len(contents), len(contents)]


def _encoded(region: Region, payload: bytearray) -> dict[str, object]:
    contents = region.contents
    return {
        "name": region.name,
        "kind": region.kind.value,
        "address": region.address,
        "size": region.size,
        "contents": None if contents is None else _append(payload, contents.tobytes()),
        "dtype": None if region.dtype is None else region.dtype.name,
        "shape": list(region.shape),
        "tile": list(region.tile),
    }


def _decoded(found: Mapping, payload: np.ndarray) -> VtaProgram:
    instructions = _range(found["instructions"], payload)
    if instructions.size % 16:
        raise ModelError(f"{counted(instructions.size, 'byte')} of instructions; each has 16")
    return VtaProgram(
        VtaConfig(**found["config"]),
        instructions.view("<u8").astype(np.uint64).reshape(-1, 2),
        tuple(_region(region, payload) for region in found["regions"]),
        tuple(LayerRange(str(n), int(first), int(last)) for n, first, last in found["layers"]),
    )


def _region(found: Mapping, payload: np.ndarray) -> Region:
    contents, dtype = found["contents"], found["dtype"]
    return Region(
        str(found["name"]),
        RegionRole(found["kind"]),
        int(found["address"]),
        int(found["size"]),
        None if contents is None else _range(contents, payload),
        None if dtype is None else np.dtype(str(dtype)).newbyteorder("<"),
        tuple(int(d) for d in found["shape"]),
        tuple(int(t) for t in found["tile"]),
    )


def _range(place: tuple[int, int], payload: np.ndarray) -> np.ndarray:
    offset, size = place
    if not 0 <= offset <= offset + size <= payload.size:
        raise ModelError(
            f"bytes {offset} to {offset + size} are outside the payload of {payload.size}"
        )
    return payload[offset : offset + size]
