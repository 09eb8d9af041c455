"""Conversions of minifloats and narrow integers, against ml_dtypes and onnx, for all codes."""

from __future__ import annotations

from functools import cache

import glow
import ml_dtypes
import numpy as np
import pytest
from glow.context import make_context
from glow.glow_dialects.elements import is_minifloat
from glow.glow_dialects.glow.logic import CastOp
from glow.glow_dialects.minifloats import code_of, semantics_of
from glow.glow_dialects.operator import with_shape
from glow.lowering.target import host_target
from glow.semantics import element_type, interface_dtype, numpy_dtype
from glow.semantics.arrays import MINIFLOATS
from glow.tests.support.oracle import run_node
from onnx import numpy_helper
from xdsl.dialects.builtin import (
    IntegerType,
    f8E4M3FN,
    f8E4M3FNUZ,
    f8E5M2,
    f8E8M0FNU,
    f16,
    f32,
    f64,
    i64,
)
from xdsl.ir import Attribute
from xdsl.parser import Parser

WIDE = [np.float16, ml_dtypes.bfloat16, np.float32, np.float64]
ROUNDED = [t for t in MINIFLOATS if semantics_of(t).has_zero]


def cast(x: np.ndarray, target: Attribute, **rules: bool | str) -> np.ndarray:
    return run_node(CastOp, x, result_types=[with_shape(target, x.shape)], **rules)


@cache
def numbers(element: Attribute) -> np.ndarray:
    """
    Returns, in f64, all numbers of a minifloat, those in the middle of two, their neighbours in
    f32, what is beyond the largest, infinities and NaN.
    """
    found = codes(element).astype(np.float64)
    found = np.sort(found[np.isfinite(found)])
    apart = [*found, *(found[1:] + found[:-1]) / 2, *found * 2, *found / 2]
    near = np.array([*apart, 1e30, -1e30, 1e-40], np.float32)
    below, above = (np.nextafter(near, np.float32(end)) for end in (-np.inf, np.inf))
    return np.array([*near, *below, *above, np.inf, -np.inf, np.nan, 0.0, -0.0], np.float64)


def codes(element: Attribute) -> np.ndarray:
    return np.arange(1 << semantics_of(element).bitwidth, dtype=np.uint8).view(numpy_dtype(element))


def expect_codes(found: np.ndarray, wanted: np.ndarray) -> None:
    """Expects the same bits, or any NaN, or, where there is none, any zero for NaN."""
    same = found.view(np.uint8) == wanted.view(np.uint8)
    np.testing.assert_array_equal(same, True)


@pytest.mark.parametrize("element", MINIFLOATS, ids=str)
def test_all_codes_become_numbers(element: Attribute) -> None:
    wanted = codes(element).astype(np.float32)
    found = cast(codes(element), f32)
    np.testing.assert_array_equal(found, wanted)
    is_number = ~np.isnan(wanted)
    np.testing.assert_array_equal(np.signbit(found)[is_number], np.signbit(wanted)[is_number])
    # a constant is the code of its number
    back = [code_of(float(v), element) for v in wanted[is_number]]
    np.testing.assert_array_equal(back, codes(element).view(np.uint8)[is_number])


@pytest.mark.parametrize("dtype", WIDE)
@pytest.mark.parametrize("element", ROUNDED, ids=str)
def test_numbers_are_rounded_once(element: Attribute, dtype: type) -> None:
    """ml_dtypes does not saturate."""
    with np.errstate(all="ignore"):
        x = numbers(element).astype(dtype)
        wanted = x.astype(numpy_dtype(element))
    found = cast(x, element, saturate=False)
    same = found.view(np.uint8) == wanted.view(np.uint8)
    # formats without NaN give a zero of any sign
    np.testing.assert_array_equal(same | (np.isnan(x) & (found.astype(np.float32) == 0)), True)


@pytest.mark.parametrize("element", ROUNDED, ids=str)
def test_saturation(element: Attribute) -> None:
    x = numbers(element)[~np.isnan(numbers(element))].astype(np.float32)
    wanted = numpy_helper.saturate_cast(x, numpy_dtype(element))
    expect_codes(cast(x, element), wanted)


@pytest.mark.parametrize("rounding", ["up", "down", "nearest"])
def test_powers_of_two(rounding: str, rng: np.random.Generator) -> None:
    """onnx agrees where numbers are normal in f32; beyond, ONNX's table of Cast says more."""
    x = np.exp2(rng.uniform(-126, 127, 1000)).astype(np.float32)
    x = np.array([*x, *np.exp2(np.arange(-126.0, 128)), *(1.5 * np.exp2(np.arange(-126.0, 127)))])
    wanted = numpy_helper.to_float8e8m0(x.astype(np.float32), True, rounding)
    expect_codes(cast(x.astype(np.float32), f8E8M0FNU, rounding=rounding), wanted)
    special = np.array([0, 2.0**-127, np.inf, 3.4e38, np.nan], np.float32)
    found = cast(special, f8E8M0FNU, rounding=rounding).view(np.uint8)
    assert found.tolist() == [0, 0, 254, 254, 255]
    found = cast(special, f8E8M0FNU, rounding=rounding, saturate=False).view(np.uint8)
    assert found.tolist() == [255, 0, 255, 254 if rounding == "down" else 255, 255]


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int32, np.int64, np.uint64, np.bool_])
def test_integers_become_minifloats(dtype: type) -> None:
    x = np.array([0, 1, 3, 17, 61, 100, 127]).astype(dtype)
    if x.dtype.itemsize > 1:
        # in f32 this would become a tie of f8E4M3FN
        x = np.array([*x, 2**25 + 2**21 - 1]).astype(dtype)
    for element in ROUNDED:
        wanted = numpy_helper.saturate_cast(x.astype(np.float64), numpy_dtype(element))
        expect_codes(cast(x, element), wanted)


