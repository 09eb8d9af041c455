"""LLVM IR text to running code."""

from __future__ import annotations

import ctypes
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from glow.errors import CompileError
from glow.lowering.target import Target, host_target
from glow.runtime import jit
from glow.runtime.jit import Executable, compile_object, object_of
from glow.runtime.object_cache import ObjectCache

KERNEL = """
define void @k(ptr noalias %x, ptr noalias %y) {
  %a = load <16 x float>, ptr %x, align 4
  %b = fadd <16 x float> %a, splat (float 1.5)
  store <16 x float> %b, ptr %y, align 4
  ret void
}
"""
MAIN = """
declare void @k(ptr, ptr)
define void @glow_main(ptr %weights, ptr %io, ptr %arena) {
  %x = load ptr, ptr %io
  %second = getelementptr ptr, ptr %io, i64 1
  %y = load ptr, ptr %second
  call void @k(ptr %x, ptr %y)
  ret void
}
"""
LIBM = """
declare float @expf(float)
declare double @llvm.sin.f64(double)
define void @glow_main(ptr %weights, ptr %io, ptr %arena) {
  %x = load float, ptr %weights
  %e = call float @expf(float %x)
  store float %e, ptr %weights
  %y = load double, ptr %arena
  %s = call double @llvm.sin.f64(double %y)
  store double %s, ptr %arena
  ret void
}
"""


def run(executable: Executable, *arrays: np.ndarray) -> None:
    io = (ctypes.c_void_p * len(arrays))(*(a.ctypes.data for a in arrays))
    executable(0, io, 0)


def test_objects_of_several_functions_link_and_run(rng: np.random.Generator):
    machine = host_target()
    executable = Executable(
        [compile_object(t, machine) for t in (KERNEL, MAIN)], "glow_main", machine
    )
    x = rng.standard_normal(16, dtype=np.float32)
    y = np.zeros(16, np.float32)
    run(executable, x, y)
    np.testing.assert_array_equal(y, x + np.float32(1.5))


def test_functions_of_the_c_library_are_found():
    machine = host_target()
    executable = Executable([compile_object(LIBM, machine)], "glow_main", machine)
    x, y = np.array([1.25], np.float32), np.array([2.5])
    executable(x.ctypes.data, (ctypes.c_void_p * 0)(), y.ctypes.data)
    np.testing.assert_allclose(x, np.exp(np.float32(1.25)), rtol=3e-7)
    np.testing.assert_allclose(y, np.sin(2.5), rtol=1e-15)


def test_programs_with_equal_symbols_are_independent():
    machine = host_target()
    main = compile_object(MAIN, machine)
    first, second = (
        Executable([compile_object(KERNEL.replace("1.5", v), machine), main], "glow_main", machine)
        for v in ("1.0", "2.0")
    )
    x, y, z = np.zeros(16, np.float32), np.zeros(16, np.float32), np.zeros(16, np.float32)
    run(first, x, y)
    run(second, x, z)
    del first
    run(second, x, x)
    assert (y[0], z[0], x[0]) == (1.0, 2.0, 2.0)


def test_rejected_text_is_a_compile_error():
    with pytest.raises(CompileError, match="LLVM rejects"):
        compile_object("define void @f() { nonsense }", host_target())
    with pytest.raises(CompileError, match="LLVM rejects"):
        compile_object("define i32 @f() { ret i32 1.0 }", host_target())


def test_missing_symbol_is_a_compile_error(capfd):
    machine = host_target()
    with pytest.raises(CompileError, match="cannot link"):
        Executable([compile_object(MAIN, machine)], "glow_main", machine)


def test_unknown_target_is_a_compile_error():
    with pytest.raises(CompileError, match="does not know the target"):
        compile_object(KERNEL, Target("pdp11-dec-ultrix", "", ""))


def test_code_is_generated_for_the_given_cpu():
    host = host_target()
    plain = Target(host.triple, "generic", "")
    assert compile_object(KERNEL, plain) == compile_object(KERNEL, plain)
    if "+avx512f" in host.features:
        assert compile_object(KERNEL, plain) != compile_object(KERNEL, host)


def test_cache_is_used_and_everything_is_in_the_key(tmp_path: Path, monkeypatch):
    compiled: list[str] = []
    monkeypatch.setattr(
        jit, "compile_object", lambda text, _machine: compiled.append(text) or b"object"
    )
    cache, host = ObjectCache(tmp_path), host_target()
    variants = [
        (KERNEL, host, "glow 1"),
        (MAIN, host, "glow 1"),
        (KERNEL, host, "glow 2"),
        (KERNEL, Target(host.triple, "generic", host.features), "glow 1"),
        (KERNEL, Target(host.triple, host.cpu, ""), "glow 1"),
    ]
    for _ in range(2):
        for text, machine, version in variants:
            assert object_of(text, machine, version, cache) == b"object"
    assert len(compiled) == len(variants)
    object_of(KERNEL, host, "glow 1", None)
    assert len(compiled) == len(variants) + 1


def test_threads_may_compile_at_once(tmp_path: Path):
    cache, machine = ObjectCache(tmp_path), host_target()

    def build(i: int) -> float:
        texts = (KERNEL.replace("1.5", f"{i}.0"), MAIN)
        objects = [object_of(t, machine, "test", cache) for t in texts]
        x, y = np.zeros(16, np.float32), np.zeros(16, np.float32)
        run(Executable(objects, "glow_main", machine), x, y)
        return y[0]

    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(build, range(24))) == list(range(24))
