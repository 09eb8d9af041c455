"""The same networks as code for several CPUs."""

from __future__ import annotations

import re
from pathlib import Path

import glow
import llvmlite.binding as binding
import numpy as np
import pytest
from glow.errors import GlowError
from glow.lowering.target import find_target, host_target
from glow.lowering.threads import llvm_text
from glow.runtime.cpu_backend import CpuBackend
from glow.runtime.stages import Stages
from glow.tests.support.cross import EmulatedBackend, needs_emulator
from glow.tests.support.random_graphs import random_graph, random_inputs
from glow.tests.support.rounding import rounding_slack
from glow.tests.unit.runtime.small_networks import network
from xdsl.dialects.builtin import bf16, f16, f32

BASELINE, AVX2, AVX512 = "x86-64", "x86-64-v3", "x86-64-v4"
ARM = "cortex-a76"


def backend_for(cpu: str) -> CpuBackend:
    if host_target().architecture != "x86_64":
        pytest.skip("compiles for x86")
    missing = find_target(cpu).missing_here()
    if missing:
        pytest.skip(f"this machine lacks {', '.join(missing)}")
    return CpuBackend(cache=False, target_cpu=cpu)


def close(found: np.ndarray, expected: np.ndarray, slack: float = 0.0) -> None:
    assert found.dtype == expected.dtype
    f, e = found.astype(np.float64), expected.astype(np.float64)
    atol = 1e-5 * max(1.0, np.abs(e[np.isfinite(e)]).max(initial=0)) + slack
    np.testing.assert_allclose(f, e, rtol=0, atol=atol)


@pytest.mark.parametrize("cpu", [BASELINE, AVX2, AVX512])
def test_network(cpu: str, rng: np.random.Generator):
    model = network(rng)
    image = rng.standard_normal((1, 3, 23, 30), np.float32)
    compiled = glow.compile(model, backend_for(cpu))
    close(compiled(image)[0], glow.compile(model, "interpreter")(image)[0])
    # code for a narrow machine has no wide vectors, but pairs of them
    bits = find_target(cpu).describe().vector_bits
    kernels = str(compiled.stages["kernels"])
    assert f"vector<{bits // 32}xf32>" in kernels
    assert f"vector<{bits // 8}xf32>" not in kernels
    assert ("vector.fma" in kernels) == (cpu != BASELINE)


@pytest.mark.parametrize("floats", [(f32,), (f32, f16, bf16)], ids=["f32", "mixed"])
@pytest.mark.parametrize("cpu", [BASELINE, AVX2, AVX512])
def test_random_graphs(cpu: str, floats, rng: np.random.Generator):
    backend = backend_for(cpu)
    for seed in rng.integers(0, 2**31, 2).tolist():
        graph = random_graph(seed, 10, floats)
        feed = random_inputs(graph, seed)
        found = glow.compile(graph, backend).run(None, feed)
        expected = glow.compile(graph, "interpreter").run(None, feed)
        slack = rounding_slack(graph, list(feed.values()))
        for a, b, s in zip(found, expected, slack, strict=True):
            close(a, b, s)


def test_aarch64_objects(rng: np.random.Generator):
    backend = CpuBackend(cache=False, target_cpu=ARM)
    module = random_graph(int(rng.integers(2**31)), 8)
    objects = backend.objects(Stages(module, backend.stages()))
    assert objects
    for header in objects:
        assert header[:4] == b"\x7fELF"
        assert int.from_bytes(header[18:20], "little") == 183  # EM_AARCH64


def test_threads_of_aarch64_order_memory():
    """Waiting loads acquire, counting stores release: plain moves on x86."""
    target = find_target(triple="aarch64-unknown-linux-gnu")
    module = binding.parse_assembly(llvm_text(target.triple))
    text = target.create().emit_assembly(module)
    functions = dict(re.findall(r"^(glow_\w+):\n(.*?)^\.Lfunc_end", text, re.MULTILINE | re.DOTALL))
    assert "ldar" in functions["glow_wait"]
    assert "stlxr" in functions["glow_count"]
    # who counts itself as a sleeper looks at the counter again; who counts looks for sleepers
    assert functions["glow_wait"].count("ldar") == 2
    assert re.search(r"stlxr.*ldar\b", functions["glow_count"], re.DOTALL)


@needs_emulator()
def test_aarch64_runs(tmp_path: Path, rng: np.random.Generator):
    model = network(rng)
    image = rng.standard_normal((1, 3, 23, 30), np.float32)
    (expected,) = glow.compile(model, "interpreter")(image)
    backend = EmulatedBackend(tmp_path, "neoverse-n1", target_cpu=ARM, threads=2)
    (found,) = glow.compile(model, backend)(image)
    close(found, expected)


def test_options_of_compile(rng: np.random.Generator):
    model = network(rng)
    with pytest.raises(GlowError, match="no CPU 'haswel'"):
        glow.compile(model, target_cpu="haswel")
    with pytest.raises(GlowError, match="is an option of the backend cpu"):
        glow.compile(model, "interpreter", target_cpu="native")
    with pytest.raises(GlowError, match="has its own target"):
        glow.compile(model, CpuBackend(), target_features="-fma")
    compiled = glow.compile(
        model, target_features="-avx512f" if "+avx512f" in host_target().features else ""
    )
    assert "vector<32xf32>" not in str(compiled.stages["kernels"])
