"""Segments are checked when their file may have changed, and only then."""

from __future__ import annotations

import os
import time
from pathlib import Path

import numpy as np
import pytest
from glow.runtime import segment_file
from glow.runtime.file_identity import identity, wait_until_older
from glow.runtime.object_cache import ObjectCache, key_of
from glow.runtime.segment_file import PAGE
from glow.tests.support.files import flip_bit, settled

SIZE = 3 * PAGE + 17


@pytest.fixture
def checks(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Returns the sizes of the segments whose CRC is computed."""
    sizes: list[int] = []
    crc32 = segment_file.zlib.crc32

    def counted(data: bytes | memoryview) -> int:
        if len(data) == SIZE:
            sizes.append(len(data))
        return crc32(data)

    monkeypatch.setattr(segment_file.zlib, "crc32", counted)
    return sizes


class Stored:
    """A segment of random bytes in a cache."""

    def __init__(self, cache: ObjectCache, data: bytes):
        self.cache, self.data = cache, data
        self.path = cache.directory / "key.weights"
        self.record = cache.directory / "key.checked"
        self.write()

    def write(self) -> None:
        assert self.cache.put_weights("key", memoryview(self.data))

    def is_found(self) -> bool:
        mapped = self.cache.map_weights("key", SIZE)
        assert mapped is None or mapped[PAGE:] == self.data
        return mapped is not None


@pytest.fixture
def stored(tmp_path: Path, rng: np.random.Generator, checks: list[int]) -> Stored:
    found = Stored(ObjectCache(tmp_path), rng.bytes(SIZE))
    settled(found.path)
    checks.clear()
    return found


def test_a_file_that_did_not_change_is_checked_once(stored: Stored, checks: list[int]) -> None:
    for _ in range(3):
        assert stored.is_found()
    assert len(checks) == 1


@pytest.mark.parametrize("checked", [False, True])
def test_a_changed_bit_is_found(checked: bool, stored: Stored) -> None:
    if checked:
        assert stored.is_found()
    flip_bit(stored.path, PAGE + SIZE - 1)
    for _ in range(2):
        assert not stored.is_found()
    stored.write()
    assert stored.is_found()


def test_a_young_file_is_checked_each_time(
    stored: Stored, checks: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A change right after the check may leave the same times."""
    now = stored.path.stat().st_ctime_ns + 1_000_000
    monkeypatch.setattr(time, "time_ns", lambda: now)
    for _ in range(2):
        assert stored.is_found()
    assert len(checks) == 2
    assert not stored.record.exists()


def test_files_that_a_program_touched_are_checked(stored: Stored, checks: list[int]) -> None:
    assert stored.is_found()
    status = stored.path.stat()
    os.utime(stored.path, ns=(status.st_atime_ns, status.st_mtime_ns))
    settled(stored.path)
    for _ in range(2):
        assert stored.is_found()
    assert len(checks) == 2
    copy = stored.path.with_suffix(".copy")
    copy.write_bytes(stored.path.read_bytes())
    copy.replace(stored.path)
    assert stored.is_found()
    assert len(checks) == 3


def test_large_segments_are_known_when_they_are_written(
    stored: Stored, checks: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(segment_file, "_LARGE_BYTES", SIZE)
    stored.write()
    checks.clear()
    assert stored.is_found()
    assert not checks
    flip_bit(stored.path, PAGE)
    assert not stored.is_found()


def test_after_a_reboot_or_on_request(
    stored: Stored, checks: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert stored.is_found()
    monkeypatch.setattr(segment_file, "_boot", lambda: "another boot")
    for _ in range(2):
        assert stored.is_found()
    assert len(checks) == 2
    monkeypatch.setenv("GLOW_VERIFY", "1")
    for _ in range(2):
        assert stored.is_found()
    assert len(checks) == 4


def test_a_damaged_record_makes_a_check(stored: Stored, checks: list[int]) -> None:
    assert stored.is_found()
    whole = stored.record.read_bytes()
    for i, damaged in enumerate((b"", whole[:-1], whole + b"0", b"x" + whole[1:])):
        stored.record.write_bytes(damaged)
        assert stored.is_found()
        assert len(checks) == 2 + i
        assert stored.record.read_bytes() == whole


def test_without_a_place_for_the_record(
    stored: Stored, checks: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    stored.record.mkdir()  # nothing can be written there
    for _ in range(2):
        assert stored.is_found()
    assert len(checks) == 2


def test_use_counts_and_the_record_goes_with_the_segment(tmp_path: Path) -> None:
    cache = ObjectCache(tmp_path, limit=60_000)
    keys = [key_of(str(i)) for i in range(4)]
    for i, key in enumerate(keys):
        assert cache.put_weights(key, memoryview(bytes(9_000)))
        settled(tmp_path / f"{key}.weights")
        assert cache.map_weights(key, 9_000) is not None
        os.utime(tmp_path / f"{key}.checked", ns=(i, i))
        os.utime(tmp_path / f"{key}.weights", ns=(i, i))
        cache.map_weights(key, 9_000)
        os.utime(tmp_path / f"{key}.checked", ns=(i, i))
    assert cache.map_weights(keys[0], 9_000) is not None  # renews it
    new = key_of("new")
    assert cache.put_weights(new, memoryview(bytes(9_000)))
    left = {path.name for path in tmp_path.iterdir()}
    assert left >= {f"{keys[0]}.weights", f"{keys[0]}.checked", f"{new}.weights"}
    assert not left & {f"{keys[1]}.weights", f"{keys[1]}.checked"}


def test_times_that_are_coarse_or_ahead_are_not_waited_for() -> None:
    now = time.time_ns()
    coarse, ahead = now // 10**9 * 10**9, now + 10**9 + 1
    for moment in (coarse, ahead):
        assert not wait_until_older((1, 1, 1, moment, moment))
    assert time.time_ns() - now < 10**9


def test_waiting_for_the_clock(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"before")
    status = identity(path)
    if status[-1] % 1_000_000 == 0:
        pytest.skip("the file system has coarse times")
    assert wait_until_older(status)
    path.write_bytes(b"behind")
    assert identity(path) != status
