"""References to constant bytes: reading, sharing, and what happens when the bytes are not there."""

from __future__ import annotations

import gc
from pathlib import Path

import pytest
from glow.context import make_context
from glow.glow_dialects.blob import BlobAttr, release_files
from hypothesis import given
from hypothesis import strategies as st
from xdsl.parser import Parser

CONTEXT = make_context()


@given(st.text(max_size=20), st.integers(0, 2**40), st.integers(0, 2**40))
def test_print_and_parse(path: str, offset: int, size: int):
    blob = BlobAttr.in_file(path, offset, size)
    assert Parser(CONTEXT, str(blob)).parse_attribute() == blob


@given(st.binary(max_size=64), st.integers(0, 80), st.integers(0, 80))
def test_read(tmp_path_factory: pytest.TempPathFactory, data: bytes, offset: int, size: int):
    file = tmp_path_factory.mktemp("blob") / "data.bin"
    file.write_bytes(data)
    blob = BlobAttr.in_file(file, offset, size).data
    if offset + size <= len(data):
        assert bytes(blob.read()) == data[offset : offset + size]
        return
    with pytest.raises(ValueError, match=f"has {len(data)} bytes?, but a constant needs {size}"):
        blob.read()


def test_one_map_for_all_references_to_a_file(tmp_path: Path):
    file = tmp_path / "data.bin"
    file.write_bytes(bytes(range(100)))
    first, second = BlobAttr.in_file(file, 0, 50), BlobAttr.in_file(file, 50, 50)
    assert first.data.source is second.data.source
    assert first.data.read().obj is second.data.read().obj


def test_absent_file(tmp_path: Path):
    with pytest.raises(FileNotFoundError):
        BlobAttr.in_file(tmp_path / "absent.bin", 0, 4).data.read()


def test_memory_is_found_again_by_name_while_it_lives():
    blob = BlobAttr.in_memory("w", 3, lambda: memoryview(b"abc"))
    again = Parser(CONTEXT, str(blob)).parse_attribute()
    assert isinstance(again, BlobAttr)
    assert bytes(again.data.read()) == b"abc"


def test_memory_that_is_gone_is_a_clear_error():
    text = str(BlobAttr.in_memory("w", 3, lambda: memoryview(b"abc")))
    gc.collect()
    gone = Parser(CONTEXT, text).parse_attribute()
    assert isinstance(gone, BlobAttr)
    with pytest.raises(ValueError, match="exist only in the process that made them; write the"):
        gone.data.read()


def test_names_in_memory_are_unique():
    blobs = {str(BlobAttr.in_memory("w", 1, lambda: memoryview(b"a"))) for _ in range(10)}
    assert len(blobs) == 10


def test_a_file_that_replaced_another_is_read_and_memory_is_given_back(tmp_path):
    path = tmp_path / "weights.bin"
    path.write_bytes(b"old!" * 2000)
    old = BlobAttr.in_file(path, 4, 4)
    assert bytes(old.data.read()) == b"old!"
    (tmp_path / "new.bin").write_bytes(b"new!" * 2000)
    (tmp_path / "new.bin").replace(path)
    new = BlobAttr.in_file(path, 4, 4)
    release_files()
    assert bytes(new.data.read()) == b"new!"
    assert bytes(old.data.read()) == b"old!"
    assert old == new


def test_a_file_that_changes_before_it_is_read(tmp_path: Path):
    path = tmp_path / "weights.bin"
    path.write_bytes(b"old!")
    old = BlobAttr.in_file(path, 0, 4)
    (tmp_path / "new.bin").write_bytes(b"new!")
    (tmp_path / "new.bin").replace(path)
    with pytest.raises(ValueError, match=r"weights\.bin has changed since it was first read"):
        old.data.read()
    assert bytes(BlobAttr.in_file(path, 0, 4).data.read()) == b"new!"


def test_a_file_that_changes_in_place(tmp_path: Path):
    path = tmp_path / "weights.bin"
    path.write_bytes(b"old!" * 2000)
    old = BlobAttr.in_file(path, 0, 4)
    assert bytes(old.data.read()) == b"old!"
    moved = path.rename(tmp_path / "moved.bin")
    assert bytes(old.data.read()) == b"old!"
    with moved.open("r+b") as file:
        file.truncate(10)
    with pytest.raises(ValueError, match="has changed"):
        old.data.read()
