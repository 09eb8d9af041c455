"""Conversions of 16-bit floats in software give what the hardware gives."""

from __future__ import annotations

import ctypes

import ml_dtypes
import numpy as np
import pytest
from glow.lowering.target import Target, find_target, host_target
from glow.runtime.half import half_conversions
from glow.runtime.jit import Executable, compile_object

LOOP = """
define void @f(ptr %x, ptr %count, ptr %y) {{
entry:
  %n = load i64, ptr %count
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %next, %loop ]
  %from = getelementptr {source}, ptr %x, i64 %i
  %to = getelementptr {result}, ptr %y, i64 %i
  %a = load {source}, ptr %from
  %b = {kind} {source} %a to {result}
  store {result} %b, ptr %to
  %next = add i64 %i, 1
  %done = icmp eq i64 %next, %n
  br i1 %done, label %end, label %loop
end:
  ret void
}}
"""
TYPES = {np.float16: "half", np.float32: "float", np.float64: "double"}


def baseline() -> Target:
    if host_target().architecture != "x86_64":
        pytest.skip("compiles for the x86-64 baseline")
    return find_target("x86-64")


def converted(x: np.ndarray, result: type) -> np.ndarray:
    kind = "fpext" if np.dtype(result).itemsize > x.dtype.itemsize else "fptrunc"
    text = LOOP.format(source=TYPES[x.dtype.type], result=TYPES[result], kind=kind)
    executable = Executable([compile_object(text, baseline())], "f", baseline())
    y = np.empty(x.shape, result)
    count = (ctypes.c_void_p * 1)(x.size)
    executable(x.ctypes.data, count, y.ctypes.data)
    return y


def same(found: np.ndarray, expected: np.ndarray) -> None:
    nan = np.isnan(expected)
    np.testing.assert_array_equal(np.isnan(found), nan)
    bits = f"u{found.itemsize}"
    np.testing.assert_array_equal(found.view(bits)[~nan], expected.view(bits)[~nan])
    np.testing.assert_array_equal(np.signbit(found[nan]), np.signbit(expected[nan]))


ALL = np.arange(2**16, dtype=np.uint16).view(np.float16)


@pytest.mark.parametrize("result", [np.float32, np.float64])
def test_every_f16_is_widened(result: type):
    same(converted(ALL, result), ALL.astype(result))


@np.errstate(all="ignore")
def test_rounding_to_f16(rng: np.random.Generator):
    """Random bits, values around each f16, and ties between neighbours."""
    source = np.float32
    bits = rng.integers(0, 2**32, 50_000, dtype=np.uint32).view(source)
    exact = ALL[np.isfinite(ALL)].astype(source)
    ties = (exact + np.nextafter(ALL, np.float16(np.inf))[np.isfinite(ALL)].astype(source)) / 2
    near = [np.nextafter(ties, source(s)) for s in (np.inf, -np.inf)]
    special = np.array([np.inf, -np.inf, np.nan, 65519.99, 65520, -65536, 1e-8, 3e-8], source)
    x = np.concatenate([bits, exact, ties, *near, special, rng.normal(0, 1e-6, 1000)], dtype=source)
    same(converted(x, np.float16), x.astype(np.float16))


def test_rounding_to_bf16(rng: np.random.Generator):
    bits = rng.integers(0, 2**32, 50_000, dtype=np.uint32)
    x = np.concatenate([bits, bits & 0xFFFF8000, [0x7F800000, 0xFF800000, 0x7F7FFFFF]])
    x = x.astype(np.uint32).view(np.float32)
    text = LOOP.format(source="float", result="bfloat", kind="fptrunc")
    executable = Executable([compile_object(text, baseline())], "f", baseline())
    y = np.empty(x.shape, ml_dtypes.bfloat16)
    executable(x.ctypes.data, (ctypes.c_void_p * 1)(x.size), y.ctypes.data)
    same(y, x.astype(ml_dtypes.bfloat16))


def test_machines_with_instructions_for_it_need_none():
    baseline()
    assert half_conversions(find_target("znver4")) is None
    assert "__truncsfhf2" not in (half_conversions(find_target("haswell")) or "")
    assert half_conversions(find_target("cortex-a76")) is None
