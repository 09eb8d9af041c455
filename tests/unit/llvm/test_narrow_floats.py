"""Conversions between 16-bit floats and wider numbers are exact, or round once, on every CPU."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import cache

import ml_dtypes
import numpy as np
import pytest
from glow.lowering.target import host_target
from glow.semantics.numpy_algebra import convert
from glow.tests.support.kernels import Kernels
from glow.tests.unit.llvm.elementwise_kernels import LANES, Case, kernel
from hypothesis import given, settings
from hypothesis import strategies as st

CPUS = [None, "x86-64"] if host_target().architecture == "x86_64" else [None]
NARROW = {"f16": np.dtype(np.float16), "bf16": np.dtype(ml_dtypes.bfloat16)}
DIGITS = {"f16": 11, "bf16": 8}


@cache
def conversion(op: str, source: str, target: str, cpu: str | None) -> list[Callable[..., None]]:
    """Compiles a conversion of one element after the other, and of a vector."""
    of_vectors = f"glow_vec.cast {op}" if op.endswith("tofp") else f"arith.{op}"
    forms = {False: f"arith.{op}", True: of_vectors}
    texts = [
        kernel(
            Case(form + " {0} : {t} to {r}", lambda x: x, (source,), target),
            vector=vector,
            name=f"k{int(vector)}",
        )
        for vector, form in forms.items()
    ]
    kernels = Kernels("\n".join(texts), cpu=cpu)
    return [kernels.k0, kernels.k1]


def run(op: str, x: np.ndarray, source: str, target: str) -> None:
    """Checks that all CPUs, scalars and vectors, and the interpreter give the nearest numbers."""
    dtype = NARROW[target]
    wanted = np.array([nearest(v, target) for v in x.tolist()], np.uint16)
    found = [convert(x, dtype)]
    for cpu in CPUS:
        for function in conversion(op, source, target, cpu):
            found.append(np.zeros(LANES, dtype))
            function(x, found[-1])
    for have in found:
        np.testing.assert_array_equal(np.isnan(have), np.isnan(wanted.view(dtype)))
        numbers = ~np.isnan(have)
        np.testing.assert_array_equal(have.view(np.uint16)[numbers], wanted[numbers])


def nearest(value: float, target: str) -> int:
    """
    Returns the bits of the nearest 16-bit float, ties to even, by rational arithmetic on all of its
    bits.
    """
    dtype = NARROW[target]
    sign = 0x8000 if np.signbit(float(value)) else 0
    if value != value:
        return sign | _bits(np.nan, dtype)
    infinity = _bits(np.inf, dtype)
    if abs(value) == np.inf:
        return sign | infinity
    size = abs(Fraction(value))
    # positive floats are in the order of their bits; the first that is above
    low, high = 0, infinity
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if _number(middle, target) > size else (middle, high)
    below, above = size - _number(low, target), _number(high, target) - size
    up = above < below or (above == below and high % 2 == 0)
    return sign | (high if up else low)


@cache
def _number(bits: int, target: str) -> Fraction:
    """Returns the numbers of positive bits; infinity counts as the number that would come next."""
    dtype = NARROW[target]
    value = float(np.array(bits, np.uint16).view(dtype))
    if value != np.inf:
        return Fraction(value)
    return 2 * _number(bits - 1, target) - _number(bits - 2, target)


def _bits(value: float, dtype: np.dtype) -> int:
    return int(np.array(value, dtype).view(np.uint16)) & 0x7FFF


@st.composite
def near_ties(draw: st.DrawFn, target: str) -> float:
    """
    Returns a number halfway between two neighbours, or so near that f32 cannot tell it from that.
    """
    bits = draw(st.integers(0, _bits(np.inf, NARROW[target]) - 1))
    tie = float((_number(bits, target) + _number(bits + 1, target)) / 2)
    direction = draw(st.sampled_from([0.0, np.inf, -np.inf]))
    return draw(st.sampled_from([1, -1])) * float(
        np.nextafter(tie, direction) if direction else tie
    )


@st.composite
def near_integer_ties(draw: st.DrawFn, bits: int, signed: bool, target: str) -> int:
    width = draw(st.integers(1, bits - signed))
    digits = DIGITS[target]
    value = draw(st.integers(2 ** (width - 1), 2**width - 1))
    if width > digits:
        half = 1 << (width - digits - 1)
        value = (value >> (width - digits) << (width - digits)) + half + draw(st.integers(-1, 1))
    value = min(value, 2 ** (bits - signed) - 1)
    return -value if signed and draw(st.booleans()) else value


@pytest.mark.parametrize("target", NARROW)
@settings(max_examples=40)
@given(st.data())
def test_f64_is_rounded_once(target: str, data: st.DataObject):
    numbers = st.one_of(near_ties(target), st.floats(), st.floats(-70000, 70000))
    values = data.draw(st.lists(numbers, min_size=LANES, max_size=LANES))
    with np.errstate(all="ignore"):
        run("truncf", np.array(values, np.float64), "f64", target)


@pytest.mark.parametrize("target", NARROW)
@pytest.mark.parametrize(
    ("op", "bits"), [("sitofp", 32), ("uitofp", 32), ("sitofp", 64), ("uitofp", 64)]
)
@settings(max_examples=40)
@given(data=st.data())
def test_integers_are_rounded_once(op: str, bits: int, target: str, data: st.DataObject):
    signed = op == "sitofp"
    one = near_integer_ties(bits, signed, target)
    values = data.draw(st.lists(one, min_size=LANES, max_size=LANES))
    x = np.array(values, f"{'i' if signed else 'u'}{bits // 8}")
    with np.errstate(all="ignore"):
        run(op, x, f"i{bits}", target)


@pytest.mark.parametrize("source", NARROW)
@pytest.mark.parametrize("cpu", CPUS)
def test_widening_to_f64_is_exact(source: str, cpu: str | None):
    """An eleventh of all, which comes to each exponent."""
    everything = np.arange(2**16, dtype=np.uint16).view(NARROW[source]).reshape(-1, LANES)
    for function in conversion("extf", source, "f64", cpu):
        for row in everything[::11]:
            found = np.zeros(LANES)
            function(row, found)
            with np.errstate(invalid="ignore"):
                np.testing.assert_array_equal(found, row.astype(np.float64))
