"""The index from instruction programs to objects."""

from __future__ import annotations

from pathlib import Path

import glow
import numpy as np
import pytest
from glow.lowering.target import Target, host_target
from glow.runtime import program_cache
from glow.runtime.cpu_backend import CpuBackend
from glow.runtime.object_cache import ObjectCache
from glow.runtime.program_cache import LinkPlan, find_plan, program_key, store_plan
from glow.tests.support.small_models import graph, small_network

SYMBOLS = {"batch": 1}


def key(seed: int, batch: int = 1, machine: Target | None = None) -> str:
    model = glow.compile(small_network(seed), symbols={"batch": batch})
    return program_key(model.stages["allocated"], machine or host_target())


def test_key_ignores_weights_but_not_shapes_or_machines():
    assert key(1) == key(2)
    assert key(1) != key(1, batch=2)
    assert key(1) != key(1, machine=Target(host_target().triple, "generic", ""))


def test_key_depends_on_the_compiler(monkeypatch):
    before = key(1)
    monkeypatch.setattr(program_cache, "source_hash", lambda folders: "another")
    assert key(1) != before


def test_plans_are_stored(tmp_path: Path):
    cache = ObjectCache(tmp_path)
    assert find_plan(cache, "key") is None
    plan = LinkPlan(["a", "b"], 128, 3)
    store_plan(cache, "key", plan)
    assert find_plan(cache, "key") == plan


def test_kernels_are_not_generated_again(tmp_path: Path, rng: np.random.Generator):
    x = rng.standard_normal((1, 3, 8, 10), np.float32)
    cold = glow.compile(small_network(1), symbols=SYMBOLS, cache=tmp_path)
    warm = glow.compile(small_network(1), symbols=SYMBOLS, cache=tmp_path)
    other = glow.compile(small_network(2), symbols=SYMBOLS, cache=tmp_path)
    assert "kernels" in cold.times
    assert "kernels" not in warm.times
    assert "kernels" not in other.times
    np.testing.assert_array_equal(warm(x)[1], cold(x)[1])
    expected = glow.compile(small_network(2), "interpreter", symbols=SYMBOLS)(x)[1]
    np.testing.assert_allclose(other(x)[1], expected, rtol=0, atol=1e-5 * np.abs(expected).max())


def test_a_missing_object_is_made_again(tmp_path: Path, rng: np.random.Generator):
    x = rng.standard_normal((1, 3, 8, 10), np.float32)
    expected = glow.compile(small_network(1), symbols=SYMBOLS, cache=tmp_path)(x)[1]
    for path in sorted(tmp_path.iterdir()):
        data = path.read_bytes()
        path.unlink()
        model = glow.compile(small_network(1), symbols=SYMBOLS, cache=tmp_path)
        assert path.read_bytes() == data
        np.testing.assert_array_equal(model(x)[1], expected)


def test_everything_is_verified_on_request_even_if_cached(tmp_path: Path):
    glow.compile(graph(), cache=tmp_path)
    assert "llvm" in glow.compile(graph(), cache=tmp_path, verify=True).times


@pytest.mark.parametrize("features", ["", "+avx2,+fma"])
def test_code_for_other_machines(tmp_path: Path, features: str, rng: np.random.Generator):
    if not all(f in host_target().features for f in features.split(",")):
        pytest.skip("needs AVX2")
    backend = CpuBackend(cache=tmp_path, target_cpu="x86-64", target_features=features)
    model = glow.compile(small_network(1), backend, symbols=SYMBOLS)
    x = rng.standard_normal((1, 3, 8, 10), np.float32)
    expected = glow.compile(small_network(1), "interpreter", symbols=SYMBOLS)(x)[1]
    np.testing.assert_allclose(model(x)[1], expected, rtol=0, atol=1e-5 * np.abs(expected).max())
    assert "vector<16xf32>" not in str(model.stages["kernels"])
