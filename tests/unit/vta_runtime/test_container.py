"""Programs in files, what they must consist of, and how arrays are stored in DRAM."""

from __future__ import annotations

import json
import struct
import zlib
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from glow.errors import CompileError, ModelError
from glow.glow_dialects.vta.config import VtaConfig
from glow.runtime.vta.container import read_program, write_program
from glow.runtime.vta.magic import is_container
from glow.runtime.vta.program import LayerRange, Region, RegionRole, VtaProgram
from glow.tests.support import vta_assembler as asm
from hypothesis import given
from hypothesis import strategies as st

I8, I32 = np.dtype("i1"), np.dtype("<i4")
HEADER = 40


def example(rng: np.random.Generator) -> VtaProgram:
    config = VtaConfig(2, 8, 4, inp_depth=64, uop_depth=32)
    words = rng.integers(0, 2**64, (7, 2), np.uint64)
    weights = rng.integers(-128, 127, 333, np.int8).view(np.uint8)
    regions = (
        Region("x", RegionRole.INPUT, 0x1000, 4096, None, I8, (3, 5, 7, 2), (2, 8, 1, 1)),
        Region("w", RegionRole.CONSTANT, 0, 333, weights),
        asm.region("u", RegionRole.MICRO_OPS, 0x4000, rng.integers(0, 2**32, 9, np.uint32)),
        Region("i", RegionRole.INSTRUCTIONS, 0x5000, 112),
        Region("s", RegionRole.SCRATCH, 0x6000, 10),
        Region("ö", RegionRole.OUTPUT, 0x7000, 400, None, I32, (10, 10)),
    )
    return VtaProgram(config, words, regions, (LayerRange("a", 0, 3), LayerRange("b", 4, 6)))


@given(st.integers(0, 2**63))
def test_round_trip(tmp_path_factory: pytest.TempPathFactory, seed: int) -> None:
    program = example(np.random.default_rng(seed))
    path = tmp_path_factory.mktemp("program") / "p.vta"
    write_program(path, program)
    found = read_program(path)
    assert found.config == program.config
    assert found.layers == program.layers
    np.testing.assert_array_equal(found.instructions, program.instructions)
    np.testing.assert_array_equal(found.micro_ops, program.micro_ops)
    assert found.micro_ops.size == 9
    for a, b in zip(found.regions, program.regions, strict=True):
        assert replace(a, contents=None) == replace(b, contents=None)
        assert (a.contents is None) == (b.contents is None)
        if a.contents is not None:
            assert bytes(a.contents) == bytes(b.contents)  # pyright: ignore[reportArgumentType]


@pytest.fixture
def saved(tmp_path: Path, rng: np.random.Generator) -> Path:
    path = tmp_path / "p.vta"
    write_program(path, example(rng))
    return path


