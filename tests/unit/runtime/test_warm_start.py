"""Networks that are found in the cache as a whole."""

from __future__ import annotations

import errno
import os
import shutil
import subprocess
import sys
import time
import warnings
from pathlib import Path
from typing import BinaryIO

import glow
import numpy as np
import onnx
import pytest
from glow.runtime import object_cache, segment_file
from glow.runtime.object_cache import ObjectCache, key_of
from glow.tests.support.compiler_sources import skip_if_changed, sources
from glow.tests.support.files import flip_bit, settled
from glow.tests.support.seeds import numbered
from glow.tests.support.small_models import small_network

SYMBOLS = {"batch": 1}


def written(path: Path, seed: int = 1) -> Path:
    """Returns a file of a network, old enough to be told from a later change."""
    path.write_bytes(small_network(seed).SerializeToString())
    return settled(path)


def compiled(path: Path | bytes, cache: Path, **options) -> glow.CompiledModel:
    return glow.compile(path, cache=cache, symbols=SYMBOLS, **options)


def is_warm(model: glow.CompiledModel) -> bool:
    return set(model.times) == {"load"}


def outputs(model: glow.CompiledModel) -> list[np.ndarray]:
    x = numbered(5).standard_normal((1, 3, 8, 10)).astype(np.float32)
    return model(x)


def same(a: glow.CompiledModel, b: glow.CompiledModel) -> bool:
    return all(np.array_equal(x, y) for x, y in zip(outputs(a), outputs(b), strict=True))


@pytest.fixture
def cache(tmp_path: Path) -> Path:
    return tmp_path / "cache"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return written(tmp_path / "network.onnx")


def test_a_network_is_found_again(path: Path, cache: Path):
    cold, warm = compiled(path, cache), compiled(path, cache)
    assert not is_warm(cold)
    assert is_warm(warm)
    assert same(cold, warm)
    assert warm.get_inputs() == cold.get_inputs()
    assert warm.get_outputs() == cold.get_outputs()
    assert warm.memory == cold.memory
    assert is_warm(warm)


def test_stages_are_computed_on_demand(path: Path, cache: Path):
    cold, warm = compiled(path, cache), compiled(path, cache)
    assert list(warm.stages) == list(cold.stages)
    assert list(warm.times) == ["load"]
    assert "glow.conv" in str(warm.stages["imported"])
    assert "glow_inst" in str(warm.stages["allocated"])
    assert {"optimized", "allocated"} <= set(warm.times)


def test_bytes_are_found_again_and_by_their_content(path: Path, cache: Path, tmp_path: Path):
    data = path.read_bytes()
    cold = compiled(data, cache)
    assert not is_warm(cold)
    assert is_warm(compiled(data, cache))
    copy = settled(Path(shutil.copy(path, tmp_path / "copy.onnx")))
    assert is_warm(compiled(copy, cache))


def test_another_content_is_another_network(path: Path, cache: Path):
    first = compiled(path, cache)
    status = path.stat()
    written(path, seed=2)
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))
    settled(path)
    second = compiled(path, cache)
    assert not is_warm(second)
    assert not same(first, second)
    assert is_warm(compiled(path, cache))
    assert same(second, compiled(path, cache))


def test_options_make_other_programs(path: Path, cache: Path):
    compiled(path, cache)
    assert not is_warm(glow.compile(path, cache=cache, symbols={"batch": 2}))
    assert not is_warm(compiled(path, cache, conv_algorithm="direct"))
    assert not is_warm(compiled(path, cache, max_elements=100_000))
    assert not is_warm(compiled(path, cache, verify=True))
    assert is_warm(compiled(path, cache))


def test_changed_weights_in_another_file_are_noticed(tmp_path: Path, cache: Path):
    def save(seed: int) -> Path:
        where = tmp_path / "external.onnx"
        (tmp_path / "weights.bin").unlink(missing_ok=True)
        onnx.save(
            small_network(seed),
            where,
            save_as_external_data=True,
            location="weights.bin",
            size_threshold=0,
        )
        return settled(where)

    path = save(1)
    model = path.read_bytes()
    first = compiled(path, cache)
    assert is_warm(compiled(path, cache))
    save(2)
    assert path.read_bytes() == model
    second = compiled(path, cache)
    assert not is_warm(second)
    assert not same(first, second)
    assert is_warm(compiled(path, cache))
    save(1)
    again = compiled(path, cache)
    assert is_warm(again)
    assert same(first, again)


def test_a_change_while_the_program_lives_is_an_error_of_its_stages(path: Path, cache: Path):
    compiled(path, cache)
    warm = compiled(path, cache)
    expected = outputs(warm)
    written(path, seed=2)
    with pytest.raises(glow.ModelError, match="has changed"):
        _ = warm.stages
    np.testing.assert_array_equal(outputs(warm)[0], expected[0])


def test_a_file_that_is_too_young_is_not_remembered(tmp_path: Path, cache: Path, monkeypatch):
    path = written(tmp_path / "network.onnx")
    ahead = path.stat().st_ctime_ns + 1_000_000
    monkeypatch.setattr(time, "time_ns", lambda: ahead)
    compiled(path, cache)
    assert not is_warm(compiled(path, cache))