@pytest.mark.parametrize(
    "dtype", [ml_dtypes.int2, ml_dtypes.uint2, ml_dtypes.int4, ml_dtypes.uint4]
)
def test_narrow_integers_keep_their_last_bits(dtype: type) -> None:
    element = element_type(dtype)
    x = np.arange(-20, 20)
    for source in (np.int8, np.int64, np.float32, np.float16):
        given = x.astype(source)
        found = cast(given, element)
        np.testing.assert_array_equal(found, given.astype(dtype).astype(found.dtype))
    assert found.dtype.itemsize == 1
    np.testing.assert_array_equal(cast(found, f64), x.astype(dtype).astype(np.float64))


Conversion = tuple[Attribute, Attribute, str]
NARROW = [IntegerType(4), element_type(ml_dtypes.uint2), IntegerType(8)]
CONVERSIONS: list[Conversion] = [
    *((f32, t, "") for t in MINIFLOATS),
    *((f32, t, " saturate false") for t in (f8E4M3FN, f8E4M3FNUZ, f8E5M2, f8E8M0FNU)),
    *((t, f32, "") for t in MINIFLOATS),
    *((s, t, "") for s in (f16, f64, i64, IntegerType(4)) for t in (f8E4M3FN, f8E8M0FNU)),
    *((s, t, "") for s in (i64, f8E4M3FN) for t in NARROW),
    (IntegerType(4), f16, ""),
    (f8E8M0FNU, f16, ""),
    (f8E4M3FN, f8E5M2, ""),
]
SIZE = 397
CPUS = [None, "x86-64"] if host_target().architecture == "x86_64" else [None]


def graph_of(conversions: list[Conversion]) -> str:
    """Returns a network with an input and an output for each conversion."""
    sources, targets = ([f"tensor<{SIZE}x{c[i]}>" for c in conversions] for i in range(2))
    given = ", ".join(f"%x{i}: {t}" for i, t in enumerate(sources))
    lines = [
        f"%y{i} = glow.cast %x{i}{rules} : ({sources[i]}) -> {targets[i]}"
        for i, (_, _, rules) in enumerate(conversions)
    ]
    values, types = ", ".join(f"%y{i}" for i in range(len(targets))), ", ".join(targets)
    body = "\n".join((*lines, f"func.return {values} : {types}"))
    return f"func.func @main({given}) -> ({types}) {{\n{body}\n}}"


def drawn(source: Attribute, target: Attribute, rng: np.random.Generator) -> np.ndarray:
    """Returns numbers at which rounding matters; those that an integer holds, if it is one."""
    dtype = interface_dtype(source)
    if is_minifloat(source):
        # few of them fit i8
        codes_ = rng.integers(0, 0x68 if target in NARROW else 256, SIZE, np.uint8)
        return codes_.view(dtype)
    if dtype.kind != "f":
        return rng.integers(-500, 500, SIZE).astype(dtype)
    with np.errstate(all="ignore"):
        special = [np.nan, np.inf, -np.inf, 0, -0.0, 1e-45, 1e-39, 3e38, -1e38]
        x = rng.permutation(numbers(target if is_minifloat(target) else f8E4M3FN))
        return np.resize(np.concatenate([special, x]), SIZE).astype(dtype)


@pytest.mark.parametrize("cpu", CPUS)
def test_compiled_code_is_the_same(cpu: str | None, rng: np.random.Generator) -> None:
    """From and to all types, in vectors and what remains of them."""
    conversions = CONVERSIONS if cpu is None else CONVERSIONS[::4]
    module = Parser(make_context(), graph_of(conversions)).parse_module()
    inputs = [drawn(source, target, rng) for source, target, _ in conversions]
    found = glow.compile(module, cache=False, target_cpu=cpu)(*inputs)
    wanted = glow.compile(module, backend="interpreter")(*inputs)
    for have, want, conversion in zip(found, wanted, conversions, strict=True):
        assert have.dtype == want.dtype == interface_dtype(conversion[1])
        same = have.view(np.uint8) == want.view(np.uint8)
        if not is_minifloat(conversion[1]):
            same = (have == want) | (np.isnan(have) & np.isnan(want))
        np.testing.assert_array_equal(same, True, str(conversion))
