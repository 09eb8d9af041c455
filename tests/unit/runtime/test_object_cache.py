"""The cache of object code: damage, two writers, bounds, and directories that do not work."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
import warnings
from pathlib import Path

import glow
import pytest
from glow.errors import GlowError
from glow.runtime import object_cache
from glow.runtime.object_cache import ObjectCache, key_of, open_cache
from glow.tests.support.small_models import small_network


def test_keys_depend_on_every_part_and_on_where_parts_end():
    keys = {key_of("ab", "c"), key_of("a", "bc"), key_of("abc"), key_of("ab", "c", "")}
    assert len(keys) == 4
    assert key_of("ab", "c") == key_of("ab", "c")


def test_returns_what_was_stored(tmp_path: Path):
    cache = ObjectCache(tmp_path / "made" / "on demand")
    assert cache.get("absent") is None
    cache.put("key", b"object code")
    assert cache.get("key") == b"object code"
    assert ObjectCache(cache.directory).get("key") == b"object code"
    cache.put("key", b"newer")
    assert cache.get("key") == b"newer"
    cache.put("empty", b"")
    assert cache.get("empty") == b""


@pytest.mark.parametrize(
    "damage",
    [
        lambda data: data[:-1],
        lambda data: data[:20],
        lambda data: b"",
        lambda data: data + b"x",
        lambda data: data[:-3] + bytes([data[-3] ^ 1]) + data[-2:],
        lambda data: b"notmagic" + data[8:],
    ],
    ids=["truncated", "header-only", "empty", "longer", "flipped-bit", "magic"],
)
def test_damaged_entries_count_as_absent_and_are_rewritten(tmp_path: Path, damage):
    cache = ObjectCache(tmp_path)
    cache.put("key", b"object code")
    path = cache.path("key")
    path.write_bytes(damage(path.read_bytes()))
    assert cache.get("key") is None
    cache.put("key", b"object code")
    assert cache.get("key") == b"object code"


def test_an_entry_in_the_place_of_another_counts_as_absent(tmp_path: Path):
    cache = ObjectCache(tmp_path)
    cache.put("key", b"object code")
    cache.path("other").write_bytes(cache.path("key").read_bytes())
    assert cache.get("other") is None
    assert cache.get("key") == b"object code"


def test_size_is_bounded_and_the_least_recently_used_go_first(tmp_path: Path):
    cache = ObjectCache(tmp_path, limit=10_000)
    payload = bytes(960)  # 1,000 bytes with the header
    old, new = [key_of("old", str(i)) for i in range(9)], [key_of("new", str(i)) for i in range(3)]
    for i, key in enumerate(old):
        cache.put(key, payload)
        os.utime(cache.path(key), (1_000_000 + i, 1_000_000 + i))
    assert cache.get(old[0]) == payload  # renews it
    for key in new:
        cache.put(key, payload)
    assert sum(p.stat().st_size for p in tmp_path.iterdir()) <= cache.limit
    assert cache.get(old[0]) == payload
    assert cache.get(old[1]) is None
    assert cache.get(new[2]) == payload


def test_bound_counts_what_earlier_processes_left(tmp_path: Path):
    for i in range(20):
        ObjectCache(tmp_path, limit=5_000).put(key_of(str(i)), bytes(960))
    assert sum(p.stat().st_size for p in tmp_path.iterdir()) <= 5_000


def test_files_of_others_are_never_deleted(tmp_path: Path):
    (tmp_path / "main.o").write_bytes(bytes(960))
    os.utime(tmp_path / "main.o", (1, 1))
    for i in range(9):
        ObjectCache(tmp_path, limit=5_000).put(key_of(str(i)), bytes(960))
    assert (tmp_path / "main.o").exists()


def test_entry_larger_than_the_limit_is_not_stored(tmp_path: Path):
    cache = ObjectCache(tmp_path, limit=100)
    cache.put("key", bytes(101))
    assert cache.get("key") is None
    assert not list(tmp_path.iterdir())


def test_leftovers_of_crashed_writers_are_removed_when_old(tmp_path: Path):
    old, young = tmp_path / ".tmp-old", tmp_path / ".tmp-young"
    for path in (old, young):
        path.write_bytes(b"half")
    os.utime(old, (1_000_000, 1_000_000))
    ObjectCache(tmp_path).put("key", b"x")
    assert not old.exists()
    assert young.exists()


_WRITER = """
import sys
from glow.runtime.object_cache import ObjectCache
cache = ObjectCache(sys.argv[1], limit=40_000)
for i in range(400):
    key = f"k{i % 20}"
    found = cache.get(key)
    assert found is None or found == key.encode() * 500, (key, len(found))
    cache.put(key, key.encode() * 500)
