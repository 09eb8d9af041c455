"""Environment variables: what they mean, and that nonsense is an error that says so."""

from __future__ import annotations

import pwd
from pathlib import Path
from typing import NoReturn

import glow
import pytest
from glow.errors import GlowError
from glow.runtime import object_cache
from glow.runtime.cpu_backend import CpuBackend
from glow.runtime.environment import DEFAULT_LIMIT, cache_directory, cache_limit, verifies
from glow.runtime.object_cache import ObjectCache
from glow.tests.support.small_models import small_network


def test_cache_directory(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("GLOW_CACHE_DIR", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert cache_directory() == tmp_path / "glow"
    monkeypatch.setenv("XDG_CACHE_HOME", "relative/is/ignored")
    assert cache_directory() == Path.home() / ".cache" / "glow"
    monkeypatch.setenv("GLOW_CACHE_DIR", str(tmp_path / "own"))
    assert cache_directory() == tmp_path / "own"


def test_a_user_without_a_home_directory_has_no_cache(monkeypatch: pytest.MonkeyPatch) -> None:
    def unknown(user: int) -> NoReturn:
        raise KeyError(user)

    for name in ("GLOW_CACHE_DIR", "XDG_CACHE_HOME", "HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(pwd, "getpwuid", unknown)
    monkeypatch.setattr(object_cache, "_warned", set())
    with pytest.raises(GlowError, match="no home directory for the cache: GLOW_CACHE_DIR can"):
        cache_directory()
    with pytest.warns(RuntimeWarning, match="not using a cache of compiled code: the user has no"):
        assert CpuBackend().cache is None
    assert CpuBackend().cache is None  # warns once
    assert CpuBackend(cache=False).cache is None


@pytest.mark.parametrize(
    ("text", "limit"),
    [
        *(("", DEFAULT_LIMIT), (" ", DEFAULT_LIMIT), ("0", 0), ("12345", 12345)),
        *(("2K", 2048), ("3m", 3 << 20), ("5G", 5 << 30), ("1T", 1 << 40)),
        *(("2KiB", 2048), ("3 MiB", 3 << 20), (" 5gib ", 5 << 30)),
    ],
)
def test_cache_limit(text: str, limit: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GLOW_CACHE_SIZE", text)
    assert cache_limit() == limit
    assert ObjectCache("unused").limit == limit


@pytest.mark.parametrize("text", ["abc", "-5", "1.5G", "4GB", "G", "1e9", "٣", "10 20"])
def test_sizes_that_are_none(text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GLOW_CACHE_SIZE", text)
    model = small_network(1)
    with pytest.raises(GlowError, match=f"GLOW_CACHE_SIZE: expected .*512M, found '{text}'"):
        glow.compile(model, symbols={"batch": 1}, cache=tmp_path)
    # without a cache, nothing asks how large it may be
    CpuBackend(cache=False)


@pytest.mark.parametrize(
    ("text", "verified"),
    [("", False), ("0", False), ("False", False), ("1", True), ("true", True), ("TRUE", True)],
)
def test_verify(text: str, verified: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GLOW_VERIFY", text)
    assert verifies() == verified


@pytest.mark.parametrize("text", ["2", "yes", "-1", "on"])
def test_no_truths(text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GLOW_VERIFY", text)
    with pytest.raises(GlowError, match=f"GLOW_VERIFY: expected 1 or true.* found '{text}'"):
        glow.compile(small_network(1), symbols={"batch": 1}, cache=tmp_path)