DAMAGES = {
    "truncated": lambda data: data[:-1],
    "empty": lambda data: b"",
    "header-only": lambda data: data[: segment_file.PAGE],
    "longer": lambda data: data + b"x",
    "magic": lambda data: b"notmagic" + data[8:],
    "header": lambda data: data[:9] + bytes([data[9] ^ 1]) + data[10:],
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_damaged_segments_are_made_again(path: Path, cache: Path, damage: str):
    cold = compiled(path, cache)
    (segment,) = cache.glob("*.weights")
    data = segment.read_bytes()
    segment.write_bytes(DAMAGES[damage](data))
    again = compiled(path, cache)
    assert not is_warm(again)
    assert same(cold, again)
    assert segment.read_bytes() == data
    assert is_warm(compiled(path, cache))


def test_a_changed_bit_is_found_whenever_it_changes(path: Path, cache: Path):
    cold = compiled(path, cache)
    (segment,) = cache.glob("*.weights")
    data = segment.read_bytes()
    for checked in (False, True):
        if checked:
            settled(segment)
            assert is_warm(compiled(path, cache))
        flip_bit(segment, segment_file.PAGE + 100)
        again = compiled(path, cache)
        assert not is_warm(again)
        assert same(cold, again)
        assert segment.read_bytes() == data


def test_without_a_cache_nothing_is_written(path: Path, cache: Path, monkeypatch):
    cache.mkdir()
    monkeypatch.setenv("GLOW_CACHE_DIR", str(cache))
    model = glow.compile(path, cache=False, symbols=SYMBOLS)
    assert not is_warm(model)
    assert not list(cache.iterdir())


def test_a_directory_that_does_not_work(path: Path, tmp_path: Path):
    blocked = tmp_path / "file"
    blocked.write_text("")
    with pytest.warns(RuntimeWarning, match="cannot .* the cache"):
        model = compiled(path, blocked / "cache")
    assert not is_warm(model)
    assert np.isfinite(outputs(model)[0]).all()


def test_a_full_disk(path: Path, cache: Path, monkeypatch):
    def write(file: BinaryIO, segment: memoryview) -> None:
        file.write(segment[:100])
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(object_cache, "write_segment", write)
    with pytest.warns(RuntimeWarning, match="No space left"):
        first = compiled(path, cache)
    assert not [p for p in cache.iterdir() if p.suffix != ".o"]
    again = compiled(path, cache)
    assert not is_warm(again)
    assert same(first, again)


def test_a_read_only_cache_serves_without_a_warning(path: Path, cache: Path, monkeypatch):
    compiled(path, cache)

    def fail(**_: object) -> None:
        raise OSError(errno.EROFS, "Read-only file system")

    monkeypatch.setattr(object_cache.tempfile, "mkstemp", fail)
    monkeypatch.setattr(segment_file, "_remember", lambda *_: None)
    os.utime(path)  # a file whose hash is not remembered
    settled(path)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for _ in range(2):
            assert is_warm(compiled(path, cache))


def test_segments_that_exceed_the_limit_are_not_kept(path: Path, cache: Path, monkeypatch):
    monkeypatch.setenv("GLOW_CACHE_SIZE", "6000")
    compiled(path, cache)
    assert not list(cache.glob("*.weights"))
    assert not is_warm(compiled(path, cache))


def test_segments_count_and_the_oldest_goes_first(tmp_path: Path):
    cache = ObjectCache(tmp_path, limit=40_000)
    segments = {key_of(str(i)): bytes([i]) * 9_000 for i in range(4)}
    oldest, *_, newest = segments
    for i, (key, data) in enumerate(segments.items()):
        assert cache.put_weights(key, memoryview(data))
        if (file := tmp_path / f"{key}.weights").exists():
            os.utime(file, ns=(i, i))
    assert cache.map_weights(oldest, 9_000) is None
    found = cache.map_weights(newest, 9_000)
    assert found is not None
    assert found[segment_file.PAGE :] == segments[newest]


def test_the_cache_may_vanish_while_a_program_runs(path: Path, cache: Path):
    cold = compiled(path, cache)
    expected = outputs(cold)
    warm = compiled(path, cache)
    shutil.rmtree(cache)
    np.testing.assert_array_equal(outputs(warm)[0], expected[0])
    assert not is_warm(compiled(path, cache))
    assert is_warm(compiled(path, cache))


SCRIPT = """
import sys
import glow
import numpy as np

model = glow.compile(sys.argv[1], cache=sys.argv[2], symbols={"batch": 1})
x = np.random.default_rng(int(sys.argv[3])).standard_normal((1, 3, 8, 10)).astype(np.float32)
print(model(x)[1].tobytes().hex())
print("load" in model.times, len(model.times), "xdsl" in sys.modules, "onnx" in sys.modules)
"""


def started(path: Path, cache: Path) -> subprocess.Popen:
    seed = str(numbered(5).integers(2**32))
    command = [sys.executable, "-c", SCRIPT, str(path), str(cache), seed]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


def finished(process: subprocess.Popen) -> list[str]:
    out, _ = process.communicate(timeout=120)
    assert process.returncode == 0
    return out.split()


def test_two_processes_at_once_and_a_warm_one_that_loads_no_compiler(path: Path, cache: Path):
    before = sources()
    first, second = (finished(p) for p in [started(path, cache), started(path, cache)])
    assert first[0] == second[0]
    third = finished(started(path, cache))
    skip_if_changed(before)
    assert third == [first[0], "True", "1", "False", "False"]