"""


def test_two_processes_write_the_same_entries_at_once(tmp_path: Path):
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", _WRITER, str(tmp_path)], stderr=subprocess.PIPE, text=True
        )
        for _ in range(2)
    ]
    for process in processes:
        _, errors = process.communicate(timeout=60)
        assert process.returncode == 0, errors
        assert "Warning" not in errors
    cache = ObjectCache(tmp_path)
    assert cache.get("k19") == b"k19" * 500
    assert not list(tmp_path.glob(".tmp-*"))


def _fails_with(code: int):
    def fail(*_args, **_kwargs):
        raise OSError(code, os.strerror(code))

    return fail


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EROFS, errno.EACCES])
def test_full_or_read_only_directory_warns_once(tmp_path: Path, monkeypatch, code: int):
    monkeypatch.setattr(object_cache.tempfile, "mkstemp", _fails_with(code))
    cache = ObjectCache(tmp_path)
    with pytest.warns(RuntimeWarning, match="compiling without it"):
        cache.put("key", b"x")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        cache.put("key", b"x")
        assert cache.get("key") is None


def test_disk_that_fills_while_writing_leaves_nothing(tmp_path: Path, monkeypatch):
    monkeypatch.setattr(object_cache.os, "replace", _fails_with(errno.ENOSPC))
    with pytest.warns(RuntimeWarning, match="No space left"):
        ObjectCache(tmp_path).put("key", b"x")
    assert not list(tmp_path.iterdir())


def test_path_that_is_a_file_warns_once(tmp_path: Path):
    file = tmp_path / "file"
    file.write_text("not a directory")
    with pytest.warns(RuntimeWarning, match="cannot read"):
        assert ObjectCache(file).get("key") is None
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        cache = ObjectCache(file)
        cache.put("key", b"x")
        assert cache.get("key") is None
        assert not cache.put_weights("key", memoryview(b"x"))
        assert cache.map_weights("key", 1) is None


def test_directory_out_of_reach_warns_and_nothing_is_looked_up_in_it(monkeypatch):
    monkeypatch.setattr(object_cache, "_warned", set())
    with pytest.warns(RuntimeWarning, match="File name too long"):
        model = glow.compile(small_network(1), symbols={"batch": 1}, cache="x" * 5000)
    assert not model.from_cache
    with pytest.raises(GlowError, match="expected cache to be True, False or a directory, found"):
        glow.compile(small_network(1), cache="")


def test_entries_of_a_read_only_directory_are_used(tmp_path: Path, monkeypatch):
    ObjectCache(tmp_path).put("key", b"x")
    monkeypatch.setattr(object_cache.os, "utime", _fails_with(errno.EROFS))
    assert ObjectCache(tmp_path).get("key") == b"x"


def test_options(monkeypatch, tmp_path: Path):
    monkeypatch.setenv("GLOW_CACHE_DIR", str(tmp_path))
    monkeypatch.setenv("GLOW_CACHE_SIZE", "12345")
    default = open_cache(True)
    assert default is not None
    assert (default.directory, default.limit) == (tmp_path, 12345)
    assert open_cache(False) is None
    chosen = open_cache(str(tmp_path / "chosen"))
    assert chosen is not None
    assert chosen.directory == tmp_path / "chosen"
    assert open_cache(chosen) is chosen