def test_every_damaged_byte_is_found(saved: Path) -> None:
    data = bytearray(saved.read_bytes())
    (text_bytes,) = struct.unpack_from("<I", data, 12)
    gap = range(HEADER + text_bytes, -(-(HEADER + text_bytes) // 64) * 64)
    for place in range(0, len(data), 3):
        if place in gap:
            continue
        data[place] ^= 0x41
        saved.write_bytes(data)
        with pytest.raises(ModelError, match=r"p\.vta: "):
            read_program(saved)
        data[place] ^= 0x41


def test_every_shorter_file_is_refused(saved: Path) -> None:
    data = saved.read_bytes()
    for size in [*range(0, HEADER + 2), *range(HEADER, len(data), 37)]:
        saved.write_bytes(data[:size])
        with pytest.raises(ModelError, match=r"not a VTA program|cut off"):
            read_program(saved)
    saved.write_bytes(data + b"\0")
    with pytest.raises(ModelError, match="cut off or damaged"):
        read_program(saved)


def test_other_versions_are_refused(saved: Path) -> None:
    data = bytearray(saved.read_bytes())
    data[8] = 2
    saved.write_bytes(data)
    with pytest.raises(ModelError, match="version 2 of VTA programs"):
        read_program(saved)


def rewrite(path: Path, change: object, *keys: object) -> None:
    """Changes the description of a container, with checksums as they must be."""
    data = path.read_bytes()
    text_bytes, payload_bytes = struct.unpack_from("<IQ", data, 12)
    found = json.loads(data[HEADER : HEADER + text_bytes])
    payload = data[len(data) - payload_bytes :]
    target = found
    for key in keys[:-1]:
        target = target[key]
    target[keys[-1]] = change
    text = json.dumps(found).encode()
    header = struct.pack(
        "<8sIIQIIQ", b"GLOWVTA\0", 1, len(text), payload_bytes, zlib.crc32(text),
        zlib.crc32(payload), 0,
    )  # fmt: skip
    start = -(-(HEADER + len(text)) // 64) * 64
    path.write_bytes((header + text).ljust(start, b"\0") + payload)


@pytest.mark.parametrize(
    ("change", "keys", "what"),
    [
        ({"batch": 1, "colour": 2}, ("config",), "malformed .*colour"),
        (0, ("config", "batch"), "batch of a VTA to be at least 1"),
        (3, ("config", "inp_depth"), "inp_depth of a VTA to be a power of 2"),
        ("many", ("config", "batch"), "malformed"),
        ([0, 10**9], ("instructions",), "outside the payload"),
        ([-16, 16], ("instructions",), "outside the payload"),
        ([0, 24], ("instructions",), "24 bytes of instructions; each has 16"),
        ("banana", ("regions", 0, "kind"), "malformed .*banana"),
        ("int7", ("regions", 0, "dtype"), "malformed .*int7"),
        ("object", ("regions", 0, "dtype"), "dtype object, which is not of numbers"),
        (None, ("regions", 0, "dtype"), "'x'.* needs a dtype"),
        ("x", ("regions", 1, "name"), "two regions of DRAM are called 'x'"),
        (None, ("regions", 1, "contents"), "'w' of DRAM, constant, needs contents"),
        ([0, 5], ("regions", 1, "contents"), "'w' of DRAM has 333 bytes, its contents"),
        ([0, 10], ("regions", 4, "contents"), "'s' of DRAM, scratch, cannot have contents"),
        (0x1001, ("regions", 2, "address"), "regions 'x' and 'u' of DRAM overlap"),
        (-4, ("regions", 1, "address"), "'w' of DRAM has the address -4"),
        (100, ("regions", 0, "size"), "'x' of DRAM has 100 bytes, but its array takes 448"),
        ([3, 5], ("regions", 0, "tile"), r"shape \(3, 5, 7, 2\) and tiles \(3, 5\)"),
        ([3, 5, 0, 2], ("regions", 0, "tile"), "and tiles"),
        ([["a", 3, 7]], ("layers",), "layer 'a' has instructions 3 to 7"),
        ([["a", 3]], ("layers",), "malformed"),
        (5, ("layers",), "malformed"),
        ([], ("regions", 0), "malformed"),
    ],
)
def test_impossible_descriptions(
    saved: Path, change: object, keys: tuple[object, ...], what: str
) -> None:
    rewrite(saved, change, *keys)
    with pytest.raises(ModelError, match=rf"p\.vta: .*{what}") as error:
        read_program(saved)
    assert "\n" not in str(error.value)


def test_missing_files_are_errors_of_the_system(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        read_program(tmp_path / "none.vta")


def test_containers_are_recognised(saved: Path, tmp_path: Path) -> None:
    other = tmp_path / "without_suffix"
    other.write_bytes(saved.read_bytes())
    text = tmp_path / "a.mlir"
    text.write_text("builtin.module {}")
    assert is_container(saved)
    assert is_container(other)
    assert not is_container(text)
    assert not is_container(tmp_path)


def test_instructions_are_pairs_of_words() -> None:
    with pytest.raises(CompileError, match=r"uint64\[N, 2\], not int64\(3, 2\)"):
        VtaProgram(VtaConfig(), np.zeros((3, 2), np.int64), ())


def test_layout_of_blocked_channels(rng: np.random.Generator) -> None:
    """N, C, H, W is stored as N, C/16, H, W, 1, 16, with channels padded with zeros."""
    x = rng.integers(-128, 128, (2, 21, 3, 5), np.int8)
    region = Region("x", RegionRole.INPUT, 0, 10**4, None, I8, x.shape, (1, 16, 1, 1))
    wanted = np.zeros((2, 2, 3, 5, 1, 16), np.int8)
    for n, c, h, w in np.ndindex(*x.shape):
        wanted[n, c // 16, h, w, 0, c % 16] = x[n, c, h, w]
    assert region.stored_bytes == wanted.size
    np.testing.assert_array_equal(region.pack(x).view(np.int8), wanted.reshape(-1))


def test_layout_of_weights(rng: np.random.Generator) -> None:
    """O, I, H, W is stored as O/16, I/16, H, W, 16, 16."""
    x = rng.integers(-128, 128, (17, 5, 3, 1), np.int8)
    region = Region("w", RegionRole.INPUT, 0, 10**4, None, I8, x.shape, (16, 16, 1, 1))
    wanted = np.zeros((2, 1, 3, 1, 16, 16), np.int8)
    for o, i, h, w in np.ndindex(*x.shape):
        wanted[o // 16, i // 16, h, w, o % 16, i % 16] = x[o, i, h, w]
    np.testing.assert_array_equal(region.pack(x).view(np.int8), wanted.reshape(-1))


@given(st.data())
def test_unpack_is_the_inverse_of_pack(data: st.DataObject) -> None:
    shape = tuple(data.draw(st.lists(st.integers(0, 7), max_size=4)))
    tile = tuple(data.draw(st.lists(st.integers(1, 5), min_size=len(shape), max_size=len(shape))))
    dtype = np.dtype(data.draw(st.sampled_from(["i1", "u1", "<i4", "<f4"])))
    region = Region("r", RegionRole.OUTPUT, 0, 10**9, None, dtype, shape, tile)
    rng = np.random.default_rng(data.draw(st.integers(0, 2**63)))
    array = rng.integers(0, 100, shape).astype(dtype)
    stored = region.pack(array)
    assert stored.size == region.stored_bytes
    found = region.unpack(np.append(stored, np.uint8(7)))
    assert found.dtype == dtype
    np.testing.assert_array_equal(found, array)
