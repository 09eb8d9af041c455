"""Code that another user can have put into the cache is not run; what is made is private."""

from __future__ import annotations

import os
import stat
import warnings
from pathlib import Path

import glow
import numpy as np
import pytest
from glow.runtime import private_files, segment_file
from glow.runtime.file_identity import identity
from glow.runtime.object_cache import ObjectCache
from glow.tests.support.small_models import small_network

SYMBOLS = {"batch": 1}
ANOTHER = 54321
"""The number of a user that the tests are not run by."""


def belongs_to_another(monkeypatch: pytest.MonkeyPatch, *paths: Path) -> None:
    """Lets files look as if they were those of another user, which only root could arrange."""
    files = {(s.st_dev, s.st_ino) for s in map(os.stat, paths)}
    expect = private_files._expect_private

    def pretend(path: Path, status: os.stat_result) -> None:
        if (status.st_dev, status.st_ino) in files:
            status = os.stat_result((*status[:4], ANOTHER, *status[5:]))
        expect(path, status)

    monkeypatch.setattr(private_files, "_expect_private", pretend)


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


@pytest.fixture
def open_umask():
    before = os.umask(0)
    yield
    os.umask(before)


@pytest.fixture
def model(rng: np.random.Generator) -> bytes:
    return small_network(1).SerializeToString()


@pytest.mark.usefixtures("open_umask")
def test_what_is_made_is_private(tmp_path: Path) -> None:
    cache = ObjectCache(tmp_path / "made" / "on demand")
    cache.put("key", b"code")
    assert cache.put_weights("key", memoryview(b"weights"))
    record = cache.directory / "key.checked"
    while not record.exists():
        assert cache.map_weights("key", 7) is not None
    assert mode(cache.directory) == mode(cache.directory.parent) == 0o700
    files = list(cache.directory.iterdir())
    assert len(files) == 3
    assert all(mode(file) == 0o600 for file in files)


@pytest.mark.parametrize("bits", [0o777, 0o770, 0o1777, 0o702])
def test_a_directory_that_others_may_write(bits: int, tmp_path: Path) -> None:
    directory = tmp_path / "cache"
    ObjectCache(directory).put("key", b"code")
    directory.chmod(bits)
    with warnings.catch_warnings(record=True) as given:
        warnings.simplefilter("always")
        for _ in range(2):
            cache = ObjectCache(directory)
            assert cache.get("key") is None
            cache.put("other", b"code")
            assert not cache.put_weights("other", memoryview(b"weights"))
            assert cache.map_weights("other", 7) is None
    (warning,) = given
    text = str(warning.message)
    assert f"other users may write to {directory} (d" in text
    assert "chmod go-w" in text
    assert "GLOW_CACHE_DIR" in text
    assert [file.name for file in directory.iterdir()] == ["key.o"]
    directory.chmod(0o755)  # others may read
    assert ObjectCache(directory).get("key") == b"code"


def test_programs_are_compiled_without_a_cache_that_others_may_write(
    tmp_path: Path, model: bytes, rng: np.random.Generator
) -> None:
    first = glow.compile(model, symbols=SYMBOLS, cache=tmp_path)
    tmp_path.chmod(0o777)
    with pytest.warns(RuntimeWarning, match="other users may write") as given:
        again = glow.compile(model, symbols=SYMBOLS, cache=tmp_path)
    assert len(given) == 1
    assert set(again.times) != {"load"}
    x = rng.standard_normal((1, 3, 8, 10)).astype(np.float32)
    np.testing.assert_array_equal(first(x)[0], again(x)[0])


@pytest.mark.parametrize("through_link", [False, True])
def test_a_directory_of_another_user(
    through_link: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    directory = tmp_path / "cache"
    ObjectCache(directory).put("key", b"code")
    if through_link:
        directory = tmp_path / "link"
        directory.symlink_to("cache")
    assert ObjectCache(directory).get("key") == b"code"
    belongs_to_another(monkeypatch, directory)
    with pytest.warns(RuntimeWarning, match=f"{directory} belongs to another user .{ANOTHER}"):
        assert ObjectCache(directory).get("key") is None
    ObjectCache(directory).put("other", b"code")
    assert [file.name for file in directory.iterdir()] == ["key.o"]


def test_files_of_another_user_are_replaced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cache = ObjectCache(tmp_path)
    cache.put("key", b"code")
    belongs_to_another(monkeypatch, tmp_path / "key.o")
    with pytest.warns(RuntimeWarning, match=r"key\.o belongs to another user"):
        assert cache.get("key") is None
    cache.put("key", b"code")
    assert cache.get("key") == b"code"


@pytest.mark.parametrize("suffix", [".o", ".weights"])
def test_files_that_others_may_write(suffix: str, tmp_path: Path) -> None:
    cache = ObjectCache(tmp_path)
    cache.put("key", b"code")
    assert cache.put_weights("key", memoryview(b"weights"))
    (tmp_path / f"key{suffix}").chmod(0o620)
    with pytest.warns(RuntimeWarning, match=rf"other users may write to .*key\{suffix}"):
        found = cache.get("key"), cache.map_weights("key", 7)
    assert found[suffix == ".weights"] is None
    assert found[suffix == ".o"] is not None


def test_a_record_that_others_may_write_is_none(tmp_path: Path) -> None:
    cache = ObjectCache(tmp_path)
    assert cache.put_weights("key", memoryview(b"weights"))
    record = tmp_path / "key.checked"
    while not record.exists():
        assert cache.map_weights("key", 7) is not None
    assert segment_file._is_remembered(record, identity(tmp_path / "key.weights"))
    record.chmod(0o602)
    assert not segment_file._is_remembered(record, identity(tmp_path / "key.weights"))
    assert cache.map_weights("key", 7) is not None


def status_of(owner: int, bits: int) -> os.stat_result:
    return os.stat_result((stat.S_IFDIR | bits, 1, 1, 1, owner, 0, 0, 0, 0, 0))


@pytest.mark.parametrize(
    ("user", "owner", "bits", "trusted"),
    [
        *((1000, 1000, 0o700, True), (1000, 1000, 0o755, True), (1000, 1000, 0o775, False)),
        *((1000, 0, 0o755, True), (1000, 0, 0o1777, False), (1000, 1001, 0o700, False)),
        *((0, 0, 0o700, True), (0, 1000, 0o700, False)),
    ],
)
def test_who_is_trusted(
    user: int, owner: int, bits: int, trusted: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A user and root; root trusts only itself."""
    monkeypatch.setattr(os, "geteuid", lambda: user)
    if trusted:
        private_files._expect_private(Path("cache"), status_of(owner, bits))
    else:
        with pytest.raises(private_files.UntrustedError):
            private_files._expect_private(Path("cache"), status_of(owner, bits))


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")
def test_root_makes_no_directory_in_that_of_another_user(tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir()
    os.chown(home, ANOTHER, ANOTHER)
    with pytest.warns(RuntimeWarning, match=f"{home} belongs to another user"):
        ObjectCache(home / ".cache" / "glow").put("key", b"code")
    assert not list(home.iterdir())
    with pytest.warns(RuntimeWarning, match="belongs to another user"):
        assert ObjectCache(home).get("key") is None
